import CTestSupport
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultFmt
import VaultStore

@testable import VaultLocal

typealias Folder = TestSupport.Folder

extension Folder {
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
    }
    func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(folder)).sorted()
    }
}

/// What machines have said.
final class Said: Sendable {
    private let lines = Mutex<[Notice]>([])
    var all: [Notice] { lines.withLock { $0 } }
    func hear(_ notice: Notice) { lines.withLock { $0.append(notice) } }
    var warnings: [String] { all.filter { $0.kind == .warning }.map(\.text) }
}

/// One of several machines that see the same vault.
struct Owner {
    let said = Said()
    let machine: Machine

    init(_ folder: Folder, _ name: String) {
        let places = Places(
            vault: folder.file("a.vault"), generatedKeyFile: folder.file("\(name).key"), stateFolder: folder.file(name))
        machine = Machine(places, notices: said.hear)
    }

    func open(key: UInt8 = 1, writable: Bool = true) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        return try machine.open(machine.places.vault, factors: Keys.raw(key), options: options)
    }

    /// What the machine remembers of the place of the vault.
    func remembered(asOwner isOwner: Bool = true) throws -> RememberedState? {
        try machine.remembered(try Vault.id(at: machine.places.vault), at: machine.places.vault, asOwner: isOwner)
    }

    /// The path of the file that remembers it.
    func entry() throws -> String {
        let path = try RealFileSystem().resolve(machine.places.vault)
        return machine.memory.remembered.file(try Vault.id(at: path), at: path, isOwner: true)
    }

    func create() throws -> Vault { try machine.create(at: machine.places.vault, factors: Keys.raw(1)) }

    func set(_ text: String) throws { try open().set(Keys.item, secret: Secret(text: text)) }
}

enum Keys {
    static var item: ItemKey { get throws { try .genericPassword(service: "svc") } }
    /// The same, where only errors of vaults are thrown.
    static var known: ItemKey { get throws(VaultError) { try .genericPassword(service: "svc") } }
    static func raw(_ number: UInt8) throws -> Factors {
        try Factors(rawKey: Secret(bytes: [UInt8](repeating: number, count: 32)))
    }
}

extension Vault {
    var text: String? {
        get throws {
            guard let opened = try get(Keys.item) else { return nil }
            return opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Rotates, keeping the slots of these raw keys.
    func rotate(keeping keys: UInt8...) throws {
        var rotation = try rotation()
        for key in keys { _ = try rotation.keep(try Keys.raw(key)) }
        _ = try rotation.run()
    }
}

/// The code of the error that a call throws.
func code(_ body: () throws -> Void) -> VaultError.Code? {
    do {
        try body()
        return nil
    } catch let error as VaultError { return error.code } catch { return nil }
}
