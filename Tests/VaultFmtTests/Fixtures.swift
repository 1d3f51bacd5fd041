import Foundation
import TestSupport
import Testing

@testable import VaultFmt

typealias Folder = TestSupport.Folder
typealias Numbers = TestSupport.Numbers

/// Vaults that open fast.
enum Fast {
    static func factors(_ passphrase: String = "correct horse") throws -> Factors {
        try Factors(passphrase: Secret(text: passphrase))
    }

    static func rawKey(_ byte: UInt8 = 0x2B) throws -> Factors {
        let bytes = [UInt8](repeating: byte, count: 32)
        return try Factors(rawKey: Secret(bytes: bytes))
    }

    static func create(_ path: String, device: consuming Device? = nil) throws -> Vault {
        var options = CreateOptions()
        options.device = device
        return try Vault.create(at: path, factors: try rawKey(), options: options)
    }

    static func open(_ path: String, writable: Bool = true, device: consuming Device? = nil) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        options.device = device
        return try Vault.open(path, factors: try rawKey(), options: options)
    }
}

extension Secret {
    var array: [UInt8] {
        borrowing get { withUnsafeBytes { Array($0) } }
    }
}

extension Vault {
    /// A secret as text, nil if there is no such item.
    func text(_ key: ItemKey) throws -> String? {
        guard let opened = try get(key) else { return nil }
        return String(decoding: opened.secret.array, as: UTF8.self)
    }

    func allItems() throws -> [Item] {
        var cursor = try items()
        var all: [Item] = []
        while let item = try cursor.next() { all.append(item) }
        return all
    }
}

func password(_ service: String, _ account: String = "") throws(VaultError) -> ItemKey {
    try .genericPassword(service: service, account: account)
}

extension Folder {
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }

    func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: file(name))) }
}
