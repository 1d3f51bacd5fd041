import Foundation
import KeychainAccess
import KeychainCore
import Synchronization
import TestSupport
import Testing
import VaultFmt

typealias Folder = TestSupport.Folder

/// Everything here uses the one vault that a process's Keychain calls work on, so one test runs at a time.
@Suite("The Keychain's APIs", .serialized)
struct KeychainTests {}

/// A raw key: no key derivation.
func rawKey(_ byte: UInt8 = 0x2B) throws -> Factors {
    var key = Secret(count: 32)
    key.withUnsafeMutableBytes { for index in 0..<32 { $0[index] = byte } }
    return try Factors(rawKey: key)
}

/// A vault in a folder, opened for changing.
func openVault(_ path: String, key: UInt8 = 0x2B, writable: Bool = true, device: consuming Device? = nil) throws
    -> Vault
{
    var options = OpenOptions()
    options.writable = writable
    options.device = device
    return try Vault.open(path, factors: try rawKey(key), options: options)
}

/// What a test's calls said.
final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }
}

/// A vault that the calls of a test work on, and what they say.
struct Used {
    let folder: Folder
    let vault: Vault
    let said = Lines()

    var path: String { vault.path }

    init(device: consuming Device? = nil) throws {
        folder = try Folder()
        var options = CreateOptions()
        options.device = device
        vault = try Vault.create(at: folder.file("a.vault"), factors: try rawKey(), options: options)
        use(vault)
        Keychain.authenticate = nil
    }

    /// Makes the calls work on another vault, or on this one opened otherwise.
    func use(_ vault: Vault) {
        Keychain.configure(vault: vault)
        let said = said
        Keychain.noticeHandler = { said.add($0) }
    }
}

/// Checks that something throws this status, and that it was said why.
func fails(
    _ status: Status, saying text: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    #expect(throws: status, sourceLocation: sourceLocation, performing: body)
    #expect(Keychain.lastFailure?.contains("(\(status.rawValue))") == true, sourceLocation: sourceLocation)
    if !text.isEmpty {
        #expect(
            Keychain.lastFailure?.contains(text) == true, "\(Keychain.lastFailure ?? "")",
            sourceLocation: sourceLocation)
    }
}

extension ItemCursor {
    /// How many there are from here on.
    var count: Int {
        get throws {
            var rest = self
            var count = 0
            while try rest.next() != nil { count += 1 }
            return count
        }
    }
}
