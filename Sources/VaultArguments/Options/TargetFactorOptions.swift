package import ArgumentParser
import VaultConsole
import VaultFmt
package import VaultLocal

/// The factors of a second vault.
package struct TargetFactorOptions: ParsableArguments {
    @Option("Read the other vault's passphrase from a file.", isFile: true)
    var toPassphraseFile: String?

    @Option("The other vault's key file.", isFile: true)
    var toKeyFile: String?

    @Option("The other vault's raw key: a file of exactly 32 random bytes.", isFile: true)
    var toRawKeyFile: String?

    @Option("A file of age identities that open the other vault; may be repeated.", isFile: true)
    package var toIdentity: [String] = []

    package init() {}

    package func validate() throws {
        guard toIdentity.isEmpty || toRawKeyFile == nil else {
            throw ValidationError("--to-raw-key-file cannot be combined with --to-identity; leave one out")
        }
        guard toIdentity.isEmpty || toKeyFile == nil else {
            throw ValidationError("--to-key-file cannot be combined with --to-identity; leave one out")
        }
    }

    package var isAnyGiven: Bool { sources.isAnyGiven || !toIdentity.isEmpty }

    /// The second vault's factors. They never come from the environment, which provides the first vault's factors.
    package var sources: FactorSources {
        FactorSources(
            passphraseFile: toPassphraseFile, keyFile: toKeyFile, rawKeyFile: toRawKeyFile, twin: .other)
    }

    func read(mayAsk: Bool) throws -> GivenFactors {
        var given = try whileOpening { try sources.read() }
        if !toIdentity.isEmpty {
            given.external = try IdentityFiles.factor(toIdentity, mayAsk: mayAsk)
            given.named.insert(.external)
        }
        return given
    }
}
