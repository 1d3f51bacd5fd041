import ArgumentParser
import Glibc
import VaultFmt

/// Where a secret that is to be stored comes from: a file, a generator, a pipe, or a hidden prompt; never an argument.
struct SecretSource: ParsableArguments {
    @Option(parsing: .unconditional, help: "Take a file's bytes, exactly.", completion: .file())
    var secretFile: String?

    @Option(
        defaultAsFlag: ArgumentSpelling.generatedLength, parsing: .next,
        help: ArgumentHelp("Make up a random password of letters and digits.", valueName: "length"))
    var generate: Int?

    @Flag(help: "Keep the newline at the end of what a pipe gives.")
    var exact = false

    func validate() throws {
        guard secretFile == nil || generate == nil else {
            throw ValidationError("--secret-file and --generate exclude each other; give one")
        }
        if let generate, !(8...4096).contains(generate) { throw ValidationError("--generate takes a length of 8 to 4096") }
    }

    /// Reads or makes the secret.
    /// - Parameters:
    ///   - item: What it is for, as a person knows it.
    ///   - access: Whose `--passphrase-fd` may be standard input too, and whose `--no-input` forbids asking.
    func read(for item: String, _ access: AccessOptions) throws(CommandFailure) -> Secret {
        if let generate { return Self.random(length: generate) }
        if let secretFile { return try Descriptor.readFile(secretFile, what: "secret file", limit: Self.longest) }
        if Terminal.inputIsTerminal {
            let instead = "pipe the secret in, or give --secret-file or --generate"
            guard !access.noInput else { throw CommandFailure(.usage, "no secret is given and --no-input forbids asking; \(instead)") }
            return try Prompt.newSecret("Secret for \(item)", instead: instead)
        }
        guard access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(.usage, "standard input cannot give both passphrase and secret; give one of them from a file")
        }
        let secret = try Descriptor.readAll(STDIN_FILENO, name: "the secret on standard input", limit: Self.longest)
        return exact ? secret : FactorSources.withoutNewline(secret)
    }

    /// Letters and digits, each as likely as every other: 5.95 bits a character.
    private static func random(length: Int) -> Secret {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var password = Secret(count: length)
        var filled = 0
        while filled < length {
            let bytes = Secret.random(count: 256)
            bytes.withUnsafeBytes { random in
                password.withUnsafeMutableBytes { target in
                    // Only values below a multiple of 62 are used, so that no character is more likely.
                    for byte in random where byte < 248 && filled < length {
                        target[filled] = alphabet[Int(byte) % alphabet.count]
                        filled += 1
                    }
                }
            }
        }
        return password
    }

    private static let longest = 16 << 20
}
