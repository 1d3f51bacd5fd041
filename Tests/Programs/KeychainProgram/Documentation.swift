import Foundation
import KeychainAccess
import VaultAge
import VaultFmt
import VaultLocal

// The programs of the README and of the guide, word for word: Tests/Pages compares them.

/// The README's.
func passwords() throws {
    let keychain = Keychain(service: "com.example.app")
    try keychain.set("s3cret", key: "ann")
    print(keychain["ann"] ?? "nothing")
}

/// The guide's.
func configure(_ factors: borrowing Factors) throws {
    var options = OpenOptions()
    options.writable = true
    let machine = try Machine { print($0.text) }
    Keychain.configure(vault: try machine.open("/var/lib/app/app.vault", factors: factors, options: options))
}

/// That of Docs/recipients.md.
func open(_ path: String, identityFile: String) throws -> Vault {
    let text = try String(contentsOfFile: identityFile, encoding: .utf8)
    guard case .identities(let all) = try IdentityFile.read(Secret(text: text)) else {
        throw CocoaError(.fileReadCorruptFile)
    }
    let identities = all.compactMap { if case .native(let identity) = $0 { identity } else { nil } }
    let factors = try Factors(external: AgeFactor(identities: identities))
    var options = OpenOptions()
    options.writable = true
    return try Machine { print($0.text) }.open(path, factors: factors, options: options)
}
