package import VaultBytes
package import VaultCrypto
internal import VaultStore

/// Takes a vault apart into plaintext, lets every part be changed, and puts it together again with right seals, MACs, hashes and digests, all the way up.
///
/// Without a change the same bytes come out. A change is made at a stage (`ForgedObject`), so that just that is wrong which is meant to be.
package struct Forge {
    package var header: Header
    /// On the header before its MACs.
    package var editHeader: [(inout [UInt8]) throws -> Void] = []
    /// On the header with its MACs, before commits take its hash.
    package var editHeaderSealed: [(inout [UInt8]) throws -> Void] = []
    /// On the header after everything.
    package var editHeaderWritten: [(inout [UInt8]) throws -> Void] = []

    package var keys: ForgeKeys
    /// In the order of the file.
    package var objects: [ForgedObject]
    /// What stands after the last frame.
    package var tail: [UInt8]

    let originalHeader: [UInt8]
    private var nextID: Int

    /// Takes a file apart with the factors of a full slot, and the secrets of devices that it has compartments for.
    package init(_ file: [UInt8], _ factors: borrowing FactorKeys, devices: [Bytes16: [UInt8]] = [:]) throws {
        let length = try Header.regionLength(file.span)
        guard length <= file.count else { throw ForgeError("the header is cut off") }
        let region = Array(file[..<length])
        let header = try Header(region.span)
        originalHeader = region
        self.header = header
        keys = try ForgeKeys(header, region, factors)
        keys.devices = devices
        let taken = try TakenApart(file, from: length, &keys)
        objects = taken.objects
        tail = taken.tail
        nextID = objects.count
    }

    // MARK: finding

    package func all(_ type: FrameType) -> [ForgedObject.ID] { objects.filter { $0.type == type }.map(\.id) }

    package func first(_ type: FrameType) throws -> ForgedObject.ID {
        guard let id = all(type).first else { throw ForgeError("no \(type.name)") }
        return id
    }

    package func last(_ type: FrameType) throws -> ForgedObject.ID {
        guard let id = all(type).last else { throw ForgeError("no \(type.name)") }
        return id
    }

    /// An object by its id.
    package subscript(_ id: ForgedObject.ID) -> ForgedObject {
        get { objects[position(id)] }
        set { objects[position(id)] = newValue }
    }

    private func position(_ id: ForgedObject.ID) -> Int {
        guard let position = objects.firstIndex(where: { $0.id == id }) else { preconditionFailure("no object \(id)") }
        return position
    }

    /// The newest commit's root page.
    package func root() throws -> ForgedObject.ID {
        let commit = try commit(try last(.commit))
        guard let root = commit.root, let id = objects.first(where: { $0.origin == root.ref.offset })?.id else {
            throw ForgeError("the tree is empty")
        }
        return id
    }

    package func commit(_ id: ForgedObject.ID) throws -> Commit { try Commit(self[id].body.span, at: self[id].origin ?? 0) }

    // MARK: changing what is there

    /// Adds a new object before another; its body is made when the file is put together.
    @discardableResult
    package mutating func insert(
        _ type: FrameType, before other: ForgedObject.ID, nonce: [UInt8], _ body: @escaping (ForgeLayout) throws -> [UInt8]
    ) -> ForgedObject.ID {
        var object = ForgedObject(id: nextID, type: type, origin: nil, nonce: nonce, body: [])
        object.editBody.append { bytes, layout in bytes = try body(layout) }
        objects.insert(object, at: position(other))
        nextID += 1
        return object.id
    }

    /// Adds a frame as it is before another.
    package mutating func insert(frame: [UInt8], _ type: FrameType, before other: ForgedObject.ID) {
        var object = ForgedObject(id: nextID, type: type, origin: nil, nonce: [], body: [])
        object.opaque = frame
        objects.insert(object, at: position(other))
        nextID += 1
    }

    package mutating func remove(_ id: ForgedObject.ID) { objects.remove(at: position(id)) }

    package mutating func onBody(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8], ForgeLayout) throws -> Void) {
        self[id].editBody.append(edit)
    }

    package mutating func onRecipe(_ id: ForgedObject.ID, _ edit: @escaping (inout SealRecipe, ForgeLayout) throws -> Void) {
        self[id].editRecipe.append(edit)
    }

    package mutating func onSealed(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8]) throws -> Void) {
        self[id].editSealed.append(edit)
    }

    package mutating func onReferenced(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8]) throws -> Void) {
        self[id].editReferenced.append(edit)
    }

    package mutating func onWritten(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8]) throws -> Void) {
        self[id].editWritten.append(edit)
    }

    /// Changes the zeros before a commit.
    package mutating func onPadding(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8]) throws -> Void) {
        self[id].editPadding.append(edit)
    }

    /// Changes what a commit says.
    package mutating func onCommit(_ id: ForgedObject.ID, _ edit: @escaping (inout Commit, ForgeLayout) throws -> Void) {
        onBody(id) { bytes, layout in
            var commit = try Commit(bytes.span, at: layout.offset)
            try edit(&commit, layout)
            bytes = commit.encode()
        }
    }

    /// Changes the entries of a page, which is then encoded as it must be.
    package mutating func onEntries(
        _ id: ForgedObject.ID, _ edit: @escaping (inout [PageEntry], ForgeLayout) throws -> Void
    ) {
        onBody(id) { bytes, layout in
            var entries = try PageEntry.all(bytes, at: layout.offset)
            try edit(&entries, layout)
            bytes = PageEntry.encode(entries, level: bytes[0])
        }
    }

    /// Changes a keyring.
    package mutating func onKeyring(_ id: ForgedObject.ID, _ edit: @escaping (inout Keyring) throws -> Void) {
        onBody(id) { bytes, layout in
            var ring = try Keyring(bytes.span, at: layout.offset)
            try edit(&ring)
            bytes = try ring.encode()
        }
    }
}

