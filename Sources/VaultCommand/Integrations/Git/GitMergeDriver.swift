import ArgumentParser
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

    @Argument(
        help: ArgumentHelp(
            "The common ancestor, which is not needed: the vaults say what they have seen.", valueName: "base"))
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
            guard try merge().contains(where: \.hasConflicts) else { return }
            Terminal.note(
                "\(TerminalText.path(path ?? ours)) was merged, with conflicts to settle; run 'vaultfmt conflicts', then 'git add' and 'git commit'"
            )
            end(1)
        } catch {
            Terminal.failure(CommandFailure(error).message)
            end(129)
        }
    }

    /// The path without symbolic links; nil if there is no file. Git runs the driver at the top of the tree.
    private static func canonical(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private func end(_ code: Int32) -> Never {
        ControllingTerminal.end()
        Glibc.exit(code)
    }

    /// Merges the versions. Git's versions of a file may be older than the state that this machine remembers, as they
    /// are during a rebase; the result is checked the next time the vault is opened.
    private func merge() throws -> [CopyOutcome] {
        var merger = CopyMerger(path: ours, access: access, options: MergeOptions())
        merger.place = path.flatMap(Self.canonical)
        merger.isWatched = false
        return try merger.merge([theirs])
    }
}
