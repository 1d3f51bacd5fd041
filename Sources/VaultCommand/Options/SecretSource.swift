import ArgumentParser
import Glibc
import VaultFmt
import VaultLocal

/// Where a secret that is to be stored comes from: a file, a generator, a pipe, or a hidden prompt; never an argument.
struct SecretSource: ParsableArguments {
    @Option("Take a file's bytes, exactly.", isFile: true)
    var secretFile: String?

    @Option(
        defaultAsFlag: PasswordGenerator.standardLength, parsing: .next,
        help: ArgumentHelp("Make up a random password, as 'vaultfmt generate' does.", valueName: "length"))
    var generate: Int?

    @Flag(help: "Keep the newline at the end of piped input.")
    var exact = false

    @Flag(help: "Accept an empty secret, and an empty name.")
    var allowEmpty = false

    func validate() throws {
        guard secretFile == nil || generate == nil else {
            throw ValidationError("--secret-file and --generate exclude each other; give one")
        }
        if let generate, !(1...4096).contains(generate) {
            throw ValidationError("--generate takes a length of 1 to 4096")
        }
    }

    /// Fails early where there would be no secret to read.
    /// - `access`: Whose `--passphrase-fd` may be standard input too, and whose `--no-input` forbids asking.
    func check(_ access: AccessOptions) throws {
        guard generate == nil, secretFile == nil else { return }
        guard access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot give both passphrase and secret; give one of them from a file")
        }
        guard !(Terminal.inputIsTerminal && access.noInput) else {
            throw CommandFailure(.usage, "no secret is given and --no-input forbids asking; \(Self.instead)")
        }
    }

    /// Whether the secret is asked for on the terminal.
    var asks: Bool { generate == nil && secretFile == nil && Terminal.inputIsTerminal }

    /// Refuses a name without a service or a server, unless it is wanted: it is a mistake in a script as a rule.
    func check(_ key: ItemKey) throws {
        guard !allowEmpty, let name = key.service ?? key.server, name.isEmpty else { return }
        throw CommandFailure(
            .usage, "the \(key.service == nil ? "server" : "service") is empty; name it, or give --allow-empty")
    }

    /// Reads or makes the secret; an empty one is refused, unless it is wanted.
    /// - `item`: What it is for, as a person knows it.
    func read(for item: String) throws -> Secret {
        let secret = try readAny(for: item)
        guard secret.count > 0 || allowEmpty else {
            throw CommandFailure(
                .usage, "the secret is empty, so nothing was stored; give --allow-empty if it is meant to be")
        }
        return secret
    }

    private func readAny(for item: String) throws -> Secret {
        if let generate { return PasswordGenerator.password(length: generate) }
        if let secretFile { return try Descriptor.readFile(secretFile, what: "secret file", limit: Self.longest) }
        if asks { return try Prompt.newSecret("Secret for \(item)", instead: Self.instead) }
        let secret = try Descriptor.readAll(STDIN_FILENO, name: "the secret on standard input", limit: Self.longest)
        return exact ? secret : FactorInput.withoutLineEnd(secret)
    }

    private static let instead = "pipe the secret in, or give --secret-file or --generate"
    private static let longest = 16 << 20
}
