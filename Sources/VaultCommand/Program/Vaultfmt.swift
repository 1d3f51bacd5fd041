import ArgumentParser
import Glibc
import VaultConsole
import VaultFmt
import VaultReferences
import VaultSync

/// The entry point: hardens the process, runs the command, and turns any failure into one line and an exit code.
package enum Main {
    /// Runs the command in the process's arguments, and exits.
    package static func run() {
        ProcessGuard.start()
        if ProcessArguments.all.dropFirst().first == TerminalGuardian.command { TerminalGuardian.watch() }
        var arguments = ProgramNames.arguments(ProcessArguments.all)
        do {
            guard ProcessArguments.areText else {
                throw CommandFailure(.usage, "an argument is not valid UTF-8; write it as UTF-8")
            }
            arguments = try ArgumentSpelling.normalized(arguments)
            if let help = try Help.answer(to: arguments) { exit(FailureReport.answer(help).rawValue) }
            try MissingValues.refuse(in: arguments)
            try RepeatedOptions.refuse(in: arguments)
            var command = try CommandParsing.command(in: arguments)
            defer { ControllingTerminal.end() }
            try command.run()
        } catch {
            exit(FailureReport.conclude(error, arguments: arguments).rawValue)
        }
    }
}

/// `vaultfmt`: the Keychain in a file.
struct Vaultfmt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vaultfmt",
        abstract: "Passwords, keys and certificates in one encrypted file.",
        discussion: """
            Items are named SERVICE [ACCOUNT]. Without --vault FILE, the vault is VAULTFMT_VAULT or the default vault.

            Topics: 'vaultfmt help items', 'vaultfmt help factors', 'vaultfmt help exit-codes', \
            'vaultfmt help environment'.

            Examples:
              vaultfmt create
              vaultfmt set github.com alice
            """,
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(name: "Item", subcommands: itemCommands),
            CommandGroup(name: "Vault", subcommands: vaultCommands),
            CommandGroup(name: "Program", subcommands: programCommands),
            CommandGroup(name: "Other", subcommands: otherCommands),
        ])

    func run() throws { throw MissingCommand() }

    static let itemCommands: [any ParsableCommand.Type] = [
        SetItem.self, Add.self, Get.self, Show.self, OneTime.self, List.self, Edit.self, Update.self, Move.self,
        CopyItems.self, Remove.self, History.self, Restore.self, Forget.self, Undo.self, Redo.self,
    ]
    static let vaultCommands: [any ParsableCommand.Type] = [
        Create.self, Unlock.self, Lock.self, Status.self, Inspect.self, Check.self, Import.self, Export.self,
        Verify.self,
        Rekey.self, Slot.self,
        Compact.self, Merge.self, Conflicts.self, Diff.self, Log.self, Git.self,
        Sync.self,
        Repair.self, Salvage.self, AnchorCommand.self,
    ]
    static let programCommands: [any ParsableCommand.Type] = [
        Read.self, RunProgram.self, Inject.self, Askpass.self, GitCredential.self, DockerCredential.self,
        AgePlugin.self, AgentCommand.self, SSHCommand.self,
    ]
    static let otherCommands: [any ParsableCommand.Type] = [Generate.self, ClearClipboard.self]
}
