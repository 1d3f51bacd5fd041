package import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `run`: runs another program with secrets in its environment.
package struct RunProgram: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a program with secrets in its environment.",
        discussion: """
            References (vaultfmt:SERVICE/ACCOUNT) are replaced in the environment, where the entire value must be a \
            reference, and in the variables given with --env-file and --env. If a name is given more than once, the \
            last one applies. A file has one NAME=VALUE per line, with or without quotes, comments and 'export'; a \
            value can be a reference, or contain references in double braces. If no item matches a reference, the \
            program is not started.

            --mask replaces these secrets in the program's standard output and standard error, even if they are written in pieces. Other forms of a \
            secret, such as its Base64 encoding or a part of it, are not masked, nor is anything the program writes elsewhere. Output that could be \
            the beginning of a secret is held back until more follows, and vaultfmt waits for any processes that the program leaves running.

            The program's exit code and signals are passed on; exit code 127 means that there is no such program, 126 that it cannot be started. VAULTFMT_PASSPHRASE, \
            VAULTFMT_KEY_FILE and similar variables are removed from its environment. Any process running as the same user can read the program's \
            environment and memory. Its core dumps, which would contain the secrets, are limited to 1 byte: Linux then neither writes them to a file \
            nor starts a program to collect them, unless the program itself raises the limit, which only root can do.

            Examples:
              vaultfmt run --env PGPASSWORD=vaultfmt:db.example.org/app -- psql -h db.example.org
              vaultfmt run --env-file .env --mask -- ./deploy
            """)

    @Option(
        "Put a secret into a variable; may be repeated.", value: "name=vaultfmt:service/account",
        completion: .custom(ReferenceCompletion.assignments))
    var env: [String] = []

    @Option("Read variables from a file that contains references instead of secrets; may be repeated.", isFile: true)
    var envFile: [String] = []

    @Flag(help: "Mask secrets in the program's output.")
    var mask = false

    @Flag(help: "Ask for confirmation before passing secrets to the program.")
    var confirm = false

    @OptionGroup var vault: VaultOptions

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    package init() {}

    package func run() throws {
        guard let program = command.first else {
            throw CommandFailure(.usage, "no program is given; write it after --")
        }
        let plan = try EnvironmentPlan(options: env, files: envFile)
        try requireConsent(plan.secret, program)
        var environment = SecretEnvironment()
        var secrets: [SharedSecret] = []
        // A descriptor with a factor is closed once it has been read; the program must not inherit an unread one
        // either.
        for descriptor in vault.access.factors.descriptors {
            if plan.secret.isEmpty { FactorInput.discard(descriptor) } else { FactorInput.closeOnExec(descriptor) }
        }
        let opened = plan.secret.isEmpty ? nil : try vault.openVault()
        for variable in plan.variables { secrets += try environment.add(variable, from: opened) }
        ControllingTerminal.end()
        guard mask, !secrets.isEmpty else {
            throw Self.failure(program, environment.execute(command))
        }
        switch try MaskedRun.run(command, environment, hiding: MaskedValues(secrets)) {
        case .notStarted(let number): throw Self.failure(program, number)
        case .ended(let ending): MaskedRun.end(as: ending)
        }
    }

    /// With `--confirm`, asks before the vault is opened.
    private func requireConsent(_ variables: [PlannedVariable], _ program: String) throws {
        guard confirm, !variables.isEmpty else { return }
        guard !vault.access.noInput else {
            throw CommandFailure(.usage, "--confirm asks a question, which --no-input forbids; leave one out")
        }
        ControllingTerminal.beginSeries()
        let names = variables.map { TerminalText.escaped($0.name) }.joined(separator: ", ")
        guard
            try Prompt.confirm(
                "Run \(TerminalText.quoted(program)) with secrets in \(names)?", instead: "leave out --confirm")
        else {
            throw CommandFailure(.noAccess, "the program was not started, because passing the secrets was declined")
        }
    }

    private static func failure(_ program: String, _ number: Int32) -> CommandFailure {
        let name = TerminalText.quoted(program)
        if number == ENOENT {
            return CommandFailure(.noSuchProgram, "there is no program \(name); check the path, or PATH")
        }
        return CommandFailure(
            .cannotStart, "cannot start \(name): \(Descriptor.message(number)); check its permissions")
    }
}