/// A key and value of a leaf, or a separator and child of an inner page (whose first separator is empty).
package struct PageEntry {
    package var key: [UInt8]
    package var value: [UInt8]

    package init(key: [UInt8], value: [UInt8]) {
        self.key = key
        self.value = value
    }

    package static func all(_ body: [UInt8], at offset: UInt64) throws -> [PageEntry] {
        let layout = try PageLayout(body.span, at: offset)
        return layout.entries.enumerated().map { index, entry in
            let isKeyed = layout.isLeaf || index > 0
            return PageEntry(key: isKeyed ? Array(body[layout.prefix] + body[entry.rest]) : [], value: Array(body[entry.value]))
        }
    }

    /// A leaf's or inner page's value: both begin with offset, length and hash.
    package static func withReference(_ value: [UInt8], _ change: (ObjectRef) throws -> ObjectRef) throws -> [UInt8] {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        let offset: UInt64
        let length: UInt64
        let hash: Bytes32
        do {
            offset = try cursor.varint(value.span)
            length = try cursor.varint(value.span)
            hash = try cursor.bytes32(value.span)
        } catch { return value }
        guard let size = Int(exactly: length) else { return value }
        let ref = try change(ObjectRef(offset: offset, length: size, hash: hash))
        return PageBuilder.child(ref) + value[cursor.position...]
    }

    package static func encode(_ entries: [PageEntry], level: UInt8) -> [UInt8] {
        var page = PageBuilder(level: level)
        for entry in entries { page.append(entry.key, entry.value) }
        return page.encode()
    }
}

/// The walk over a file's frames.
struct TakenApart {
    private(set) var objects: [ForgedObject] = []
    private(set) var tail: [UInt8] = []

