import Testing
import VaultFmt

@testable import VaultCommand
@testable import VaultExchange

/// The decrypted contents of a vault's KDBX export, for tests that change what another program would.
struct ExportedContents {
    /// What precedes the XML.
    let start: [UInt8]
    let xml: String

    /// Exports the vault of a sandbox.
    init(of sandbox: Sandbox) throws {
        let passphrase = try sandbox.write("kdbx-passphrase", "kdbx".utf8)
        try sandbox.ok(
            "export", "--format", "kdbx", "--output", "out.kdbx", "--new-passphrase-file", passphrase, "--kdf",
            "testing")
        try ForeignLibrary.gcrypt.load()
        let key = try KDBXKey(passphrase: Secret(text: "kdbx"), keyFile: nil)
        let file = try KDBXFile.open(Array(try sandbox.read("out.kdbx")), key: key, limits: ReaderLimits())
        var unpacked: [UInt8] = []
        try file.unpacked { unpacked += Array($0) }
        guard let begin = unpacked.firstRange(of: Array("<?xml".utf8))?.lowerBound else {
            throw Failure("the export has no XML")
        }
        start = Array(unpacked[..<begin])
        xml = String(decoding: unpacked[begin...], as: UTF8.self)
    }
}
