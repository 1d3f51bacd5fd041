import ArgumentParser
import VaultAge
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `generate`: generates passwords, passphrases, key files and age identities.
struct Generate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate a password, passphrase, key or age identity.",
        discussion: """
            A password contains at least one character of each allowed kind. All possible passwords are equally \
            likely; the entropy in bits is written to standard error. Nothing is stored; to store the result, use \
            'vaultfmt set --generate'.

            Examples:
              vaultfmt generate --length 24 --no-symbols
              vaultfmt generate --words 6
              vaultfmt generate --key-file ~/vault.key
              vaultfmt generate --identity ~/alice.txt
            """)

    @OptionGroup var options: GeneratorOptions

    @Option("Create a key file instead, readable only by you; existing files are never overwritten.", isFile: true)
    var keyFile: String?

    @Option("Create a file with an age identity instead and show its public key.", isFile: true)
    var identity: String?

    @Flag(help: "With --identity: create a post-quantum identity.")
    var pq = false

    @Flag(help: "Print a JSON object: the secret and its entropy in bits, or the file's path and its public key.")
    var json = false

    func validate() throws {
        guard identity == nil || (keyFile == nil && !options.isGiven) else {
            throw ValidationError("--identity cannot be combined with options for other secrets; leave them out")
        }
        guard identity != nil || !pq else { throw ValidationError("--pq requires --identity; add it") }
        guard keyFile == nil || !options.isGiven else {
            throw ValidationError(
                "the options for passwords, words and key files cannot be combined; use only one kind")
        }
    }

    func run() throws {
        if let keyFile { return try makeKeyFile(keyFile) }
        if let identity { return try makeIdentity(identity) }
        let made = try options.generate()
        try write(made)
        Terminal.note("\(made.description): \(made.bitsText) bits of entropy")
    }

    private func makeKeyFile(_ path: String) throws {
        try NewFile.create(path, what: "key file", KeyFile.generate())
        if json {
            var writer = JSONWriter(Output.standard())
            try writer.object { writer in try writer.member("keyFile", path) }
            try writer.finish()
        }
        Terminal.note(
            "created the key file \(TerminalText.path(path)); keep a copy elsewhere: the vault cannot be opened without it"
        )
    }

    private func makeIdentity(_ path: String) throws {
        let made = try NewIdentity(isPostQuantum: pq)
        try NewFile.create(path, what: "identity file", made.fileText)
        if json {
            var writer = JSONWriter(Output.standard())
            try writer.object { writer in
                try writer.member("identityFile", path)
                try writer.member("publicKey", made.publicKey)
            }
            try writer.finish()
        } else {
            let output = Output.standard()
            try output.line(made.publicKey)
            try output.flush()
        }
        Terminal.note(
            "created the identity file \(TerminalText.path(path)); only this file can decrypt data encrypted to its public key"
        )
    }

    private func write(_ made: borrowing GeneratedSecret) throws {
        guard !json else {
            var writer = JSONWriter(Output.standard())
            let copy = made.secret.copy()
            try writer.object { writer in
                try writer.member("secret", copy)
                try writer.member("bits", Int(made.bits))
            }
            return try writer.finish()
        }
        let output = Output.standard()
        try output.write(made.secret)
        try output.write(byte: 0x0A)
        try output.flush()
    }
}
