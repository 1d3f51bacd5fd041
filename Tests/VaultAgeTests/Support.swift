import Foundation
import TestSupport
import VaultCrypto

@testable import VaultAge

/// Programs that tests run; Tools/setup --tests installs what is not ours.
enum Program {
    /// A program of this folder's.
    static func ours(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Programs/\(name)").path
    }

    /// PyPI's pyrage, by the Python that Tools/setup --tests makes.
    static func pyrage(_ words: String...) throws -> [UInt8] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try run(words: [root.appendingPathComponent(".python/bin/python").path, ours("pyrage-tool")] + words)
    }

    /// What a program prints; it must succeed.
    @discardableResult
    static func run(_ words: String..., path: String? = nil) throws -> [UInt8] { try run(words: words, path: path) }

    @discardableResult
    static func run(words: [String], path: String? = nil) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        if let path {
            process.environment = ProcessInfo.processInfo.environment.merging(["PATH": path]) { $1 }
        }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ProgramFailed(words: words, code: process.terminationStatus) }
        return Array(bytes)
    }
}

struct ProgramFailed: Error {
    let words: [String]
    let code: Int32
}

extension Folder {
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }

    func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: file(name))) }

    /// What a file has for a user who names it as an identity.
    func identityFile(_ name: String) throws -> IdentityFile { try IdentityFile.read(Secret(bytes: read(name))) }
}

extension Secret {
    borrowing func bytes() -> [UInt8] { withUnsafeBytes { Array($0) } }
}

extension Identity {
    /// The file key of some stanzas, as bytes; nil if this identity does not open them.
    func opened(_ stanzas: [Stanza]) throws -> [UInt8]? {
        guard let key = try unwrap(stanzas) else { return nil }
        return key.secret.bytes()
    }
}
