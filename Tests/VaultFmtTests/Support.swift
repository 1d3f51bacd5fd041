import Foundation
import TestSupport
import Testing
import VaultBytes

@testable import VaultFmt

extension Numbers {
    /// Bytes that repeat after a while: quicker to make.
    mutating func pattern(_ count: Int) -> [UInt8] {
        let part = bytes(min(count, 24))
        var out: [UInt8] = []
        out.reserveCapacity(count)
        while out.count < count { out.append(contentsOf: part.prefix(count - out.count)) }
        return out
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}

/// One item with everything that can be read of it.
struct Contents: Equatable {
    var secret: [UInt8]
    var attributes: [[UInt8]: [UInt8]]
    var accessibility: Accessibility
    var created: Int64?
    var modified: Int64?
}

/// Everything that can be read of a vault.
typealias Dump = [ItemKey: Contents]

extension Vault {
    /// Everything in the vault; items whose secret is refused throw.
    func dump() throws -> Dump {
        var all: Dump = [:]
        var cursor = try items()
        while let item = try cursor.next() {
            let opened = try open(item)
            var contents = Contents(opened)
            for attribute in item.attributes.all where contents.attributes[Array(attribute.name.utf8)] == nil {
                contents.attributes[Array(attribute.name.utf8)] = try self.attribute(attribute.name, of: item)?.array
            }
            all[item.key] = contents
        }
        return all
    }

    /// One item with everything; nil if there is none.
    func contents(of key: ItemKey) throws(VaultError) -> Contents? {
        guard let opened = try get(key) else { return nil }
        var contents = Contents(opened)
        for attribute in opened.item.attributes.all where !attribute.isRead {
            contents.attributes[Array(attribute.name.utf8)] = try self.attribute(attribute.name, of: opened.item)?.array
        }
        return contents
    }

    /// Adds or replaces an item with a text as its secret.
    func put(_ key: ItemKey, _ secret: String) throws { try set(key, secret: Secret(text: secret)) }
}

extension Transaction {
    /// One item with everything, as the transaction sees it; nil if there is none.
    func contents(of key: ItemKey) throws(VaultError) -> Contents? {
        guard let opened = try get(key) else { return nil }
        return Contents(opened)
    }
}

/// A change that sets these attributes.
func setting(_ attributes: Attributes) -> AttributeChanges { AttributeChanges(set: attributes) }

extension Contents {
    init(_ opened: borrowing OpenedItem) {
        var attributes: [[UInt8]: [UInt8]] = [:]
        opened.item.attributes.forEach { attributes[Array($0.utf8)] = $1 }
        self.init(
            secret: opened.secret.array, attributes: attributes, accessibility: opened.item.accessibility,
            created: opened.item.created,
            modified: opened.item.modified)
    }
}

/// Expects a failure with this code; gives the error back for a closer look.
@discardableResult
func fails(
    _ code: VaultError.Code, _ phrase: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> VaultError? {
    do {
        try body()
        Issue.record("succeeded, where \(code) should be thrown", sourceLocation: sourceLocation)
    } catch let error as VaultError {
        #expect(error.code == code, "\(error.code): \(error)", sourceLocation: sourceLocation)
        #expect(
            phrase.isEmpty || error.detail.contains(phrase), "another reason: \(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// A file's bytes.
func wholeContents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

/// A file's bytes, without a reserve of zeros.
func contents(_ path: String) throws -> [UInt8] {
    let bytes = try wholeContents(path)
    guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return bytes }
    return Array(bytes[..<min(bytes.count, (last + 512) / 512 * 512)])
}

/// Writes a file's bytes into the same inode, or a new file.
func write(_ bytes: [UInt8], _ path: String) throws {
    if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
}

extension Folder {
    /// The names of all files in it, sorted.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

/// A frame as it stands in a file.
struct FrameInFile {
    let type: FrameType
    let range: Range<Int>
}

/// Where the first object of a vault's bytes starts.
func bodyStart(_ bytes: [UInt8]) throws -> Int { 2 * (try Header.length(Array(bytes[..<16]).span)) }

/// All frames of a sound vault file, in order.
func frames(_ bytes: [UInt8]) throws -> [FrameInFile] {
    var all: [FrameInFile] = []
    var position = try bodyStart(bytes)
    while position < bytes.count {
        if bytes[position] == 0 {
            position = (position / 512 + 1) * 512
            continue
        }
        let head = try FrameHead(Array(bytes[position..<position + 8]).span, at: UInt64(position))
        all.append(FrameInFile(type: head.type, range: position..<position + head.length))
        position += head.length
    }
    return all
}

/// The newest commit of a sound vault that opens with the usual raw key.
func newestCommit(_ path: String) throws -> Commit {
    let vault = try Fast.open(path, writable: false)
    return try vault.withCore { (core) throws(VaultError) in core.store.state.commit }
}
