import Foundation
import Testing
import VaultFmt

/// `Tests/SpecReader/read_vault.py`: a reader that was written from the specification alone.
enum SpecReader {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// What it writes; it refuses a vault with an exit status and a line on standard error, which goes to the test's.
    static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", root.appendingPathComponent("Tests/SpecReader/read_vault.py").path] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What it reads of a vault.
    static func read(_ path: String, _ arguments: [String]) throws -> Reading {
        try JSONDecoder().decode(Reading.self, from: Data(run([path] + arguments).utf8))
    }

    struct Reading: Decodable {
        let id: String
        let generation: UInt64
        let chain: String
        let commits: UInt64
        let tail: Int
        let incomplete: UInt64?
        let levels: Int
        let slots: [String]?
        let items: [ReadItem]
    }

    /// An item, as both the reader and the library give it; bytes in hexadecimal.
    struct ReadItem: Decodable, Equatable {
        let id: String
        let `class`: String
        let group: String
        let synchronizable: Bool
        let accessibility: UInt8
        let revision: UInt64
        let created: Int64
        let modified: Int64
        var attributes: [String: String]
        let secret: String?
        var service: String?
        var server: String?
        var account: String?
        var `protocol`: String?
        var port: UInt32?
        var path: String?
        var securityDomain: String?
        var authenticationType: String?
        var type: UInt32?
        var issuer: String?
        var serialNumber: String?
        var keyClass: UInt32?
        var keyType: UInt32?
        var applicationLabel: String?
        var applicationTag: String?
        var sizeInBits: UInt32?
        var effectiveSize: UInt32?
    }
}

/// A folder of its own for one test, removed with it.
final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("vaultfmt-spec-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit {
        // A folder that cannot be removed is left to the system's own tidying.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

extension Secret {
    /// Bytes that are no secret but of a test.
    init(_ bytes: [UInt8]) {
        self.init(count: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }
}
