package import ArgumentParser
import Glibc
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The source of a secret: a file, a generator, a pipe, or a hidden prompt, but never an argument.
package struct SecretSource: ParsableArguments {
    @Option("Use the exact bytes of a file.", value: "file", isFile: true)
    var secretFile: String?

    @Option(
        defaultAsFlag: PasswordGenerator.standardLength, parsing: .next,
        help: ArgumentHelp(
            "Generate a password, as 'vaultfmt generate' does; its options apply, and require this one.",
            valueName: "length"))
    var generate: Int?

    @OptionGroup(title: "Generator") var policy: GeneratorOptions

    @Flag(help: "Generate an age identity and show its public key.")
    var generateIdentity = false

    @Flag(help: "With --generate-identity, make it post-quantum.")
    var pq = false

    @Option("Generate an SSH key and show its public key.", value: "type")
    package var sshGenerate: SSHKeyKind?

    @Flag(help: "Ask for several lines; Ctrl-D on a line of its own ends the input.")
    var multiline = false

    @Flag(help: "Keep the newline at the end of a single line.")
    var exact = false

    @Flag(help: "Accept an empty secret or an empty name.")
    var allowEmpty = false

    package init() {}

    package func validate() throws {
        guard generateIdentity || !pq else { throw ValidationError("--pq requires --generate-identity; add it") }
        guard !generateIdentity || (secretFile == nil && !generates && !multiline) else {
            throw ValidationError(
                "--generate-identity cannot be combined with --generate, --secret-file or --multiline; use only one")
        }
        guard sshGenerate == nil || (secretFile == nil && !generates && !multiline && !generateIdentity) else {
            throw ValidationError(
                "--ssh-generate cannot be combined with --generate, --generate-identity, --secret-file or --multiline; use only one"
            )
        }
        guard secretFile == nil || !generates else {
            throw ValidationError("--secret-file and --generate cannot be combined; use only one")
        }
        if let generate, !(1...4096).contains(generate) {
            throw ValidationError("the length for --generate must be between 1 and 4096")
        }
        // At this point, --generate without a length has been replaced with the standard length.
        let isLengthGiven = generate.map { $0 != PasswordGenerator.standardLength } ?? false
        guard !isLengthGiven || (policy.length == nil && policy.words == nil) else {
            throw ValidationError("--generate=LENGTH cannot be combined with --length or --words; leave one out")
        }
        guard !multiline || (secretFile == nil && !generates) else {
            throw ValidationError("--multiline cannot be combined with --secret-file or --generate; leave one out")
        }
        // Otherwise, a secret that is piped in would be lost, and a random one stored in its place.
        if generate == nil, let option = policy.firstGiven {
            throw ValidationError("\(option) requires --generate; add it")
        }
    }

    /// Fails early if there would be no secret to read.
    /// - `access`: The access options, because `--passphrase-fd` may also use standard input, and `--no-input` forbids
    ///   prompts.
    package func check(_ access: AccessOptions) throws {
        guard !isStated else { return }
        guard access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot provide both the passphrase and the secret; read one of them from a file"
            )
        }
        guard !(Terminal.inputIsTerminal && access.noInput) else {
            throw CommandFailure(.usage, "no secret is given, and --no-input forbids prompting; \(Self.instead)")
        }
    }

    /// True if an option specifies the source of the secret.
    package var isStated: Bool { generates || generateIdentity || sshGenerate != nil || secretFile != nil }

    /// True if the secret is generated. An option of the generator alone is refused, but counts as `--generate` in the
    /// message about options that cannot be combined.
    private var generates: Bool { generate != nil || policy.isGiven }

    /// True if the user is prompted for the secret.
    package var asks: Bool { !isStated && Terminal.inputIsTerminal }

    /// Throws an error for a name without a service or a server, unless such a name is allowed: in a script, it is
    /// usually a mistake.
    package func check(_ key: ItemKey) throws {
        guard !allowEmpty, let name = key.service ?? key.server, name.isEmpty else { return }
        throw CommandFailure(
            .usage, "the \(key.service == nil ? "server" : "service") is empty; name it, or use --allow-empty")
    }

    /// Reads or generates the secret; an empty secret is rejected unless empty secrets are allowed.
    /// - `item`: A description of the item, for messages.
    package func read(for item: String) throws -> Secret {
        let secret = try readAny(for: item)
        guard secret.count > 0 || allowEmpty else {
            throw CommandFailure(
                .usage, "the secret is empty, so nothing was stored; use --allow-empty if it is meant to be")
        }
        return secret
    }

    private func readAny(for item: String) throws -> Secret {
        if generates {
            var policy = policy
            if policy.words == nil { policy.length = policy.length ?? generate }
            return try policy.generate().secret.copy()
        }
        if generateIdentity {
            let made = try NewIdentity(isPostQuantum: pq)
            Terminal.note("public key: \(made.publicKey)")
            return made.text.copy()
        }
        if sshGenerate != nil { return try NewSSHKey.generate() }
        if let secretFile { return try Descriptor.readFile(secretFile, what: "secret file", limit: Self.longest) }
        if asks && multiline {
            let text = try Prompt.secretText("Secret for \(item)", instead: Self.instead)
            return exact ? text : Self.withoutLoneLineEnd(text)
        }
        if asks { return try Prompt.newSecret("Secret for \(item)", instead: Self.instead) }
        let secret = try Descriptor.readAll(STDIN_FILENO, name: "the secret on standard input", limit: Self.longest)
        return exact ? secret : Self.withoutLoneLineEnd(secret)
    }

    /// Adds the attributes that describe a generated SSH key.
    /// - `item`: The item that will hold the key; nil if the item is new.
    /// - Returns: A note about the key to show after it is stored, if any.
    package func describe(
        _ secret: borrowing Secret, in values: inout Attributes, of key: ItemKey, _ item: Item? = nil
    ) throws -> String? {
        try sshGenerate == nil ? nil : NewSSHKey.describe(secret, in: &values, of: key, item)
    }

    /// Removes the line ending of a single line, which a shell's `echo` adds. A secret of several lines is kept
    /// unchanged, because it may be text that other programs need exactly, such as a private key.
    static func withoutLoneLineEnd(_ secret: consuming Secret) -> Secret {
        let lines = secret.withUnsafeBytes { bytes in bytes.count { $0 == 0x0A } }
        return lines == 1 ? FactorInput.withoutLineEnd(secret) : secret
    }

    private static let instead = "pipe the secret in, or use --secret-file or --generate"
    static let longest = 16 << 20
}
