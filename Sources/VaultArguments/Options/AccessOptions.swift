package import ArgumentParser
import VaultAge
import VaultConsole
package import VaultExchange
package import VaultFmt
package import VaultLocal

/// Options for opening a vault: factors, prompts, and limits on the cost of key derivation.
package struct AccessOptions: ParsableArguments {
    @OptionGroup package var factors: FactorOptions

    @Option("Refuse the vault unless this is its owners' public key; 'vaultfmt inspect' shows it.", value: "key")
    package var owner: OwnerArgument?

    @Flag(help: "Never prompt; fail instead.")
    package var noInput = false

    @Option("How long to wait for another writer (default: 10; 2 for an agent with --collection).", value: "seconds")
    package var wait: Double?

    @Option("The maximum memory for a slot's key derivation.", value: "size")
    var maxKdfMemory: MemorySize?

    @Option("The maximum number of passes for a slot's key derivation.", value: "n")
    var maxKdfPasses: UInt32?

    @Option("The maximum number of lanes for a slot's key derivation.", value: "n")
    var maxKdfLanes: UInt32?

    @Option("The maximum sum of memory times passes over all slots that are tried.", value: "size")
    var maxKdfWork: MemorySize?

    package init() {}

    package func validate() throws {
        guard lockWait.isFinite, lockWait >= 0, lockWait <= 86_400 else {
            throw ValidationError("--wait must be between 0 and 86400 seconds")
        }
    }

    /// The number of seconds to wait for another writer.
    package var lockWait: Double { wait ?? 10 }

    /// The reader's limits, raised as the options specify.
    package var limits: ReaderLimits {
        var limits = ReaderLimits()
        if let maxKdfMemory { limits.memoryKiB = maxKdfMemory.kibibytes }
        if let maxKdfPasses { limits.passes = maxKdfPasses }
        if let maxKdfLanes { limits.lanes = maxKdfLanes }
        if let maxKdfWork { limits.totalKiBPasses = UInt64(maxKdfWork.kibibytes) }
        return limits
    }

    /// Opens a vault, and compares it with the state that this machine remembers. It tries the given factors first,
    /// then the key that `unlock` keeps, and then prompts.
    /// - `device`: Whether to use or create this machine's device.
    package func open(
        _ path: String, writable: Bool = false, device: DeviceNeed = .ifThere, anchors: AnchorPolicy = .enforce
    ) throws -> Vault {
        let vault = try open(path, anchors, asks: true) { machine throws(VaultError) in
            try options(machine, writable: writable, device: device)
        }
        TailNotice.show(vault)
        return vault
    }

    /// Opens a vault like `open`, for a repair: its newest state is searched for in the whole file, and its end is not
    /// reported.
    package func openForRepair(_ path: String) throws -> Vault {
        try open(path, .enforce, asks: false) { machine throws(VaultError) in
            var options = try self.options(machine, writable: true, device: .ifThere)
            options.searchesWholeFile = true
            return options
        }
    }

    /// - `asks`: Whether to ask the user about a vault that is refused but may be a second copy.
    private func open(
        _ path: String, _ anchors: AnchorPolicy, asks: Bool,
        _ options: @escaping (Machine) throws(VaultError) -> OpenOptions
    ) throws -> Vault {
        let mayAsk = asks && anchors == .enforce && !noInput && Prompt.isPossible
        let kept = { () throws -> Vault? in
            do { return try openUnlocked(path, anchors, false, options) } catch let failure as CommandFailure
                where mayAsk
            {
                return try secondCopy(path, failure, options) { try openUnlocked(path, .ignore, false, options) }
            }
        }
        if let vault = try kept() { return vault }
        return try withFactors(path, unlessKept: kept) { given in
            do { return try open(path, given, anchors, options) } catch let failure as CommandFailure where mayAsk {
                return try secondCopy(path, failure, options) { try open(path, given, .ignore, options) }
            }
        }
    }

    /// Opens a vault that was refused, provided that it may be a second copy and that the user confirms this.
    private func secondCopy(
        _ path: String, _ failure: CommandFailure, _ options: (Machine) throws(VaultError) -> OpenOptions,
        _ open: () throws -> Vault?
    ) throws -> Vault {
        guard try SecondCopy.isRefused(path, failure), let copy = try open() else { throw failure }
        // The user should probably not accept a copy that was cut off or damaged.
        TailNotice.show(copy)
        try SecondCopy.accept(copy, failure)
        guard let again = try openCopy(path, of: copy, isWatched: true, options) else { throw failure }
        return again
    }

    /// Calls `body` with the factors for a vault, and prompts for those that are not given; a wrong passphrase can be
    /// retried twice.
    /// - `name`: The vault's name in the question, if the name is not the path.
    /// - `unlessKept`: The result if the vault was unlocked while this process waited for its turn to ask.
    /// - `asks`: If false, throws `PassphraseMissing` instead of asking.
    /// - `source`: Where to read the slots, which determine the factors that are needed.
    package func withFactors<R: ~Copyable>(
        _ path: String, called name: String? = nil, asks: Bool = true, in source: SlotSource = .header,
        unlessKept: () throws -> R? = { nil }, _ body: (borrowing GivenFactors) throws -> R
    ) throws -> R {
        guard try UserFiles.exists(path) else {
            throw CommandFailure(
                .noSuchFile,
                "there is no vault \(TerminalText.path(path)); check the path, or create a vault with 'vaultfmt create'"
            )
        }
        let sources = factors.sources
        // The passphrase of an identity may be followed by a plugin's question or by the vault's passphrase.
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        var given = try factors.read(mayAsk: !noInput)
        guard let spare = factors.spareIdentity(for: path, beside: given, in: source) else {
            return try asking(sources, path, name, given, asks: asks, in: source, unlessKept, body)
        }
        if !given.isEmpty {
            // The user is not prompted as long as the identity may open the vault.
            do {
                return try asking(sources, path, name, given.copy(), asks: false, in: source, unlessKept, body)
            } catch {
                guard error is PassphraseMissing || CommandFailure(error).code == .noSlotOpens else { throw error }
            }
        }
        do { given.external = try factors.identity(in: spare, mayAsk: asks && !noInput) } catch {
            guard !asks, CommandFailure(error).status == .noAccess else { throw error }
            throw PassphraseMissing()
        }
        return try asking(sources, path, name, given, asks: asks, in: source, unlessKept, body)
    }

    /// Calls `body` with the given factors, and prompts for a passphrase if a slot needs it and the user has not given
    /// it.
    private func asking<R: ~Copyable>(
        _ sources: FactorSources, _ path: String, _ name: String? = nil, _ given: consuming GivenFactors,
        asks: Bool = true, in source: SlotSource = .header, _ unlessKept: () throws -> R? = { nil },
        _ body: (borrowing GivenFactors) throws -> R
    ) throws -> R {
        let external = given.external
        let options = sources.options(of: given)
        let need = try sources.passphraseNeed(path, beside: given, in: source)
        if need != .yes {
            do { return try AgeKeys.reporting(external) { try body(given) } } catch {
                let failure = CommandFailure(error)
                let mayGoOn = need == .ifNothingElseOpens && failure.code == .noSlotOpens && asks && !noInput
                guard mayGoOn && Prompt.isPossible else {
                    throw SlotAdvice.added(to: failure, path, options: options, in: source)
                }
            }
        }
        guard asks else { throw PassphraseMissing() }
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        if !noInput, try ControllingTerminal.waitForTurn() == true, let kept = try unlessKept() { return kept }
        let isAlone = given.isEmpty
        // The factors that options name have opened no slot by themselves, so they need not be tried alone again with
        // each passphrase.
        if !given.named.isEmpty { given.named.insert(.passphrase) }
        var tries = 1
        while true {
            given.passphrase = try sources.ask(path, called: name, isAlone: isAlone, mayAsk: !noInput, in: source)
            do { return try AgeKeys.reporting(external) { try body(given) } } catch {
                let failure = CommandFailure(error)
                guard failure.code == .noSlotOpens, tries < Self.mostTries else {
                    throw SlotAdvice.added(to: failure, path, options: options, in: source)
                }
            }
            tries += 1
            Terminal.note("wrong passphrase; try again")
        }
    }

    /// Thrown instead of prompting for a passphrase.
    struct PassphraseMissing: Error {}

    /// Opens a vault with a kept key or with the given factors, without prompting. Returns nil if neither can open it.
    package func openAsGiven(_ path: String) throws -> Vault? {
        if let kept = try openUnlocked(path) { return kept }
        guard factors.isAnythingGiven else { return nil }
        do {
            return try withFactors(path, asks: false) { given in try open(path, with: given, writable: false) }
        } catch is PassphraseMissing {
            return nil
        }
    }

    /// Opens a vault with the given factors and, if there is one, a passphrase that was typed elsewhere. Never prompts,
    /// and runs no plugin.
    /// - Returns: Nil if a passphrase is needed and none was typed.
    package func openSilently(_ path: String, writable: Bool, typed: SharedSecret? = nil) throws -> Vault? {
        var given = try factors.readWithoutPlugins(for: path)
        let external = given.external
        var need = PassphraseNeed.no
        if let typed {
            given.passphrase = typed.secret.copy()
        } else {
            if given.isEmpty { try factors.sources.requirePassphraseSlot(path) }
            need = try factors.sources.passphraseNeed(path, beside: given)
        }
        guard need != .yes else { return nil }
        do {
            return try AgeKeys.reporting(external) { try open(path, with: given, writable: writable) }
        } catch {
            guard need == .ifNothingElseOpens, CommandFailure(error).code == .noSlotOpens else { throw error }
            return nil
        }
    }

    /// Opens a vault with the key of a slot that another process of this program has opened with `openSilently`; that
    /// process has also reported any bytes after the newest state.
    package func open(_ path: String, handed key: borrowing HandedKey, writable: Bool) throws -> Vault {
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            return try machine.open(
                path, handed: key, options: try options(machine, writable: writable, device: .ifThere))
        } catch { throw try SecondCopy.failure(error, path) }
    }

    /// Opens a second vault for writing, with its own factors.
    package func openOther(_ path: String, _ other: TargetFactorOptions) throws -> Vault {
        var access = self
        // The option names the owners of the first vault.
        access.owner = nil
        if !other.isAnyGiven, let vault = try access.openUnlocked(path, writable: true, despiteFactors: true) {
            return vault
        }
        return try asking(other.sources, path, nil, try other.read(mayAsk: !noInput)) { given in
            try access.open(path, with: given, writable: true)
        }
    }

    private static let mostTries = 3

    /// Opens a vault like `open`, but only with factors, and returns those factors as well.
    package func openWithFactors(_ path: String, writable: Bool) throws -> OpenedWithFactors {
        try withFactors(path) { given in
            OpenedWithFactors(vault: try open(path, with: given, writable: writable), factors: given.copy())
        }
    }

    /// Opens a vault like `open`, with factors that have already been read.
    /// - `name`: The vault's name in a notice, if the command has several vaults.
    package func open(
        _ path: String, with given: borrowing GivenFactors, writable: Bool, device: DeviceNeed = .ifThere,
        anchors: AnchorPolicy = .enforce, called name: String? = nil
    ) throws -> Vault {
        let vault = try open(path, given, anchors) { machine throws(VaultError) in
            try options(machine, writable: writable, device: device)
        }
        TailNotice.show(vault, called: name)
        return vault
    }

    private func open(
        _ path: String, _ given: borrowing GivenFactors, _ anchors: AnchorPolicy,
        _ options: (Machine) throws(VaultError) -> OpenOptions
    ) throws -> Vault {
        let machine = try ThisMachine.current()
        let isKnown = try given.external == nil || Self.isRemembered(path, machine)
        var opener: FactorKinds = []
        let vault = try Progress.during("opening") {
            try SecondCopy.advising(path) {
                try given.tryEach { (factors, kinds) throws(VaultError) in
                    opener = kinds
                    let options = try options(machine)
                    switch anchors {
                    case .enforce: return try machine.open(path, factors: factors, options: options)
                    case .ignore: return try Vault.open(path, factors: factors, options: options)
                    }
                }
            }
        }
        if !isKnown, opener.contains(.externalKey) { Self.warnOfMaker(vault) }
        return vault
    }

    /// Returns whether this machine has opened a vault before, according to its records.
    package static func isRemembered(_ path: String, _ machine: Machine) throws -> Bool {
        try whileOpening {
            let id = try Vault.id(at: path)
            do throws(VaultError) {
                if try machine.remembered(id) != nil { return true }
                return try machine.remembered(id, asOwner: false) != nil
            } catch {
                guard error.code == .memoryDamaged else { throw error }
                return false
            }
        }
    }

    /// Recipients are public, so a vault that an identity opens could have been created by anyone.
    private static func warnOfMaker(_ vault: Vault) {
        Terminal.warning(
            "\(TerminalText.path(vault.path)) is new to this machine, and anyone who knows your recipient could have created it; "
                + "its owners' public key is \(vault.owners): compare it with the key that they give you, or specify that key with --owner"
        )
    }

    /// Opens a vault with the key that `unlock` keeps; returns nil if there is no such key, or if factors are given.
    /// - `despiteFactors`: Whether the given factors are meant for another vault.
    package func openUnlocked(
        _ path: String, writable: Bool = false, device: DeviceNeed = .ifThere, anchors: AnchorPolicy = .enforce,
        despiteFactors: Bool = false
    ) throws -> Vault? {
        let vault = try openUnlocked(path, anchors, despiteFactors) { machine throws(VaultError) in
            try options(machine, writable: writable, device: device)
        }
        if let vault { TailNotice.show(vault) }
        return vault
    }

    private func openUnlocked(
        _ path: String, _ anchors: AnchorPolicy, _ despiteFactors: Bool,
        _ options: (Machine) throws(VaultError) -> OpenOptions
    ) throws -> Vault? {
        guard despiteFactors || !factors.isAnyGiven, try UserFiles.exists(path) else { return nil }
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            let options = try options(machine)
            switch anchors {
            case .enforce: return try machine.openUnlocked(path, options: options)
            case .ignore: return try machine.openUnlocked(path, options: options, place: machine.place)
            }
        } catch {
            if error.code == .noKernelKeyring { return nil }
            throw try SecondCopy.failure(error, path)
        }
    }

    /// Opens another copy of an open vault with the key that opened that vault.
    /// - `name`: The copy's name in a notice; nil if the copy is the vault itself.
    /// - `isWatched`: Whether this machine checks the copy against the state that it remembers, and then remembers the
    ///   copy's state, as `open` does.
    /// - `showsTail`: Whether a notice describes bytes after the newest state; false if one already has.
    /// - Returns: Nil if that key does not open the copy.
    package func openCopy(
        _ path: String, of vault: Vault, writable: Bool = false, isWatched: Bool = false, called name: String? = nil,
        showsTail: Bool = true
    ) throws -> Vault? {
        let copy = try openCopy(path, of: vault, isWatched: isWatched) { machine throws(VaultError) in
            try options(machine, writable: writable, device: .ifThere)
        }
        if showsTail, let copy { TailNotice.show(copy, called: name) }
        return copy
    }

    private func openCopy(
        _ path: String, of vault: Vault, isWatched: Bool, _ options: (Machine) throws(VaultError) -> OpenOptions
    ) throws -> Vault? {
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            return try machine.openCopy(path, of: vault, options: try options(machine), isWatched: isWatched)
        } catch {
            if error.code == .noSuchSlot || error.code == .noSlotOpens { return nil }
            throw CommandFailure(error)
        }
    }

    private func options(_ machine: Machine, writable: Bool, device: DeviceNeed) throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        options.writable = writable
        options.limits = limits
        options.lockWait = .seconds(lockWait)
        options.owners = owner?.value
        options.device = try device == .create ? machine.deviceFile.loadOrCreate() : machine.deviceFile.loadIfSound()
        return options
    }
}

/// A vault, and the factors that opened it.
package struct OpenedWithFactors: ~Copyable {
    package let vault: Vault
    package var factors: GivenFactors
}

/// How a command uses this machine's device.
package enum DeviceNeed {
    /// Use the device if it exists.
    case ifThere
    /// Create the device if it does not exist, because a device-only item will be stored.
    case create
}

/// How to treat the state of a vault that this machine remembers.
package enum AnchorPolicy {
    /// Refuse a vault that does not continue the remembered state.
    case enforce
    /// Leave the decision to the caller.
    case ignore
}
