package import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `sync`: synchronizes a vault in a git repository with another repository.
package struct Sync: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Commit to git, merge what others pushed, and push.",
        discussion: """
            The vault is merged item by item before git merges the rest of the repository. Other vaults in the repository that both sides changed \
            are merged in the same way, with the same factors or those of the --other-… options. Git and its hooks get no factors. If another clone pushes first, sync starts over. The \
            other side is the branch's upstream or, if there is none, the same branch of --remote. Changes committed under keys that the other side \
            has replaced are not merged: see --accept-old-keys in 'vaultfmt merge --help'. If there are conflicts to settle, items that show no secret, or changes under \
            replaced keys to make again, everything is still pushed, but the exit code is 3.

            If a git hook or another program replaces, overwrites or removes the vault meanwhile, sync fails and names \
            the command that gets sync's version of the vault back from git.

            A git process that was killed leaves lock files in the repository. sync waits for them for as long as \
            --wait allows, and then names the file to delete (exit 75).

            Examples:
              vaultfmt sync work.vault
              vaultfmt sync work.vault --remote origin
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("The remote to use if the branch has no upstream.", value: "name")
    var remote: String?

    @Option("How long to keep trying while others push.", value: "seconds")
    var patience: Double = 600

    @OptionGroup(title: "The other side") var other: OtherFactorOptions

    package init() {}

    package func validate() throws {
        guard patience.isFinite, patience >= 0 else { throw ValidationError("--patience must be at least 0 seconds") }
    }

    package func run() throws {
        let file = try GitFile(vault.path)
        let lock = try SyncLock(file, patience: patience)
        defer { withExtendedLifetime(lock) {} }
        let side = try GitRemote(file, remote, folder: lock.folder)
        let opened = try vault.openVault(writable: true)
        let locks = try GitLocks(file, side, folder: lock.folder)
        var round = SyncRound(
            file: file, remote: side, vault: opened, access: vault.access, otherFactors: other.sources, lock: lock)
        let end = Clock.now + patience
        var pause = 0.05
        while try !run(&round, locks) {
            guard Clock.now < end else { throw outlasted(round) }
            Clock.sleep(Double.random(in: 0..<pause))
            pause = min(pause * 2, 2)
        }
        let rounds = round.rounds == 1 ? "" : ", in \(round.rounds) rounds"
        let generation = round.synced[file.name]?.generation ?? opened.state.generation
        Terminal.note("\(TerminalText.quoted(file.name)) is at generation \(generation) on both sides\(rounds)")
        try requireNothingLeft(round, opened)
    }

    /// Throws an error with exit code 3 if something is left for the user to do.
    private func requireNothingLeft(_ round: SyncRound, _ opened: Vault) throws {
        if let name = round.damaged.min() {
            throw CommandFailure(
                .incomplete,
                "synced, but \(TerminalText.quoted(name)) contains damaged data; 'vaultfmt verify' names it: set it again from an intact copy"
            )
        }
        if let (name, end) = round.cutOff.min(by: { $0.key < $1.key }) {
            throw CommandFailure(
                .incomplete,
                "synced, but the other side's \(TerminalText.quoted(name)) \(end): it was merged up to there, and the rest may be missing"
            )
        }
        guard try opened.conflicts().isEmpty else {
            throw CommandFailure(.incomplete, "synced, with conflicts to settle; 'vaultfmt conflicts' shows them")
        }
        guard round.unsettledOthers.isEmpty else {
            throw CommandFailure(
                .incomplete,
                "synced, with conflicts to settle in \(Self.list(round.unsettledOthers)); 'vaultfmt conflicts --vault …' shows them"
            )
        }
        guard round.sharedNames.isEmpty else {
            throw CommandFailure(.incomplete, "synced, with two items that have the same name (see above)")
        }
        guard round.withoutSecrets.isEmpty else {
            throw CommandFailure(
                .incomplete, "synced, but items in \(Self.list(round.withoutSecrets)) show no secret (see above)")
        }
        guard round.withChangesToRepeat.isEmpty else {
            throw CommandFailure(
                .incomplete,
                "synced, but changes of \(Self.list(round.withChangesToRepeat)) under the old keys were not carried out; make them again (see above)"
            )
        }
        guard round.withSlotsOfBoth.isEmpty else {
            throw CommandFailure(
                .incomplete,
                "synced, but full slots of both sides open \(Self.list(round.withSlotsOfBoth)) (see above)")
        }
        guard round.areOthersProven else {
            throw CommandFailure(
                .incomplete,
                "synced, but not every other vault could be compared with the one here; see the warnings above")
        }
    }

    private static func list(_ names: Set<String>) -> String {
        names.sorted().map { TerminalText.quoted($0) }.joined(separator: ", ")
    }

    /// Runs a round, and repeats it if another git process has locked the repository and releases it in time.
    private func run(_ round: inout SyncRound, _ locks: GitLocks) throws -> Bool {
        var end: Double?
        while true {
            do { return try round.run() } catch let failure as CommandFailure {
                let limit = end ?? Clock.now + vault.access.lockWait
                guard locks.blocking(failure) != nil else { throw failure }
                try locks.wait(until: limit)
                guard Clock.now < limit else { throw failure }
                end = limit
                Clock.sleep(0.05)
            }
        }
    }

    private func outlasted(_ round: SyncRound) -> CommandFailure {
        CommandFailure(
            .busy,
            "other clones kept pushing first for \(Int(patience)) s; everything is committed here, so try again"
                + (round.refusal.map { " (the other side said: \($0))" } ?? ""))
    }
}
