import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `salvage`: recovers everything that still authenticates.
struct Salvage: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Recover everything in a damaged vault that still authenticates, and write it to a new file.",
        discussion: """
            The damaged file is never written to. Anything that cannot be recovered is reported on standard error, and \
            the exit code is then 3. Records listed in an owner's commit take precedence. Records that no such commit \
            lists, and that the holder of a scoped slot could have forged, are reported as not proven and left out, \
            unless --include-unproven is given; if no commit is left, that applies to all of them. Items of \
            a change whose commit is damaged or cut off are recovered and listed; a proven secret that such a change \
            replaced becomes an earlier value. The new vault has a single slot, which opens with the same factors unless \
            --new-… options set new ones; if an identity opens the damaged vault, these options are required.

            Examples:
              vaultfmt salvage broken.vault --output recovered.vault
              vaultfmt salvage broken.vault --output recovered.vault --new-passphrase-file pass.txt
            """)

    @OptionGroup var damaged: VaultFileName

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("The vault to create; an existing file is never overwritten.", valueName: "new"),
        completion: .file())
    var output: String

    @Flag(
        help: "Include items that are not proven to come from an owner; check each one reported before trusting it."
    )
    var includeUnproven = false

    @OptionGroup(title: "Access") var access: AccessOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    func run() throws {
        guard output != "-" else {
            throw CommandFailure(.usage, "a vault cannot be written to standard output; specify a path")
        }
        guard try !UserFiles.exists(output) else {
            throw CommandFailure(
                .outputExists, "\(TerminalText.path(output)) already exists; choose another name or move it away")
        }
        let file = try VaultPath.resolve(damaged.given)
        let report = try access.withFactors(file, in: .salvage) { given in
            guard newFactors.sources.isAnyGiven else { return try salvage(file, given, to: given) }
            let new = try newFactors.sources.creating(
                "New passphrase for \(TerminalText.escaped(output))", mayAsk: !access.noInput)
            return try salvage(file, given, to: new)
        }
        try conclude(report, file)
    }

    private func conclude(_ report: SalvageReport, _ file: String) throws {
        let text = SalvageText(report, includesUnproven: includeUnproven)
        tell(report, text)
        let values = report.recoveredEarlierValues
        let items = "\(report.recovered) \(report.recovered == 1 ? "item" : "items")"
        let earlier = values == 0 ? "" : " and \(values) earlier \(values == 1 ? "value" : "values")"
        Terminal.note("recovered \(items)\(text.lesser)\(earlier) into \(TerminalText.path(output)), \(text.losses)")
        if let advice = text.adviceOnLeftOut { Terminal.note(advice) }
        let isNothingLeft = report.recovered == 0 && text.leftOut == 0
        if isNothingLeft, !report.lost.isEmpty || report.unnamed > 0 || report.generation == nil {
            throw CommandFailure(
                .damaged, "nothing in \(TerminalText.path(file)) could be recovered; try another copy")
        }
        guard !report.isComplete else { return }
        if report.recovered == 0, text.leftOut > 0 {
            throw CommandFailure(
                .incomplete,
                "\(TerminalText.path(output)) was created without items, because nothing that was found is proven (see above); look for an intact copy, or use --include-unproven"
            )
        }
        throw CommandFailure(
            .incomplete,
            "\(TerminalText.path(output)) was created, but something is missing or not proven (see above); look for an intact copy"
        )
    }

    /// Reports the contents that the new vault lacks, and the contents that are not proven.
    private func tell(_ report: SalvageReport, _ text: SalvageText) {
        for note in report.notes { Terminal.note(note) }
        for line in text.lines {
            if line.isNote { Terminal.note(line.text) } else { Terminal.warning(line.text) }
        }
        tellLosses(report)
    }

    private func tellLosses(_ report: SalvageReport) {
        for slot in report.otherSlots {
            Terminal.note("not in the new vault: slot \(SlotText.short(slot)); 'vaultfmt slot add' recreates it")
        }
        for slot in report.unknownSlots {
            Terminal.warning("not in the new vault: slot \(SlotText.short(slot)), which this version cannot create")
        }
        if report.unnamed > 0 {
            Terminal.warning(
                "lost: \(report.unnamed) more \(report.unnamed == 1 ? "item, whose name" : "items, whose names") could not be recovered either"
            )
        }
        if report.hasOtherOwners {
            Terminal.warning(
                "this machine has seen the vault under a different owners' key: either the file it saw or this one is from before a rotation, or this file is someone else's; "
                    + "its owners' public key is \(report.owners.map { "\($0)" } ?? "unknown")")
        }
        if let seen = report.missingUpTo {
            Terminal.warning(
                "this machine has seen generation \(seen) of the vault, but the newest commit in the file is \(report.generation.map { "of generation \($0)" } ?? "lost"): later changes are missing, unless they are listed above"
            )
        } else if report.bytesAfterNewest > 0 {
            Terminal.warning(
                "the file ends with \(report.bytesAfterNewest) bytes of an incomplete change: it was interrupted, or its commit is damaged or cut off"
            )
        }
    }

    /// Returns the combinations of factors to try. An identity can open a vault, but creating one requires recipients.
    private func combinations(_ given: borrowing GivenFactors) throws -> [FactorKinds] {
        let all = try whileOpening { try given.attempts() }
        guard !newFactors.sources.isAnyGiven else { return all }
        let usable = all.filter { !$0.contains(.externalKey) }
        guard usable.isEmpty, !all.isEmpty else { return usable }
        throw CommandFailure(
            .usage,
            "the new vault cannot have the recipients of the old one; use --new-passphrase-file or --new-key-file, and "
                + "add recipients with 'vaultfmt slot add'")
    }

    private func salvage(
        _ file: String, _ given: borrowing GivenFactors, to new: borrowing GivenFactors
    ) throws -> SalvageReport {
        let figures = try cost.cost()
        let machine = try ThisMachine.current()
        let progress = Progress("salvaging")
        defer { progress.finish() }
        var failure: VaultError?
        for kinds in try combinations(given) {
            let factors = try whileOpening { try given.factors(kinds) }
            let newFactors = try whileOpening {
                try self.newFactors.sources.isAnyGiven ? new.together() : given.factors(kinds)
            }
            var options = CreateOptions()
            options.cost = figures
            options.allowWeak = cost.allowWeak
            do throws(VaultError) {
                return try machine.salvage(
                    file, factors: factors, to: output, newFactors: newFactors, options: options, limits: access.limits,
                    takesUnproven: includeUnproven, owners: access.owner?.value)
            } catch {
                guard error.code == .noSlotOpens else { throw CommandFailure(salvaging: error) }
                if failure == nil || (error.triedSlot && failure?.triedSlot == false) { failure = error }
            }
        }
        throw CommandFailure(failure ?? VaultError(.noSlotOpens, "no factor is given"))
    }
}
