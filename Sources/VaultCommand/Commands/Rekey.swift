import ArgumentParser
import VaultAge
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `rekey`: changes the factors that open a vault.
struct Rekey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract:
            "Change the passphrase, its cost or the number of earlier values kept; or, with --rotate, the vault key.",
        discussion: """
            Without --rotate, the slot that opened the vault is rewrapped. If an option such as --passphrase-file gives a \
            factor, the slot is one that needs it. Factors that are not given are kept: a key \
            file, for example, stays in use when the passphrase changes. --kdf alone changes only the cost; --keep \
            alone changes only the number of earlier values kept per item. --rotate re-encrypts everything under a new \
            vault key; slots whose factors are not given (with --keep-… or at a prompt) are listed, and dropped after \
            confirmation. Slots for recipients are recreated without their identities; the recipients are shown first, \
            because anyone with an old key may have added one.

            Examples:
              vaultfmt rekey work.vault
              vaultfmt rekey work.vault --remove-key-file
              vaultfmt rekey work.vault --rotate --keep-key-file backup.key
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Flag(help: "Remove the key file, so that the passphrase alone opens the slot.")
    var removeKeyFile = false

    @Flag(help: "Remove the passphrase, so that the key file alone opens the slot.")
    var removePassphrase = false

    @Flag(help: "Re-encrypt everything under a new vault key, so that older keys cannot open anything written later.")
    var rotate = false

    @Option("The number of earlier values to keep per item, 0 to 50.", value: "number")
    var keep: Int?

    @OptionGroup(title: "Rotation") var kept: KeptFactors

    @Flag(name: [.short, .long], help: "Do not ask before dropping slots.")
    var yes = false

    func validate() throws {
        guard !(removeKeyFile && removePassphrase) else {
            throw ValidationError(
                "--remove-key-file and --remove-passphrase cannot be combined; one factor must remain")
        }
        guard !removeKeyFile || newFactors.newKeyFile == nil,
            !removePassphrase || (newFactors.newPassphraseFile ?? "").isEmpty
        else {
            throw ValidationError(
                "a factor cannot be both removed and set; leave out the --remove-… or the --new-… option")
        }
        if let keep { try KeptVersions.validate(keep) }
        guard rotate || !kept.isAnyGiven else { throw ValidationError("--keep-… options require --rotate") }
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
        if current.factors.contains(.externalKey), changesFactors || !rotate {
            throw CommandFailure(
                .usage,
                "the slot that opened the vault uses an external key and cannot be changed; add another with "
                    + "'vaultfmt slot add' and remove this one")
        }
        if let keep { try KeptVersions.set(keep, in: opened) }
        if changesFactors || !(rotate || cost.isGiven) {
            opening.factors = try changeFactors(opened, current, opening.factors)
        } else {
            opening.factors = GivenFactors(opening.factors, only: current.factors)
            if cost.isGiven { try changeCost(opened, current, opening.factors) }
        }
        // The slot may have changed even if the rotation below fails or is declined.
        try dropKeptKey(of: opened)
        if rotate {
            try rotateKeys(opened, current, opening.factors)
            try dropKeptKey(of: opened)
        }
    }

    private func dropKeptKey(of opened: Vault) throws {
        guard try ThisMachine.current().dropKeptKeyIfGone(opened) else { return }
        Terminal.note("the vault is locked; unlock it with 'vaultfmt unlock'")
    }

    /// Rewraps the slot for new factors, and returns the factors that open it now.
    private func changeFactors(_ opened: Vault, _ current: SlotInfo, _ old: borrowing GivenFactors)
        throws -> GivenFactors
    {
        try checkRemoval(current)
        var new = GivenFactors(passphrase: nil, keyFile: nil, rawKey: nil)
        if newFactors.sources.isAnyGiven || !removesFactor {
            new = try newFactors.sources.creating(
                "New passphrase for \(TerminalText.escaped(opened.path))", mayAsk: !vault.access.noInput)
            // New factors can also come from the environment.
            guard !(removePassphrase && new.passphrase != nil), !(removeKeyFile && new.keyFile != nil) else {
                throw CommandFailure(
                    .usage,
                    "a factor cannot be both removed and set; leave out the --remove-… option, or the option or variable that sets the factor"
                )
            }
            PassphraseStrength.remark(on: new)
        }
        if new.rawKey == nil {
            let stays = GivenFactors(old, only: current.factors)
            if new.passphrase == nil && !removePassphrase { new.passphrase = stays.passphrase?.copy() }
            if new.keyFile == nil && !removeKeyFile { new.keyFile = stays.keyFile?.copy() }
        }
        let kinds = try whileOpening { try new.combinations() }.first ?? []
        try rewrap(opened, current, new)
        // The rotation that follows says what remains of older copies.
        let later =
            rotate
            ? ""
            : "; anyone with an older copy and its factors can also open later states, until 'vaultfmt rekey --rotate' is run"
        Terminal.note("changed the factors of \(TerminalText.path(opened.path)): \(SlotAdvice.words(kinds))\(later)")
        return new
    }

    private var changesFactors: Bool { newFactors.sources.isAnyGiven || removesFactor }

    private var removesFactor: Bool { removeKeyFile || removePassphrase }

    private func checkRemoval(_ current: SlotInfo) throws {
        let hasKeyFile = !current.factors.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
        let hasPassphrase = current.factors.contains(.passphrase)
        if removeKeyFile && !hasKeyFile {
            throw CommandFailure(.usage, "the slot that opened the vault uses no key file; nothing was changed")
        }
        if removePassphrase && !hasPassphrase {
            throw CommandFailure(.usage, "the slot that opened the vault uses no passphrase; nothing was changed")
        }
        if removesFactor && !(hasKeyFile && hasPassphrase) && !newFactors.sources.isAnyGiven {
            throw CommandFailure(
                .usage, "the slot would have no factor left; specify a new one with a --new-… option")
        }
    }

    private func changeCost(_ opened: Vault, _ current: SlotInfo, _ given: borrowing GivenFactors)
        throws
    {
        guard current.cost != nil else {
            throw CommandFailure(
                .usage, "the slot does not use key derivation, so there is no cost to change; specify new factors too")
        }
        try rewrap(opened, current, given)
        Terminal.note("changed the cost of slot \(SlotText.short(current)); older copies keep the old cost")
    }

    private func rewrap(_ opened: Vault, _ current: SlotInfo, _ given: borrowing GivenFactors) throws {
        let factors = try whileOpening { try given.together() }
        let figures = try cost.isGiven || current.cost == nil ? cost.cost() : nil
        let change = try Progress.during("rewrapping") {
            try opened.changeFactors(
                of: current.id, to: factors, cost: figures,
                allowWeak: cost.allowWeak || (figures == nil && current.isWeak), limits: vault.access.limits)
        }
        SlotText.report(change)
    }

    private func rotateKeys(_ opened: Vault, _ current: SlotInfo, _ given: borrowing GivenFactors) throws {
        var rotation = try opened.rotation()
        let remaking = SlotRemaking(mayAsk: !vault.access.noInput)
        // A slot for recipients is recreated without an identity, so no second touch is needed.
        let isKept = SlotRemaking.canRemake(current) ? true : try rotation.keeps(given, limits: vault.access.limits)
        guard isKept else {
            throw CommandFailure(
                .busy, "another program has just changed the slots of the vault; run the command again")
        }
        try kept.apply(to: &rotation, limits: vault.access.limits)
        let remade = try remaking.apply(to: &rotation)
        if !yes && !vault.access.noInput && Prompt.isPossible { try askForPassphrases(&rotation) }
        let dropped = rotation.dropped
        for slot in dropped { Terminal.note("the rotation drops slot \(SlotText.short(slot))") }
        guard try mayGoOn(dropping: dropped.count, remaking: remade) else {
            throw CommandFailure.declined("nothing was rotated")
        }
        ControllingTerminal.endSeries()
        let report: RotationReport
        do { report = try Self.run(rotation) } catch { throw AgeKeys.explained(error, by: remaking.factor) }
        for key in report.copiedDeviceBound {
            Terminal.note("kept unchanged, because it is bound to another device: \(ItemText.summary(key))")
        }
        Terminal.note(
            "rotated \(TerminalText.path(opened.path)); older copies still open with the factors of that time, and contain the secrets of that time; a key copied from one does not open this file"
        )
    }

    private func mayGoOn(dropping dropped: Int, remaking remade: Int) throws -> Bool {
        if yes || (dropped == 0 && remade == 0) { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            let what = dropped == 0 ? "recreating slots for recipients" : "dropping slots"
            let keys = dropped == 0 ? "" : ", or the slots' factors with --keep-…"
            throw CommandFailure(
                .usage, "\(what) needs confirmation, but there is no terminal to prompt on; use --yes\(keys)")
        }
        let drops = dropped == 0 ? "" : ", and drop \(dropped == 1 ? "this slot" : "these \(dropped) slots")"
        let makes = remade == 0 ? "" : " for these recipients"
        return try Prompt.confirm("Rotate\(makes)\(drops)?", instead: "use --yes")
    }

    /// Asks for the passphrase of each slot that needs only a passphrase and would otherwise be dropped.
    private func askForPassphrases(_ rotation: inout Rotation) throws {
        for slot in rotation.dropped where slot.factors == .passphrase {
            while rotation.dropped.contains(where: { $0.id == slot.id }) {
                let typed = try Prompt.secret(
                    "Passphrase for slot \(SlotText.short(slot)) (press Return to drop it)",
                    instead: "use --keep-passphrase-file")
                if typed.count == 0 { break }
                if try !rotation.keeps(
                    GivenFactors(passphrase: typed, keyFile: nil, rawKey: nil), limits: vault.access.limits)
                {
                    Terminal.note("that passphrase does not open any slot; try again")
                }
            }
        }
    }

    private static func run(_ rotation: consuming Rotation) throws -> RotationReport {
        let progress = Progress("rotating", of: "items")
        defer { progress.finish() }
        do throws(VaultError) {
            return try rotation.run { done, total in progress.update(done, of: total) }
        } catch {
            throw CommandFailure(opened: error)
        }
    }
}
