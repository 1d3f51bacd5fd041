import ArgumentParser
import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `git merge-driver`: the command that git runs to merge two versions of a vault (gitattributes(5), "Defining a custom
/// merge driver").
struct GitMergeDriver: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge-driver",
        abstract: "Merge two versions of a vault for git.",
        discussion: """
            The result replaces the second file. The exit codes are those that git expects: 0 without conflicts, 1 with conflicts to settle, 129 if nothing was merged.

            Examples:
              git config merge.vaultfmt.driver 'vaultfmt git merge-driver -- %O %A %B %P'
              vaultfmt git merge-driver base.vault ours.vault theirs.vault work.vault
            """,
        shouldDisplay: false)

    @Argument(
        help: ArgumentHelp(
            "The common ancestor, which is not needed: the vaults record what they have seen.", valueName: "base"))
    var base: String

    @Argument(help: ArgumentHelp("This side's version, which the result of the merge replaces.", valueName: "ours"))
    var ours: String

    @Argument(help: ArgumentHelp("The other side's version.", valueName: "theirs"))
    var theirs: String

    @Argument(help: ArgumentHelp("The file's name in the repository.", valueName: "path"))
    var path: String?

    @OptionGroup(title: "Access") var access: AccessOptions

    func run() throws {
        do {
            Terminal.note("merging \(TerminalText.path(path ?? ours))")
            let outcomes = try merge()
            for report in outcomes.compactMap(\.report) {
                for line in MergeText.noteLines(report) { Terminal.note(line) }
            }
            guard !outcomes.contains(where: { $0.report?.hasDamage == true }) else {
                Terminal.failure(
                    "\(TerminalText.path(path ?? ours)) was merged, but contains damaged data; run 'vaultfmt verify' on both sides, and use an intact version"
                )
                end(1)
            }
            if let end = outcomes.compactMap(\.tail.endOfCopy).first {
                Terminal.failure(
                    "\(TerminalText.path(path ?? ours)) was merged, but the other side's version \(end), and the rest may be missing; "
                        + "check whether its writer has a complete version, then run 'git add' and 'git commit'"
                )
                self.end(1)
            }
            guard outcomes.contains(where: \.leavesConflicts) else {
                let findings = Self.findings(outcomes)
                guard !findings.isEmpty else { return }
                Terminal.note(
                    "\(TerminalText.path(path ?? ours)) was merged, and \(findings.joined(separator: "; ")); then run 'git add' and 'git commit'"
                )
                end(1)
            }
            Terminal.note(
                "\(TerminalText.path(path ?? ours)) was merged, with conflicts to settle; run 'vaultfmt conflicts', then 'git add' and 'git commit'"
            )
            end(1)
        } catch {
            Terminal.failure("\(TerminalText.path(path ?? ours)): \(CommandFailure(error).message)")
            end(129)
        }
    }

    /// Describes what a merge without conflicts leaves to do.
    private static func findings(_ outcomes: [CopyOutcome]) -> [String] {
        var findings: [String] = []
        if outcomes.contains(where: { $0.report?.hasSharedKeys == true }) {
            findings.append("items share a name (see above): rename one of each pair with 'vaultfmt move'")
        }
        if outcomes.contains(where: \.losesSecrets) {
            findings.append("items show no secret (see above): give them one with 'vaultfmt set'")
        }
        if outcomes.contains(where: \.leavesChangesToRepeat) {
            findings.append("changes under the old keys were not carried out (see above): make them again")
        }
        if outcomes.contains(where: \.hasSlotsOfBoth) {
            findings.append(
                "full slots of both copies open the vault (see above): remove any unwanted ones with 'vaultfmt slot remove'"
            )
        }
        return findings
    }

    /// Returns the path without symbolic links; nil if the file does not exist. Git runs the driver at the top of the
    /// tree.
    private static func canonical(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private func end(_ code: Int32) -> Never {
        ControllingTerminal.end()
        Glibc.exit(code)
    }

    /// Merges the versions. Git's versions of a file may be older than the state that this machine remembers (during a
    /// rebase, for example); the result is checked the next time the vault is opened.
    private func merge() throws -> [CopyOutcome] {
        guard let path, try !Vault.isOne(at: ours) || !Vault.isOne(at: theirs) else { return try merge(ours, theirs) }
        // Git passes the stored content: a filter such as LFS stores something else in place of the vault.
        let filter = try GitFilter(path)
        let whole = [ours, theirs].map { $0 + ".vaultfmt" }
        defer { whole.forEach { unlink($0) } }
        for (stored, copy) in zip([ours, theirs], whole) { try filter.smudge(stored, to: copy) }
        let outcomes = try merge(whole[0], whole[1])
        try filter.clean(whole[0], to: ours)
        return outcomes
    }

    private func merge(_ ours: String, _ theirs: String) throws -> [CopyOutcome] {
        var merger = CopyMerger(path: ours, access: access, options: MergeOptions())
        merger.place = path.flatMap(Self.canonical)
        merger.isWatched = false
        merger.factorAdvice =
            "undo this merge with 'git merge --abort', and run 'vaultfmt sync' with --other-passphrase-file, --other-key-file or --other-raw-key-file"
        return try merger.merge([theirs])
    }
}

/// The filter that git's configuration names for a file.
private struct GitFilter {
    private let git: GitProgram
    private let name: String

    init(_ name: String) throws {
        git = try GitProgram(folder: ".")
        self.name = name
    }

    /// Writes the vault that git's stored file represents.
    func smudge(_ stored: String, to copy: String) throws {
        let id = try git.require(["hash-object", "-w", "--no-filters", "--", stored], "read a version").line
        try write(["cat-file", "--filters", "--path=\(name)", id], to: copy)
        guard try Vault.isOne(at: copy) else {
            throw CommandFailure(
                .damaged,
                "a version is not a vault, and no git filter turns it into one; see 'git log -- \(TerminalText.escaped(name))'"
            )
        }
    }

    /// Writes the content that git stores for a vault.
    func clean(_ vault: String, to stored: String) throws {
        let id = try git.require(["hash-object", "-w", "--path=\(name)", "--", vault], "store the result").line
        try write(["cat-file", "blob", id], to: stored)
    }

    private func write(_ arguments: [String], to path: String) throws {
        let descriptor = vault_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(system: -descriptor, "cannot write \(TerminalText.path(path))")
        }
        defer { close(descriptor) }
        guard try git.write(arguments, to: descriptor) == 0 else {
            throw CommandFailure(.io, "git could not filter \(TerminalText.path(name)); see its messages above")
        }
    }
}
