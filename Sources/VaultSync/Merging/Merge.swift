package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `merge`: merges copies of a vault into it.
package struct Merge: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge copies of a vault that was changed on several machines.",
        discussion: """
            Items are matched by id and merged field by field, based on what each copy has seen; if two copies changed \
            a field independently, the newer value is shown, and the other is kept until you settle it with 'vaultfmt \
            conflicts' (exit 3). The copies are only read. They are opened with the vault's key or, failing that, with \
            their own factors.

            --conflicts finds the copies that Syncthing, Dropbox, Nextcloud, OneDrive, iCloud and others leave next to \
            VAULT. It tries no factors on a copy, and moves the copy to VAULT.merged/ once the vault contains \
            everything in it. Files of other vaults, files continued under replaced keys, and files that do not open \
            are left in place and reported (exit 3).

            With --accept-old-keys, values that a copy stored under keys that this vault has since replaced are listed \
            and, after you agree, merged as conflicts to settle or as earlier values. They may have been written by \
            someone with a leaked old passphrase. The values that items show do not change. Removals and forgotten \
            values under those keys are not carried out: they are named and have to be repeated (exit 3). With \
            --accept-dropped, changes that you dropped with 'vaultfmt anchor --accept' are merged again.

            --dry-run makes the same merge in memory. As with every command, this machine remembers the states of the \
            vault that it reads.

            --json writes an array with an object for each copy: copy, outcome (same, ours, theirs, merged or \
            adopted), dryRun, taken, added, supplemented (items whose shown values stayed), removed and notes; error \
            and exitCode if the copy was left in place; movedTo if it was moved. Docs/many-machines.md covers \
            Syncthing, git, Dropbox and USB sticks.

            Examples:
              vaultfmt merge work.vault usb/work.vault
              vaultfmt merge work.vault usb/work.vault --dry-run
              vaultfmt merge work.vault --conflicts
            """)

    @Argument(
        help: ArgumentHelp(
            "The vault to change (unless --vault is given), followed by its copies.", valueName: "vault other"),
        completion: .file())
    var files: [String] = []

    @Option("The vault.", name: [.customShort("f"), .long], value: "file", isFile: true)
    var vault: String?

    @Flag(help: "Merge the conflict copies left next to the vault by file syncers.")
    var conflicts = false

    @Flag(help: "Show what would change, but leave the vault unchanged.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Merge values stored under replaced keys, as conflicts to settle or as earlier values.")
    var acceptOldKeys = false

    @Flag(help: "Merge changes that were dropped with 'vaultfmt anchor --accept'.")
    var acceptDropped = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup(title: "Other copies") var other: OtherFactorOptions
    @OptionGroup(title: "Access") var access: AccessOptions

    package init() {}

    package func validate() throws {
        guard !conflicts || (!acceptOldKeys && !acceptDropped && other.sources == nil) else {
            throw ValidationError(
                "--conflicts cannot be combined with --accept-old-keys, --accept-dropped or --other-…; name the copy instead"
            )
        }
    }

    package func run() throws {
        let (path, others) = try paths()
        var options = MergeOptions()
        options.isRehearsal = dryRun
        options.acceptsOldKeys = acceptOldKeys
        let merger = CopyMerger(
            path: path, access: access, options: options, otherFactors: other.sources, acceptsDropped: acceptDropped,
            confirm: confirm)
        let outcomes = try conflicts ? merger.mergeConflictCopies() : merger.merge(others)
        try write(outcomes, path)
        try conclude(outcomes, path)
    }

    private func paths() throws -> (vault: String, others: [String]) {
        var others = files
        let path: String
        if let vault {
            path = vault
        } else if conflicts, others.isEmpty {
            path = try VaultPath.resolve(nil)
        } else {
            guard !others.isEmpty else {
                throw CommandFailure(.usage, "no vault is given; specify VAULT and its copies")
            }
            path = others.removeFirst()
        }
        guard conflicts == others.isEmpty else {
            throw CommandFailure(
                .usage,
                conflicts
                    ? "--conflicts finds the copies itself; leave \(TerminalText.quoted(others.joined(separator: " "))) out"
                    : "no copy is given; put its path after the vault's, or use --conflicts")
        }
        return (path, others)
    }

    private func confirm(_ report: MergeReport, of copy: String) throws -> Bool {
        guard !yes else { return true }
        for line in MergeText.lines(CopyOutcome(path: copy, report: report), of: "") { Terminal.errorLine(line) }
        guard !access.noInput, Prompt.isPossible else {
            throw CommandFailure(
                .usage,
                "values stored under replaced keys are merged only after confirmation, but there is no terminal to prompt on; use --yes"
            )
        }
        return try Prompt.confirm("Take in these values?", instead: "use --yes")
    }

    private func write(_ outcomes: [CopyOutcome], _ path: String) throws {
        let output = Output.standard()
        guard !json else {
            var writer = JSONWriter(output)
            try writer.array { writer in for outcome in outcomes { try writer.object(outcome) } }
            return try writer.finish()
        }
        for outcome in outcomes {
            for line in MergeText.lines(outcome, of: path) { try output.line(TerminalText.singleLine(line)) }
        }
        try output.flush()
        if outcomes.isEmpty {
            Terminal.note(
                conflicts ? "there are no conflict copies of \(TerminalText.path(path))" : "nothing was merged")
        }
    }

    private func conclude(_ outcomes: [CopyOutcome], _ path: String) throws {
        let failed = outcomes.filter { $0.failure != nil && !$0.isUnrelated }
        // If reading or writing failed, the files themselves are intact, and the merge can be repeated.
        if let failure = failed.compactMap(\.failure).first(where: { $0.status == .io }) {
            throw CommandFailure(
                .io,
                "\(failed.count == 1 ? "1 file was" : "\(failed.count) files were") left unchanged: \(failure.message)")
        }
        let found = findings(outcomes, failed, path)
        guard found.isEmpty else { throw CommandFailure(.incomplete, found.joined(separator: "; ")) }
    }

    /// Describes everything that keeps the merge from being complete.
    private func findings(_ outcomes: [CopyOutcome], _ failed: [CopyOutcome], _ path: String) -> [String] {
        var found: [String] = []
        if !failed.isEmpty {
            let left = conflicts && !dryRun ? outcomes.count { !$0.isUnrelated && $0.movedTo == nil } : failed.count
            found.append("\(left == 1 ? "1 file was" : "\(left) files were") left in place; the reasons are above")
        }
        if outcomes.last(where: { $0.report != nil })?.report?.hasDamage == true {
            found.append(
                "\(TerminalText.path(path)) contains damaged data (see above), which merging does not replace; set it again, from a copy "
                    + "that 'vaultfmt verify' calls sound on the machine that has it")
        }
        for cut in outcomes where cut.failure == nil && cut.report != nil {
            guard let end = cut.tail.endOfCopy else { continue }
            found.append(
                "\(TerminalText.path(cut.path)) \(end): \(dryRun ? "the merge would stop there" : "it was merged up to there"), and "
                    + "the rest may be missing")
        }
        if outcomes.contains(where: { $0.report?.hasSharedKeys == true }) {
            found.append("two items \(dryRun ? "would " : "")have the same name (see above)")
        }
        if outcomes.contains(where: \.losesSecrets) {
            found.append("items \(dryRun ? "would show" : "show") no secret (see above)")
        }
        if outcomes.contains(where: \.leavesChangesToRepeat) {
            found.append(
                "changes under the old keys \(dryRun ? "would not be" : "were not") carried out; make them again (see above)"
            )
        }
        if outcomes.contains(where: \.hasSlotsOfBoth) {
            found.append("full slots of both copies \(dryRun ? "would open" : "open") the vault (see above)")
        }
        if outcomes.contains(where: \.leavesConflicts) {
            found.append(
                dryRun
                    ? "the merge would leave conflicts to settle"
                    : "\(found.isEmpty ? "merged, with" : "there are") conflicts to settle; 'vaultfmt conflicts list --vault \(TerminalText.word(path))' shows them"
            )
        }
        return found
    }
}
