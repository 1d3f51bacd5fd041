import KeychainAccess
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
