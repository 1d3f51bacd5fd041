import ArgumentParser
import VaultFmt
import VaultLocal

/// `rekey`: changes what opens a vault.
struct Rekey: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Change the passphrase, its cost, how many earlier values are kept, or with --rotate the key of everything.",
        discussion: """
            Without --rotate the slot that opens the vault is rewrapped: what is not given anew stays, a key file beside a new passphrase \
            for example. --kdf alone changes the cost only, --keep alone how many earlier values an item keeps. --rotate encrypts everything anew under a new vault key; slots whose factors are \
            not given (--keep-…, or asked for on a terminal) are named, and dropped after asking.

            Examples:
              vaultfmt rekey work.vault
              vaultfmt rekey work.vault --remove-key-file
              vaultfmt rekey work.vault --rotate --keep-key-file backup.key
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Flag(help: "Take the key file away: the passphrase alone opens the slot.")
    var removeKeyFile = false

    @Flag(help: "Remove the passphrase, so that the key file alone opens the slot.")
    var removePassphrase = false

    @Flag(help: "Encrypt everything under a new vault key, so that older keys open nothing written later.")
    var rotate = false

    @Option("How many earlier values an item keeps, 0 to 50.", value: "number")
    var keep: Int?

    @OptionGroup(title: "Rotation") var kept: KeptFactors

    @Flag(name: [.short, .long], help: "Do not ask before slots are dropped.")
    var yes = false

    func validate() throws {
        guard !(removeKeyFile && removePassphrase) else {
            throw ValidationError("--remove-key-file and --remove-passphrase exclude each other; one of them must stay")
        }
        guard !removeKeyFile || newFactors.newKeyFile == nil,
            !removePassphrase || (newFactors.newPassphraseFile ?? "").isEmpty
        else {
            throw ValidationError("what is to be removed is also given by a --new-… option; leave one out")
        }
        if let keep { try KeptVersions.validate(keep) }
        guard rotate || !kept.isAnyGiven else { throw ValidationError("--keep-… options go with --rotate") }
    }

    func run() throws {
        if let keep {
            guard changesFactors || rotate || cost.isGiven else {
                return try KeptVersions.set(keep, in: vault.openVault(writable: true))
            }
        }
        let path = try vault.path
        ControllingTerminal.beginSeries()
        var opening = try vault.access.openWithFactors(path, writable: true)
        let opened = opening.vault
        let slots = try opened.slots()
        guard let current = slots.first(where: \.openedThis) else {
            throw CommandFailure(
                .busy, "another program has just replaced the slot that opened the vault; run the command again")
        }
        if let keep { try KeptVersions.set(keep, in: opened) }
        if changesFactors || !(rotate || cost.isGiven) {
            opening.factors = try changeFactors(opened, current, opening.factors)
        } else {
            opening.factors = GivenFactors(opening.factors, only: current.factors)
            if cost.isGiven { try changeCost(opened, current, opening.factors) }
        }
        if rotate { try rotateKeys(opened, opening.factors) }
        if try ThisMachine.current().dropKeptKeyIfGone(opened) {
            Terminal.note("the vault is locked; 'vaultfmt unlock' opens it again")
        }
    }

    /// Rewraps the slot for new factors, and returns those that open it now.
    private func changeFactors(_ opened: Vault, _ current: SlotInfo, _ old: borrowing GivenFactors)
        throws -> GivenFactors
    {
        try checkRemoval(current)
        var new = GivenFactors(passphrase: nil, keyFile: nil, rawKey: nil)
        if newFactors.sources.isAnyGiven || !removesFactor {
            new = try newFactors.sources.creating(
                "New passphrase for \(TerminalText.escaped(opened.path))", mayAsk: !vault.access.noInput)
            PassphraseStrength.remark(on: new)
        }
        if new.rawKey == nil {
            let stays = GivenFactors(old, only: current.factors)
            if new.passphrase == nil && !removePassphrase { new.passphrase = stays.passphrase?.copy() }
            if new.keyFile == nil && !removeKeyFile { new.keyFile = stays.keyFile?.copy() }
        }
        let kinds = try whileOpening { try new.combinations() }.first ?? []
        try rewrap(opened, current, new)
        Terminal.note(
            "changed what opens \(TerminalText.quoted(opened.path)): \(SlotAdvice.words(kinds)); an older copy and what opened it open later states too, until 'vaultfmt rekey --rotate'"
        )
        return new
    }

    private var changesFactors: Bool { newFactors.sources.isAnyGiven || removesFactor }

    private var removesFactor: Bool { removeKeyFile || removePassphrase }

    private func checkRemoval(_ current: SlotInfo) throws {
        let hasKeyFile = !current.factors.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
        let hasPassphrase = current.factors.contains(.passphrase)
        if removeKeyFile && !hasKeyFile {
            throw CommandFailure(.usage, "the slot that opened the vault takes no key file; nothing was changed")
        }
        if removePassphrase && !hasPassphrase {
            throw CommandFailure(.usage, "the slot that opened the vault takes no passphrase; nothing was changed")
        }
        if removesFactor && !(hasKeyFile && hasPassphrase) && !newFactors.sources.isAnyGiven {
            throw CommandFailure(
                .usage, "it is all that opens the slot; give what is to open it instead with a --new-… option")
        }
    }

    private func changeCost(_ opened: Vault, _ current: SlotInfo, _ given: borrowing GivenFactors)
        throws
    {
        guard current.cost != nil else {
            throw CommandFailure(
                .usage, "the slot opens without key derivation, so it has no cost to change; give new factors too")
        }
        try rewrap(opened, current, given)
        Terminal.note("changed the cost of slot \(SlotText.short(current)); older copies keep the old one")
    }

    private func rewrap(_ opened: Vault, _ current: SlotInfo, _ given: borrowing GivenFactors) throws {
        let factors = try whileOpening { try given.together() }
        let figures = try cost.isGiven || current.cost == nil ? cost.cost() : nil
        let change = try Progress.during("rewrapping") {
            try opened.changeFactors(
                of: current.id, to: factors, cost: figures,
                allowWeak: cost.allowWeak || (figures == nil && current.isWeak))
        }
        SlotText.report(change)
    }

    private func rotateKeys(_ opened: Vault, _ given: borrowing GivenFactors) throws {
        var rotation = try opened.rotation()
        guard try rotation.keeps(given) else {
            throw CommandFailure(
                .busy, "another program has just changed the slots of the vault; run the command again")
        }
        try kept.apply(to: &rotation)
        if !yes && !vault.access.noInput && Prompt.isPossible { try Self.askForPassphrases(&rotation) }
        let dropped = rotation.dropped
        for slot in dropped { Terminal.note("drops slot \(SlotText.short(slot))") }
        guard try mayDrop(dropped.count) else { return Terminal.note("nothing was rotated") }
        ControllingTerminal.endSeries()
        let report = try Self.run(rotation)
        for key in report.copiedDeviceBound {
            Terminal.note("kept as it was, bound to another device: \(ItemText.summary(key))")
        }
        Terminal.note(
            "rotated \(TerminalText.quoted(opened.path)): older copies open what they hold, and nothing later")
    }

    private func mayDrop(_ count: Int) throws -> Bool {
        if yes || count == 0 { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(
                .usage,
                "dropping slots needs confirmation, and there is no terminal to prompt on; give --yes, or the slots' factors with --keep-…"
            )
        }
        return try Prompt.confirm(
            "Rotate, and drop \(count == 1 ? "this slot" : "these \(count) slots")?", instead: "give --yes")
    }

    /// Asks for the passphrase of each slot that would be dropped and takes one alone.
    private static func askForPassphrases(_ rotation: inout Rotation) throws {
        for slot in rotation.dropped where slot.factors == .passphrase {
            while rotation.dropped.contains(where: { $0.id == slot.id }) {
                let typed = try Prompt.secret(
                    "Passphrase of slot \(SlotText.short(slot)) (Return: drop it)",
                    instead: "give --keep-passphrase-file")
                if typed.count == 0 { break }
                if try !rotation.keeps(GivenFactors(passphrase: typed, keyFile: nil, rawKey: nil)) {
                    Terminal.note("that opens no slot; try again")
                }
            }
        }
    }

    private static func run(_ rotation: consuming Rotation) throws -> RotationReport {
        let progress = Progress("rotating")
        defer { progress.finish() }
        do throws(VaultError) {
            return try rotation.run { done, total in progress.update(done, of: total) }
        } catch {
            throw CommandFailure(opened: error)
        }
    }
}