    init(_ file: [UInt8], from start: Int, _ keys: inout ForgeKeys) throws {
        let frames = Self.frames(file, from: start)
        for frame in frames where frame.type == .keyring {
            let bytes = Array(file[frame.range])
            if let body = Self.open(bytes, .keyring, at: UInt64(frame.range.lowerBound), keys) {
                try keys.open(try Keyring(body.span, at: UInt64(frame.range.lowerBound)))
            }
        }
        for (id, frame) in frames.enumerated() {
            objects.append(Self.object(id, Array(file[frame.range]), frame.type, frame.range.lowerBound, keys))
        }
        tail = Array(file[(frames.last?.range.upperBound ?? start)...])
    }

    private static func frames(_ file: [UInt8], from start: Int) -> [(type: FrameType, range: Range<Int>)] {
        var all: [(type: FrameType, range: Range<Int>)] = []
        var position = start
        while file.count - position >= Format.frameHeadSize {
            if file[position] == 0 {
                let aligned = (position + Format.commitAlignment - 1) / Format.commitAlignment * Format.commitAlignment
                guard aligned > position, aligned < file.count, file[position..<aligned].allSatisfy({ $0 == 0 }) else { break }
                position = aligned
                continue
            }
            let head = Array(file[position..<position + Format.frameHeadSize])
            let type = UInt32(littleEndian: head.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
            let length = Int(UInt32(littleEndian: head.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }))
            guard let type = FrameType(rawValue: type), type.lengths.contains(length), length <= file.count - position else { break }
            all.append((type, position..<position + length))
            position += length
        }
        return all
    }

    private static func object(_ id: Int, _ frame: [UInt8], _ type: FrameType, _ offset: Int, _ keys: ForgeKeys) -> ForgedObject {
        let nonce = Array(frame[Format.frameHeadSize..<Format.bodyStart])
        var object = ForgedObject(id: id, type: type, origin: UInt64(offset), nonce: nonce, body: [])
        let body: [UInt8]?
        switch type {
        case .record:
            let (name, opened) = record(frame, keys)
            object.identity = name
            body = opened
        case .page: body = open(frame, .page, at: UInt64(offset), keys)
        case .keyring: body = open(frame, .keyring, at: UInt64(offset), keys)
        case .history: body = open(frame, .history, at: UInt64(offset), keys)
        case .commit: body = open(Array(frame[..<Format.commitMACStart]), .commit, at: UInt64(offset), keys)
        }
        if let body { object.body = body } else { object.opaque = frame }
        return object
    }

    private static func open(_ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64, _ keys: ForgeKeys) -> [UInt8]? {
        var out = Secret(count: frame.count - Format.sealOverhead)
        let key = Secret(bytes: keys.index)
        let sealing = Sealing(vault: keys.vault.words, random: .system)
        let isOpen = frame.withUnsafeBytes { frame in
            out.withUnsafeMutableBytes { out in
                do throws(CryptoError) {
                    try sealing.open(frame, as: kind, at: offset, key: key, into: out)
                    return true
                } catch { return false }
            }
        }
        return isOpen ? out.plain : nil
    }

    private static func record(_ frame: [UInt8], _ keys: ForgeKeys) -> (ForgedObject.RecordName, [UInt8]?) {
        let sealing = Sealing(vault: keys.vault.words, random: .system)
        let claimed = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: Secret(bytes: keys.locator)) }
        let name = ForgedObject.RecordName(
            item: Bytes16(high: claimed.item.0.bigEndian, low: claimed.item.1.bigEndian), revision: claimed.revision,
            compartment: claimed.compartment)
        guard let key = keys.compartments[claimed.compartment] else { return (name, nil) }
        var out = Secret(count: frame.count - Format.recordOverhead)
        let secret = Secret(bytes: key)
        let isOpen = frame.withUnsafeBytes { frame in
            out.withUnsafeMutableBytes { out in
                do throws(CryptoError) {
                    try sealing.openRecord(frame, claimed, key: secret, into: out)
                    return true
                } catch { return false }
            }
        }
        return (name, isOpen ? out.plain : nil)
    }
}
