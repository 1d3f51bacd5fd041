import ArgumentParser
import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// `git merge-driver`: what git runs to merge two versions of a vault (gitattributes(5), "Defining a custom merge
/// driver").
struct GitMergeDriver: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge-driver",
        abstract: "Merge two versions of a vault for git.",
        discussion: """
            The second file becomes the merge. Exit codes are git's: 0 without and 1 with conflicts to settle, 129 if nothing was merged.

            Examples:
              git config merge.vaultfmt.driver 'vaultfmt git merge-driver %O %A %B %P'
              vaultfmt git merge-driver base.vault ours.vault theirs.vault work.vault
            """,
        shouldDisplay: false)

    @Argument(help: ArgumentHelp("The common version; empty if there is none.", valueName: "base"))
    var base: String

    @Argument(help: ArgumentHelp("This side's version, which the result of the merge replaces.", valueName: "ours"))
    var ours: String

    @Argument(help: ArgumentHelp("The other side's version.", valueName: "theirs"))
    var theirs: String

    @Argument(help: ArgumentHelp("The file's name in the repository.", valueName: "path"))
    var path: String?

    @Option(ArgumentHelp("The file that has both sides already.", visibility: .private), value: "path")
    var settled: String?

    @OptionGroup var access: AccessOptions

    func run() throws {
        // 'sync' has merged it before it let git merge the rest.
        if let path, settled == path { return }
        do {
            Terminal.note("merging \(TerminalText.quoted(path ?? ours))")
            let reports = try merge()
            guard reports.contains(where: \.hasConflicts) else { return }
            Terminal.note(
                "\(TerminalText.quoted(path ?? ours)) is merged, with conflicts to settle: 'vaultfmt conflicts', then 'git add' and 'git commit'"
            )
            end(1)
        } catch {
            Terminal.failure(CommandFailure(error).message)
            end(129)
        }
    }

    private func end(_ code: Int32) -> Never {
        ControllingTerminal.end()
        Glibc.exit(code)
    }

    /// Git's versions of a file may be older than what this machine remembers, in a rebase they are; what comes out is
    /// compared when the vault is opened next.
    private func merge() throws -> [MergeReport] {
        var merger = CopyMerger(path: ours, access: access, options: MergeOptions())
        merger.isWatched = false
        let hasBase = try Vault.isThere(base)
        do {
            return try merger.merge([theirs], base: hasBase ? base : nil).compactMap(\.report)
        } catch let failure as CommandFailure where hasBase && failure.code == .invalidArgument {
            // Git's common version is older than what both vaults came from, as in a cherry-pick.
            return try merger.merge([theirs], base: nil).compactMap(\.report)
        }
    }
}

extension Vault {
    /// Whether a file has anything in it: git has an empty one for a version that does not exist.
    fileprivate static func isThere(_ path: String) throws -> Bool {
        var status = vault_status()
        return vault_status_of(path, true, &status) == 0 && status.size > 0
    }
}
