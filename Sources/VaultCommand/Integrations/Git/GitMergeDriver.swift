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
            The result replaces the second file. The exit codes are those git expects: 0 without conflicts, 1 with conflicts to settle, 129 if nothing was merged.

            Examples:
              git config merge.vaultfmt.driver 'vaultfmt git merge-driver -- %O %A %B %P'
              vaultfmt git merge-driver base.vault ours.vault theirs.vault work.vault
            """,
        shouldDisplay: false)

    @Argument(help: ArgumentHelp("The common ancestor; an empty file if there is none.", valueName: "base"))
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
            let reports = try merge()
            guard !reports.contains(where: \.hasDamage) else {
                Terminal.failure(
                    "\(TerminalText.path(path ?? ours)) was merged, but contains damaged data; run 'vaultfmt verify' on both sides, and take an intact one"
                )
                end(1)
            }
            guard reports.contains(where: \.hasConflicts) else { return }
            Terminal.note(
                "\(TerminalText.path(path ?? ours)) was merged, with conflicts to settle; run 'vaultfmt conflicts', then 'git add' and 'git commit'"
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

    /// Merges the versions. Git's versions of a file may be older than the state that this machine remembers, as they
    /// are during a rebase; the result is checked the next time the vault is opened.
    private func merge() throws -> [MergeReport] {
        var merger = CopyMerger(path: ours, access: access, options: MergeOptions())
        merger.isWatched = false
        let hasBase = try Vault.isThere(base)
        do {
            return try merger.merge([theirs], base: hasBase ? base : nil).compactMap(\.report)
        } catch let failure as CommandFailure where hasBase && failure.code == .invalidArgument {
            // Git's common version is older than the vaults' common state, as in a cherry-pick.
            return try merger.merge([theirs], base: nil).compactMap(\.report)
        }
    }
}

extension Vault {
    /// Whether a file is not empty: git passes an empty file for a version that does not exist.
    fileprivate static func isThere(_ path: String) throws -> Bool {
        var status = vault_status()
        return vault_status_of(path, true, &status) == 0 && status.size > 0
    }
}
