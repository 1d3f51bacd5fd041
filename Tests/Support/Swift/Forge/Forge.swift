package import VaultBytes

/// Takes a vault apart into plaintext, lets every part be changed, and puts it together again with right seals, MACs,
/// signatures, hashes and digests, all the way up.
///
/// Without a change the same bytes come out. A change is made at a stage (`ForgedObject`), so that only what is meant
/// to be wrong is wrong.
package struct Forge {
    package var header: Header
    /// On the header before its hash.
    package var editHeader: [(inout [UInt8]) throws -> Void] = []
    /// On the header with its hash, before the MAC.
    package var editHeaderHashed: [(inout [UInt8]) throws -> Void] = []
    /// On the header with hash and MAC, before its copy is made.
    package var editHeaderSealed: [(inout [UInt8]) throws -> Void] = []
    /// On the header's copy.
    package var editCopy: [(inout [UInt8]) throws -> Void] = []

    /// What slots are granted that the keyring does not list yet, or lists with other grants.
    package var grants: [Bytes16: [UInt64]] = [:]
    /// The slots that were in the header.
    let originalSlots: [Bytes16]

    package var keys: ForgeKeys
    /// In the order of the file.
    package var objects: [ForgedObject]
    /// What follows the last frame.
    package var tail: [UInt8]

    let originalLength: Int
    let originalHash: Bytes32
    private var nextID: Int

    /// Takes a file apart with the factors of a full slot, and the secrets of devices that it has compartments for.
    package init(_ file: [UInt8], _ factors: ForgeFactors, devices: [Bytes16: [UInt8]] = [:]) throws {
        let length = try Header.length(file.span)
        guard 2 * length <= file.count else { throw ForgeError("the header is truncated") }
        let region = Array(file[..<length])
        let header = try Header(region.span)
        self.header = header
        originalLength = length
        originalHash = try Header.proof(region.span).hash
        originalSlots = header.slots.map(\.id).sorted()
        keys = try ForgeKeys(header, factors)
        keys.devices = devices
        let taken = try TakenApart(file, from: 2 * length, &keys, isSigned: header.needsSignature)
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
        guard let root = try commit(try last(.commit)).root else { throw ForgeError("the tree is empty") }
        return try object(at: root.ref.offset)
    }

    /// The object that was at an offset of the file that was taken apart.
    package func object(at offset: UInt64) throws -> ForgedObject.ID {
        guard let id = objects.first(where: { $0.origin == offset })?.id else {
            throw ForgeError("no object at \(offset)")
        }
        return id
    }

    package func commit(_ id: ForgedObject.ID) throws -> Commit {
        try Commit(self[id].body.span, at: self[id].origin ?? 0, from: 2 * UInt64(originalLength))
    }

    // MARK: changing what is there

    /// Adds a new object before another; its body is made when the file is put together.
    @discardableResult
    package mutating func insert(
        _ type: FrameType, before other: ForgedObject.ID, nonce: [UInt8], identity: ForgedObject.RecordName? = nil,
        _ body: @escaping (ForgeLayout) throws -> [UInt8]
    ) -> ForgedObject.ID {
        var object = ForgedObject(id: nextID, type: type, origin: nil, nonce: nonce, body: [])
        object.identity = identity
        object.editBody.append { bytes, layout in bytes = try body(layout) }
        objects.insert(object, at: position(other))
        nextID += 1
        return object.id
    }

    /// Adds a frame as it is before another.
    @discardableResult
    package mutating func insert(frame: [UInt8], _ type: FrameType, before other: ForgedObject.ID) -> ForgedObject.ID {
        var object = ForgedObject(id: nextID, type: type, origin: nil, nonce: [], body: [])
        object.opaque = frame
        objects.insert(object, at: position(other))
        nextID += 1
        return object.id
    }

    package mutating func remove(_ id: ForgedObject.ID) { objects.remove(at: position(id)) }

    package mutating func onBody(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8], ForgeLayout) throws -> Void) {
        self[id].editBody.append(edit)
    }

    package mutating func onRecipe(
        _ id: ForgedObject.ID, _ edit: @escaping (inout SealRecipe, ForgeLayout) throws -> Void
    ) {
        self[id].editRecipe.append(edit)
    }

    package mutating func onProof(_ id: ForgedObject.ID, _ edit: @escaping (inout [UInt8], [UInt8]) throws -> Void) {
        self[id].editProof.append(edit)
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
    package mutating func onCommit(_ id: ForgedObject.ID, _ edit: @escaping (inout Commit, ForgeLayout) throws -> Void)
    {
        onBody(id) { bytes, layout in
            var commit = try Commit(bytes.span, at: layout.offset, from: layout.bodyStart)
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

    /// Changes one item's value in a leaf.
    package mutating func onItem(
        _ id: ForgedObject.ID, _ index: Int = 0, _ edit: @escaping (inout ForgedItem, ForgeLayout) throws -> Void
    ) {
        onEntries(id) { entries, layout in
            guard var item = ForgedItem(entries[index].value) else { throw ForgeError("no item") }
            try edit(&item, layout)
            entries[index].value = item.encoded()
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

    /// Changes what an item keeps besides what it shows.
    package mutating func onPast(_ id: ForgedObject.ID, _ edit: @escaping (inout Past, ForgeLayout) throws -> Void) {
        onBody(id) { bytes, layout in
            var past = try Past(bytes.span, at: layout.offset)
            try edit(&past, layout)
            bytes = try past.encode()
        }
    }

    /// Changes a vector frame.
    package mutating func onVector(_ id: ForgedObject.ID, _ edit: @escaping (inout VectorFrame) throws -> Void) {
        onBody(id) { bytes, layout in
            var frame = try VectorFrame(bytes.span, at: layout.offset)
            try edit(&frame)
            bytes = try frame.encode()
        }
    }
}

extension Header {
    ///
    package var needsSignature: Bool { slots.contains { $0.kind != .full || $0.isOpaque } }
}

/// An item's value in a leaf.
package struct ForgedItem {
    package var entry: ItemEntry
    package var attributes: [PageAttribute]

    package init(entry: ItemEntry, attributes: [PageAttribute]) {
        self.entry = entry
        self.attributes = attributes
    }

    /// Nil if it is malformed.
    package init?(_ value: [UInt8]) {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        do throws(FormatError) {
            entry = try ItemEntry(value.span, &cursor)
            attributes = try PageAttributes.decode(value.span, &cursor)
            try entry.finish(value.span, &cursor, attributes: attributes.count)
        } catch { return nil }
    }

    package func encoded() -> [UInt8] {
        var out: [UInt8] = []
        entry.encode(into: &out)
        PageAttributes.encode(attributes, into: &out)
        entry.encodeEnd(into: &out, attributes: attributes.count)
        return out
    }

    /// Every reference in it.
    package func mapReferences(_ change: (ObjectRef) throws -> ObjectRef) rethrows -> ForgedItem {
        var out = self
        if entry.hasRecord { out.entry.record = try change(entry.record) }
        out.entry.past = try entry.past.map(change)
        out.attributes = try attributes.map { try $0.mapReference(change) }
        return out
    }
}

extension Past {
    /// Every reference in it.
    package func mapReferences(_ change: (ObjectRef) throws -> ObjectRef) rethrows -> Past {
        var out = self
        for index in values.indices { out.values[index].content = try values[index].content.mapReferences(change) }
        return out
    }
}

extension Past.Content {
    fileprivate func mapReferences(_ change: (ObjectRef) throws -> ObjectRef) rethrows -> Past.Content {
        switch self {
        case .secret(var own, let attributes):
            own.record = try change(own.record)
            return .secret(own, try attributes.map { try $0.mapReference(change) })
        case .attributeInRecord(var own):
            own.record = try change(own.record)
            return .attributeInRecord(own)
        case .absent, .attribute, .key, .place: return self
        }
    }
}

extension PageAttribute {
    package func mapReference(_ change: (ObjectRef) throws -> ObjectRef) rethrows -> PageAttribute {
        guard case .inOwnRecord(var own) = value else { return self }
        own.record = try change(own.record)
        return PageAttribute(name: name, flags: flags, value: .inOwnRecord(own))
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
            return PageEntry(
                key: isKeyed ? Array(body[layout.prefix] + body[entry.rest]) : [], value: Array(body[entry.value]))
        }
    }

    package static func encode(_ entries: [PageEntry], level: UInt8) -> [UInt8] {
        var page = PageBuilder(level: level)
        for entry in entries { page.append(entry.key, entry.value) }
        return page.encode()
    }

    /// The child that an inner page's entry refers to.
    package func child() throws -> ObjectRef {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        return try ObjectRef(value.span, &cursor)
    }

    /// With its references changed; as it is if it is malformed.
    package func mapReferences(isLeaf: Bool, _ change: (ObjectRef) throws -> ObjectRef) throws -> PageEntry {
        if isLeaf {
            guard key.first != Format.forgottenTag, let item = ForgedItem(value) else { return self }
            return PageEntry(key: key, value: try item.mapReferences(change).encoded())
        }
        return PageEntry(key: key, value: PageBuilder.child(try change(try child())))
    }
}
