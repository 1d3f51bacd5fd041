import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// A variable for a program: its name, and a value that may refer to secrets.
struct PlannedVariable {
    let name: String
    private let text: SharedSecret
    private let pieces: [Template.Piece]

    /// Creates a variable whose value is a reference, from `--env` or from this process's environment.
    init(_ name: String, _ reference: Reference) {
        self.name = name
        text = SharedSecret(Secret(count: 0))
        pieces = [.reference(reference)]
    }

    /// Creates a variable from a file. Its value is text, a reference, or text with references in double braces.
    init(_ variable: EnvironmentFile.Variable) throws {
        name = variable.name
        text = variable.value
        let isReference = text.withBytes { bytes in
            Reference.schemes.contains { bytes.starts(with: $0.utf8) }
        }
        guard isReference else {
            pieces = try Template.pieces(text.secret)
            return
        }
        guard let whole = text.text else {
            throw CommandFailure(.usage, "the reference is not UTF-8; percent-encode it")
        }
        pieces = [.reference(try Reference(whole))]
    }

    var references: [Reference] {
        pieces.compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
    }

    /// Passes each part of the value to `body`, in order, together with whether the part comes from the vault.
    func parts(from vault: Vault?, _ body: (borrowing Secret, Bool) throws -> Void) throws {
        for piece in pieces {
            switch piece {
            case .text(let range):
                try body(text.withBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }, false)
            case .reference(let reference):
                guard let vault else { continue }
                let value = try reference.value(in: vault)
                guard !value.withUnsafeBytes({ $0.contains(0) }) else {
                    throw CommandFailure(
                        .unavailable,
                        "\(TerminalText.quoted(reference.text)) has a zero byte, which no variable can contain")
                }
                try body(value, true)
            }
        }
    }
}

/// The variables passed to a program in addition to those it inherits. If several sources set the same name, the last
/// one counts; the order is the environment, the files as given, then `--env`.
struct EnvironmentPlan {
    private(set) var variables: [PlannedVariable] = []

    init(options: [String], files: [String]) throws {
        try add(try Self.inherited())
        for path in files {
            for variable in try EnvironmentFile.variables(path) {
                try Self.naming("\(TerminalText.path(path)), line \(variable.line)") {
                    try add([PlannedVariable(variable)])
                }
            }
        }
        let own = try options.map(Self.option)
        var names: Set<String> = []
        for variable in own where !names.insert(variable.name).inserted {
            throw CommandFailure(
                .usage, "the variable \(TerminalText.quoted(variable.name)) is given twice; leave one out")
        }
        try add(own)
    }

    /// The variables that need the vault.
    var secret: [PlannedVariable] { variables.filter { !$0.references.isEmpty } }

    private mutating func add(_ new: [PlannedVariable]) throws {
        for variable in new {
            variables.removeAll { $0.name == variable.name }
            variables.append(variable)
        }
    }

    private static func option(_ text: String) throws -> PlannedVariable {
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw CommandFailure(.usage, "--env takes a variable and a reference: NAME=vaultfmt:SERVICE/ACCOUNT")
        }
        return PlannedVariable(
            String(text[..<sign]), try Reference(String(text[text.index(after: sign)...])))
    }

    /// Returns the variables of this process whose whole value is a reference, except those meant for this program.
    private static func inherited() throws -> [PlannedVariable] {
        var found: [PlannedVariable] = []
        var next = environ
        while let entry = next.pointee {
            next += 1
            guard let sign = strchr(entry, 0x3D), strncmp(sign + 1, Reference.scheme, Reference.scheme.utf8.count) == 0,
                strncmp(entry, "VAULTFMT_", 9) != 0
            else { continue }
            let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: sign - entry), as: UTF8.self)
            try naming("the variable \(TerminalText.quoted(name))") {
                found.append(PlannedVariable(name, try Reference(String(cString: sign + 1))))
            }
        }
        return found
    }

    /// Runs `body`, prefixing the message of a failure with the place.
    private static func naming(_ place: String, _ body: () throws -> Void) throws {
        do { try body() } catch let failure as CommandFailure {
            throw CommandFailure(failure.status, "\(place): \(failure.message)", code: failure.code)
        }
    }
}

/// The environment for a program: this process's environment without the factors of vaults, plus secrets.
struct SecretEnvironment: ~Copyable {
    /// "NAME=value" strings, each followed by a zero byte.
    private var text = SecretBuffer()
    private var names: Set<String> = []

    /// Adds a variable and returns the secrets in its value.
    mutating func add(_ variable: PlannedVariable, from vault: Vault?) throws -> [SharedSecret] {
        names.insert(variable.name)
        text.append(contentsOf: Array((variable.name + "=").utf8))
        var secrets: [SharedSecret] = []
        try variable.parts(from: vault) { part, isSecret in
            text.append(part)
            if isSecret { secrets.append(SharedSecret(part.copy())) }
        }
        text.append(0)
        return secrets
    }

    /// Replaces this process with another program; returns the error number if that fails.
    consuming func execute(_ command: [String]) -> Int32 {
        withVectors(command) { -vault_execute($0, $1) }
    }

    /// Starts another program, found in PATH; returns 0, or the error number.
    consuming func spawn(_ command: [String], _ actions: inout posix_spawn_file_actions_t, _ process: inout pid_t)
        -> Int32
    {
        let program = command.first ?? ""
        let failure = withVectors(command) { posix_spawnp(&process, program, &actions, nil, $0, $1) }
        guard failure == ENOEXEC, let path = program.contains("/") ? program : Subprocess.find(program) else {
            return failure
        }
        // The file is a script without "#!", which execvpe would also pass to the shell.
        let words = ["/bin/sh", path] + command.dropFirst()
        return withVectors(words) { posix_spawn(&process, words[0], &actions, nil, $0, $1) }
    }

    /// Passes the arguments and variables to a closure in the form the system calls take.
    private mutating func withVectors(
        _ command: [String],
        _ body: ([UnsafeMutablePointer<CChar>?], [UnsafeMutablePointer<CChar>?]) -> Int32
    ) -> Int32 {
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
            return body(arguments, variables)
        }
    }
}
