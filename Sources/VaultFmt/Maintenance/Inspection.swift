internal import VaultBytes

/// The information that a vault file reveals without any key. None of it is authenticated.
public struct Inspection: Sendable {
    /// Objects of one type.
    public struct Objects: Sendable {
        /// The type: record, page, past, keyring, vector or commit.
        public let type: String
        /// The number of objects.
        public let count: Int
        /// The objects' total length in bytes.
        public let bytes: UInt64
    }

    /// An extension in the header.
    public struct Extension: Sendable {
        /// The extension's name.
        public let name: String
        /// True if a reader must know the extension.
        public let isCritical: Bool
        /// True if a writer must know the extension.
        public let isReadOnly: Bool
        /// The length of the extension's value.
        public let bytes: Int
    }

    /// The format's version.
    public let version: Int
    /// The vault's id.
    public let id: VaultID
    /// The header's length.
    public let headerBytes: Int
    /// The file's length.
    public let fileBytes: UInt64
    /// The slots, without names.
    public let slots: [SlotInfo]
    /// The header's extensions.
    public let extensions: [Extension]
    /// The objects in the file, by type.
    public let objects: [Objects]
    /// The state of the bytes after the last commit, as far as it can be determined without a key.
    public let tail: TailState
}

extension Vault {
    /// Reads the slots from a file's header without a key. Nothing is authenticated, and only the header is read.
    /// Throws `notAVault`, `unsupportedVersion`, `unsupportedCritical`, `headerInvalid`, `noSuchFile`, `io`.
    public static func slots(at path: String) throws(VaultError) -> [SlotInfo] {
        try slots(at: path, place: Store.Place())
    }

    package static func slots(at path: String, place: Store.Place) throws(VaultError) -> [SlotInfo] {
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let (header, _) = try Store.readHeader(file)
        return header.slots.map { SlotInfo($0, dots: nil) }
    }

    /// Reads the slots from the headers that salvage tries: the header and its copy, as far as they can be read. A
    /// slot that both contain is listed twice. Nothing is authenticated. Throws the same errors as `slots(at:)`.
    package static func slots(salvaging path: String) throws(VaultError) -> [SlotInfo] {
        let place = Store.Place()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return try SalvageHeader.candidates(file).flatMap { $0.header.slots }.map { SlotInfo($0, dots: nil) }
    }

    /// Reads the bytes of each slot in a file's header that determine its factors and, unless it is a full slot, the
    /// keys that it grants. The result is indexed by slot id.
    package static func slotContents(at path: String) throws(VaultError) -> [SlotID: [UInt8]] {
        let place = Store.Place()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let (header, _) = try Store.readHeader(file)
        let slots = header.slots.map { slot in
            let keys = slot.kind == .full ? [] : slot.payload
            var bytes = [slot.kind.rawValue, slot.factors.rawValue]
            bytes.append(slot.commitment)
            return (SlotID(slot.id), bytes + slot.parameters + keys)
        }
        return Dictionary(slots, uniquingKeysWith: { first, _ in first })
    }

    /// Reads the information that a file reveals without a key: header, slots and the sizes of objects. Throws
    /// `notAVault`, `unsupportedVersion`, `headerInvalid`, `noSuchFile`, `io`.
    public static func inspect(_ path: String) throws(VaultError) -> Inspection {
        try inspect(path, place: Store.Place())
    }

    /// Returns the offset at which the contents of a vault's file end, that is, the file's length without the zeros
    /// that a writer reserves for later changes.
    package static func contentEnd(at path: String) throws(VaultError) -> UInt64 {
        let file = try Store.Place().fileSystem.open(path, writable: false)
        while true {
            let size = try file.size()
            do throws(VaultError) { return try Reserve.contentEnd(of: file, size: size) } catch {
                // A writer truncates its reserve when it is closed.
                guard try file.size() < size else { throw error }
            }
        }
    }

    /// `object` is called with the type, the length and the offset of each object, in their order.
    package static func inspect(
        _ path: String, place: Store.Place = Store.Place(),
        object: (_ type: String, _ length: Int, _ offset: UInt64) -> Void = { _, _, _ in }
    ) throws(VaultError) -> Inspection {
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let (header, _) = try Store.readHeader(file)
        let size = try file.size()
        var counts: [FrameType: (count: Int, bytes: UInt64)] = [:]
        var lastCommit = header.bodyStart
        do throws(VaultError) {
            try FrameWalker(file: file, header.bodyStart..<max(size, header.bodyStart)).walk {
                (_, head, offset) throws(VaultError) in
                object(head.type.name, head.length, offset)
                let known = counts[head.type] ?? (0, 0)
                counts[head.type] = (known.count + 1, known.bytes + UInt64(head.length))
                if head.type == .commit { lastCommit = offset + UInt64(head.length) }
            }
        } catch {
            // The walk ends at the first bytes that are not an object; the rest counts as a tail.
            guard error.code == .structureInvalid else { throw error }
        }
        let tail: TailState =
            try lastCommit == Reserve.contentEnd(of: file, size: size)
            ? .clean : file.isLockedByAnother() ? .writeInProgress : .torn(bytes: size - lastCommit)
        return Inspection(
            version: Int(Format.version), id: VaultID(header.id), headerBytes: header.length, fileBytes: size,
            slots: header.slots.map { SlotInfo($0, dots: nil) },
            extensions: header.extensions.map {
                .init(name: $0.name, isCritical: $0.isCritical, isReadOnly: $0.isReadOnly, bytes: $0.value.count)
            },
            objects: FrameType.allCases.compactMap { type in
                counts[type].map { .init(type: type.name, count: $0.count, bytes: $0.bytes) }
            },
            tail: tail)
    }
}
