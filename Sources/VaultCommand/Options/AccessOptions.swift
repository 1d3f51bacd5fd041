import ArgumentParser
import VaultFmt
import VaultLocal

/// How to get into a vault: its factors, what may be asked, and how far to trust its header's costs.
struct AccessOptions: ParsableArguments {
    @OptionGroup(title: "Factors") var factors: FactorOptions

    @Option("Refuse a vault of other owners than these; 'vaultfmt inspect' shows their public key.", value: "key")
    var owner: OwnerArgument?

    @Flag(help: "Never prompt; fail instead.")
    var noInput = false

    @Option("Wait so long for another writer.", value: "seconds")
    var wait: Double = 10

    @Option(ArgumentHelp("Most memory that a slot's key derivation may take.", valueName: "size", visibility: .hidden))
    var maxKdfMemory: MemorySize?

    @Option(ArgumentHelp("Most passes of a slot's key derivation.", visibility: .hidden))
    var maxKdfPasses: UInt32?

    @Option(ArgumentHelp("Most lanes of a slot's key derivation.", visibility: .hidden))
    var maxKdfLanes: UInt32?

    @Option(
        ArgumentHelp(
            "Most memory times passes over all slots that are tried.", valueName: "size", visibility: .hidden))
    var maxKdfWork: MemorySize?

    func validate() throws {
        guard wait.isFinite, wait >= 0, wait <= 86_400 else { throw ValidationError("--wait takes 0 to 86400 seconds") }
    }

    /// The reader's limits, raised as the options specify.
    var limits: ReaderLimits {
        var limits = ReaderLimits()
        if let maxKdfMemory { limits.memoryKiB = maxKdfMemory.kibibytes }
        if let maxKdfPasses { limits.passes = maxKdfPasses }
        if let maxKdfLanes { limits.lanes = maxKdfLanes }
        if let maxKdfWork { limits.totalKiBPasses = UInt64(maxKdfWork.kibibytes) }
        return limits
    }

    /// Opens a vault, and compares it with what this machine remembers of it. Factors that are given come first, then
    /// what `unlock` keeps, then the prompt.
    /// - `device`: What to do about this machine's device.
    func open(
        _ path: String, writable: Bool = false, device: DeviceNeed = .ifThere, anchors: AnchorPolicy = .enforce
    ) throws -> Vault {
        let kept = { () throws -> Vault? in
            try openUnlocked(path, writable: writable, device: device, anchors: anchors)
        }
        if let vault = try kept() { return vault }
        return try withFactors(path, unlessKept: kept) { given in
            try open(path, with: given, writable: writable, device: device, anchors: anchors)
        }
    }

    /// Calls `body` with the factors for a vault. What is not given is asked for; of a passphrase that opens nothing,
    /// three times.
    /// - `unlessKept`: What to return instead where it was unlocked while this process waited for its turn to
    ///   ask.
    func withFactors<R: ~Copyable>(
        _ path: String, unlessKept: () throws -> R? = { nil },
        _ body: (borrowing GivenFactors) throws -> R
    ) throws -> R {
        guard try UserFiles.exists(path) else {
            throw CommandFailure(
                .noSuchFile,
                "there is no vault \(TerminalText.quoted(path)); check the path, or make a vault with 'vaultfmt create'"
            )
        }
        let sources = factors.sources
        var given = try whileOpening { try sources.read() }
        guard try sources.wantsPassphrase(path, beside: given) else {
            do { return try body(given) } catch { throw SlotAdvice.added(to: CommandFailure(error), path) }
        }
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        if !noInput, try ControllingTerminal.waitForTurn() == true, let kept = try unlessKept() { return kept }
        var tries = 1
        while true {
            given.passphrase = try sources.ask(path, mayAsk: !noInput)
            do { return try body(given) } catch {
                let failure = CommandFailure(error)
                guard failure.code == .noSlotOpens, tries < Self.mostTries else {
                    throw SlotAdvice.added(to: failure, path)
                }
            }
            tries += 1
            Terminal.note("wrong passphrase; try again")
        }
    }

    private static let mostTries = 3

    /// As `open`, with factors only, and with them.
    func openWithFactors(_ path: String, writable: Bool) throws -> OpenedWithFactors {
        try withFactors(path) { given in
            OpenedWithFactors(vault: try open(path, with: given, writable: writable), factors: given.copy())
        }
    }

    /// As `open`, with factors that were read already.
    func open(
        _ path: String, with given: borrowing GivenFactors, writable: Bool, device: DeviceNeed = .ifThere,
        anchors: AnchorPolicy = .enforce
    ) throws -> Vault {
        let machine = try ThisMachine.current()
        let vault = try Progress.during("opening") {
            try whileOpening {
                try given.tryEach { (factors, _) throws(VaultError) in
                    let options = try self.options(machine, writable: writable, device: device)
                    switch anchors {
                    case .enforce: return try machine.open(path, factors: factors, options: options)
                    case .ignore: return try Vault.open(path, factors: factors, options: options)
                    }
                }
            }
        }
        TailNotice.show(vault)
        return vault
    }

    /// Opens a vault with what `unlock` keeps; nil where it keeps nothing, or where factors are given.
    func openUnlocked(
        _ path: String, writable: Bool = false, device: DeviceNeed = .ifThere, anchors: AnchorPolicy = .enforce
    ) throws -> Vault? {
        guard !factors.sources.isAnyGiven, try UserFiles.exists(path) else { return nil }
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            let options = try self.options(machine, writable: writable, device: device)
            let vault: Vault?
            switch anchors {
            case .enforce: vault = try machine.openUnlocked(path, options: options)
            case .ignore: vault = try machine.openUnlocked(path, options: options, place: machine.place)
            }
            if let vault { TailNotice.show(vault) }
            return vault
        } catch {
            if error.code == .noKernelKeyring { return nil }
            throw CommandFailure(error)
        }
    }

    /// Opens another copy of a vault that is open, by the key that opened that one.
    /// - `isWatched`: Whether this machine compares and remembers it, as it does with a vault that `open` opens.
    /// - Returns: Nil if that key does not open it.
    func openCopy(
        _ path: String, of vault: Vault, writable: Bool = false, isWatched: Bool = false
    ) throws -> Vault? {
        let machine = try ThisMachine.current()
        do throws(VaultError) {
            let options = try self.options(machine, writable: writable, device: .ifThere)
            let copy = try machine.openCopy(path, of: vault, options: options, isWatched: isWatched)
            TailNotice.show(copy)
            return copy
        } catch {
            if error.code == .noSuchSlot || error.code == .noSlotOpens { return nil }
            throw CommandFailure(error)
        }
    }

    private func options(_ machine: Machine, writable: Bool, device: DeviceNeed) throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        options.writable = writable
        options.limits = limits
        options.lockWait = .seconds(wait)
        options.owners = owner?.value
        options.device = try device == .create ? machine.deviceFile.loadOrCreate() : machine.deviceFile.loadIfSound()
        return options
    }
}

/// A vault, and the factors that opened it.
struct OpenedWithFactors: ~Copyable {
    let vault: Vault
    var factors: GivenFactors
}

/// What to do about this machine's device.
enum DeviceNeed {
    /// Use it where there is one.
    case ifThere
    /// Make one where there is none: an item of this device only is to be stored.
    case create
}

/// What to do with the state that this machine remembers of a vault.
enum AnchorPolicy {
    /// Refuse a vault that does not continue what is remembered.
    case enforce
    /// Leave the verdict to the caller.
    case ignore
}
