import Foundation
import Testing

/// One source for each importer, as the sweeps take it apart.
struct ImportSample {
    let name: String
    let bytes: [UInt8]
    let options: [String]

    /// The names of all samples.
    static let names = [
        "csv", "enpass", "json", "bitwarden", "bitwarden-protected", "pem", "openssh", "openssh-encrypted", "kdbx-3",
        "kdbx-4",
    ]

    private static let passphrases = [
        "bitwarden-protected": "correct horse battery staple", "openssh-encrypted": "pass",
    ]
    private static let files = [
        "csv": "Vendors/protonpass.csv", "enpass": "Vendors/enpass.csv", "bitwarden": "Vendors/bitwarden.json",
        "bitwarden-protected": "Vendors/bitwarden-pbkdf2-5000.json", "kdbx-3": "KDBX/3.1-keepassxc.kdbx",
        "kdbx-4": "KDBX/4.0-chacha20-argon2-gzip-passphrase.kdbx",
    ]

    /// Finds or makes a sample; its passphrase is left in a file of the sandbox.
    init(_ name: String, in sandbox: Sandbox) throws {
        self.name = name
        let passphrase = Self.passphrases[name] ?? ImportKDBXTests.passphrase
        options = ["--source-passphrase-file", try sandbox.write("\(name)-passphrase", passphrase.utf8)]
        if let file = Self.files[name] {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            bytes = Array(try Data(contentsOf: folder.appendingPathComponent("Samples/\(file)")))
            return
        }
        switch name {
        case "json":
            try sandbox.ok("set", "svc", "ann", "--label", "é", "--attribute", "notes=n", input: "one".utf8)
            try sandbox.ok("set", "svc", "ann", input: "two".utf8)
            try sandbox.ok("set", "--server", "a.example", "--account", "bob", input: [0xFF, 0])
            bytes = try sandbox.ok("export").bytes
        case "pem":
            try Self.made(
                sandbox, "/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3", "-subj",
                "/CN=a.example", "-keyout", sandbox.path("a.key"), "-out", sandbox.path("a.crt"))
            bytes = try sandbox.read("a.crt") + sandbox.read("a.key")
        default:
            let isEncrypted = name == "openssh-encrypted"
            try Self.made(
                sandbox, "/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", isEncrypted ? passphrase : "",
                "-f", sandbox.path(name))
            bytes = try sandbox.read(name)
        }
    }

    private static func made(_ sandbox: Sandbox, _ program: String, _ arguments: String...) throws {
        let run = try sandbox.run(arguments, program: program)
        guard run.status == 0 else { throw Failure("\(program): \(run.error)") }
    }
}
