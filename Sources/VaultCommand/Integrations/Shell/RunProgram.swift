import ArgumentParser
import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// `run`: another program, with secrets in its environment.
struct RunProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a program with secrets in its environment.",
        discussion: """
            The program takes this one's place: its exit code and signals are its own; 127 if there is no such program, 126 if it cannot be \
            started. VAULTFMT_PASSPHRASE, VAULTFMT_KEY_FILE and the like are taken out of its environment. Every process of the same user can read \
            the program's environment and memory. Its core dumps, which would hold the secrets, are limited to 1 byte: Linux then writes none to \
            a file and starts no program that collects them, unless the program itself raises the limit, which only root can.

            Examples:
              vaultfmt run --env PGPASSWORD=vaultfmt:db.example.org/app -- psql -h db.example.org
              vaultfmt run --env RESTIC_PASSWORD=vaultfmt:restic -- restic backup ~/work
            """)

    @Option("Put a secret into a variable; may be repeated.", value: "name=vaultfmt:service/account")
    var env: [String] = []

    @OptionGroup var vault: VaultOptions

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The program and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    func run() throws {
        guard let program = command.first else {
            throw CommandFailure(.usage, "no program is given; write it after --")
        }
        var environment = SecretEnvironment()
        let wanted = try env.map { text in try Self.variable(text) }
        if !wanted.isEmpty {
            let opened = try vault.openVault()
            for (name, reference) in wanted { try environment.set(name, reference.value(in: opened), reference) }
        }
        let failure = environment.execute(command)
        let name = TerminalText.quoted(program)
        if failure == ENOENT {
            throw CommandFailure(.noSuchProgram, "there is no program \(name); check the path, or PATH")
        }
        throw CommandFailure(
            .cannotStart, "cannot start \(name): \(Descriptor.message(failure)); check its permissions")
    }

    private static func variable(_ text: String) throws -> (name: String, reference: Reference) {
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw CommandFailure(.usage, "--env takes NAME=vaultfmt:SERVICE/ACCOUNT, not \(TerminalText.quoted(text))")
        }
        return (String(text[..<sign]), try Reference(String(text[text.index(after: sign)...])))
    }
}

/// The environment of a program to be started: this one's, without what opens vaults, and with secrets.
struct SecretEnvironment: ~Copyable {
    /// "NAME=value" and a zero byte, one behind the other.
    private var text = SecretBuffer()
    private var names: Set<String> = []

    mutating func set(_ name: String, _ value: borrowing Secret, _ reference: Reference) throws {
        guard names.insert(name).inserted else {
            throw CommandFailure(.usage, "the variable \(TerminalText.quoted(name)) is given twice; leave one out")
        }
        guard !value.withUnsafeBytes({ $0.contains(0) }) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(reference.text)) has a zero byte, which no variable can hold")
        }
        text.append(contentsOf: Array((name + "=").utf8))
        text.append(value)
        text.append(0)
    }

    /// Lets another program take this one's place; returns only where that fails, with the error number.
    consuming func execute(_ command: [String]) -> Int32 {
        text.append(0)
        var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        arguments.append(nil)
        defer { arguments.forEach { free($0) } }
        let names = names
        return text.withUnsafeBytes { bytes in
            var variables = ChildEnvironment.inherited(without: names)
            var start = 0
            while start < bytes.count, bytes[start] != 0, let address = bytes.baseAddress {
                variables.append(UnsafeMutablePointer(mutating: (address + start).assumingMemoryBound(to: CChar.self)))
                start = (bytes[start...].firstIndex(of: 0) ?? bytes.count - 1) + 1
            }
            variables.append(nil)
            return -vault_execute(arguments, variables)
        }
    }
}
