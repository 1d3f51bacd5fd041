internal import VaultBytes

/// The key of an item: its class and the attributes that Apple documents as that class's primary key, including the
/// access group and the synchronizable flag (specification, section 6.1).
///
/// A key is stored in its encoded form, which defines the order of items in a vault. An encoded key has at most 8176
/// bytes, and each text or bytes field has at most 4096; the initializers throw `limitExceeded` beyond these limits.
public struct ItemKey: Hashable, Comparable, Sendable {
    package let bytes: [UInt8]
    /// The offset of the encoded group, which ends one byte before the end of the key.
    private let groupStart: Int

    /// Makes a key of a class that this version defines.
    ///
    /// - Parameters:
    ///   - itemClass: The class of the item.
    ///   - fields: The values of the class's fields; omitted fields are empty or 0.
    ///   - group: The access group; empty for the default one.
    ///   - synchronizable: Whether the item is meant to be synchronized between devices.
    /// - Throws: `invalidArgument` for a field that the class does not have, or for a value of the wrong kind;
    ///   `limitExceeded`.
    public init(
        _ itemClass: ItemClass, _ fields: [Field: Value], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) {
        guard itemClass.isDefined else {
            throw VaultError(.invalidArgument, "this version does not define the class \(itemClass.name)")
        }
        for (field, value) in fields where !field.classes.contains(itemClass) || value.kind != field.kind {
            throw VaultError(.invalidArgument, "an item of class \(itemClass.name) has no \(field.name)")
        }
        var encoder = Encoder(itemClass)
        for field in itemClass.fields { try encoder.append(fields[field] ?? field.empty, field) }
        try self.init(encoder, group, synchronizable)
    }

    /// Makes a key of a class that this version does not define, from all of its text fields except the last, which is
    /// the access group.
    ///
    /// - Throws: `invalidArgument` for a class that is not reserved, or for more text fields than such a class has;
    ///   `limitExceeded`.
    public init(
        reserved number: UInt8, texts: [String], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) {
        guard ItemClass.reservedNumbers.contains(number), texts.count < Format.Limit.fieldsOfReservedClass else {
            throw VaultError(.invalidArgument, "an item of class \(number) cannot have \(texts.count) names")
        }
        var encoder = Encoder(.reserved(number))
        for text in texts { try encoder.append(.text(text), nil) }
        try self.init(encoder, group, synchronizable)
    }

    private init(_ encoder: consuming Encoder, _ group: String, _ synchronizable: Bool) throws(VaultError) {
        groupStart = encoder.bytes.count
        guard group.utf8.count <= Format.Limit.field else {
            throw VaultError(
                .limitExceeded,
                "the access group has \(group.utf8.count) bytes; the maximum is \(Format.Limit.field)")
        }
        KeyFields.append(group, to: &encoder.bytes)
        encoder.bytes.append(synchronizable ? 1 : 0)
        guard encoder.bytes.count <= Format.Limit.itemKey else {
            throw VaultError(
                .limitExceeded,
                "the item's names have \(encoder.bytes.count) bytes in total; the maximum is \(Format.Limit.itemKey)"
            )
        }
        bytes = encoder.bytes
    }

    /// Encodes the class and its fields, in their order.
    private struct Encoder {
        var bytes: [UInt8] = []

        init(_ itemClass: ItemClass) {
            bytes.reserveCapacity(96)
            bytes.append(itemClass.rawValue)
        }

        /// Appends a value. `field` is the field that the value belongs to; nil for a text field of a reserved class.
        mutating func append(_ value: Value, _ field: Field?) throws(VaultError) {
            guard value.size <= Format.Limit.field else {
                let name = field.map { "the " + $0.words.joined(separator: " ") } ?? "a text"
                throw VaultError(
                    .limitExceeded, "\(name) has \(value.size) bytes; the maximum is \(Format.Limit.field)")
            }
            value.encode(into: &bytes)
        }
    }

    /// Reads an encoded key as stored in a vault.
    package init(_ encoded: [UInt8]) throws(VaultError) {
        do throws(FormatError) { groupStart = try ItemKey.check(encoded.span).lowerBound } catch {
            throw VaultError(format: error)
        }
        bytes = encoded
    }

    /// Makes a key whose encoding was already checked.
    init(checked encoded: [UInt8], groupStart: Int) {
        bytes = encoded
        self.groupStart = groupStart
    }

    /// Checks an encoded key.
    ///
    /// - Returns: The range of its encoded group.
    static func check(_ encoded: Span<UInt8>) throws(FormatError) -> Range<Int> {
        var cursor = Cursor(encoded, at: 0, else: .structureInvalid)
        guard encoded.count <= Format.Limit.itemKey else { throw cursor.error("an item key is too long") }
        let itemClass = try itemClass(encoded, &cursor)
        if case .reserved = itemClass {
            try forEachText(encoded, &cursor) { (cursor) throws(FormatError) in
                try KeyFields.skip(encoded, &cursor, isText: true)
            }
        } else {
            for kind in itemClass.fieldKinds { try skip(kind, encoded, &cursor) }
        }
        let start = cursor.position
        try KeyFields.skip(encoded, &cursor, isText: true)
        let end = cursor.position
        guard try cursor.u8(encoded) <= 1 else { throw cursor.error("an item key's last field is not 0 or 1") }
        try cursor.finish()
        return start..<end
    }

    private static func itemClass(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> ItemClass {
        guard let itemClass = ItemClass(rawValue: try cursor.u8(bytes)) else {
            throw cursor.error("an item has an unknown class")
        }
        return itemClass
    }

    private static func skip(_ kind: Kind, _ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        if kind == .number {
            _ = try cursor.u32(bytes)
        } else {
            try KeyFields.skip(bytes, &cursor, isText: kind == .text)
        }
    }

    /// Calls `body` at each text field of a reserved class except the last, which is the access group and is followed
    /// by a single byte.
    private static func forEachText(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ body: (inout Cursor) throws(FormatError) -> Void
    ) throws(FormatError) {
        var count = 0
        while true {
            var after = cursor
            try KeyFields.skip(bytes, &after, isText: false)
            guard after.remaining > 1 else { break }
            try body(&cursor)
            count += 1
        }
        guard count < Format.Limit.fieldsOfReservedClass else {
            throw cursor.error("an item key has more than \(Format.Limit.fieldsOfReservedClass) fields")
        }
    }

    /// Makes the key of a password for an account with a service.
    public static func genericPassword(
        service: String, account: String = "", group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        var encoder = Encoder(.genericPassword)
        try encoder.append(.text(service), .service)
        try encoder.append(.text(account), .account)
        return try ItemKey(encoder, group, synchronizable)
    }

    /// Makes the key of a password for an account on a server.
    public static func internetPassword(
        server: String, account: String = "", protocol: String = "", port: UInt32 = 0, path: String = "",
        securityDomain: String = "", authenticationType: String = "", group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields: [Field: Value] = [
            .server: .text(server), .protocol: .text(`protocol`), .port: .number(port), .path: .text(path),
            .account: .text(account), .securityDomain: .text(securityDomain),
            .authenticationType: .text(authenticationType),
        ]
        return try ItemKey(.internetPassword, fields, group: group, synchronizable: synchronizable)
    }

    /// Makes the key of a certificate.
    public static func certificate(
        type: UInt32, issuer: [UInt8], serialNumber: [UInt8], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields: [Field: Value] = [
            .type: .number(type), .issuer: .bytes(issuer), .serialNumber: .bytes(serialNumber),
        ]
        return try ItemKey(.certificate, fields, group: group, synchronizable: synchronizable)
    }

    /// Makes the key of a cryptographic key.
    public static func key(
        keyClass: UInt32, keyType: UInt32, applicationLabel: [UInt8], applicationTag: [UInt8], sizeInBits: UInt32,
        effectiveSize: UInt32, group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields: [Field: Value] = [
            .keyClass: .number(keyClass), .keyType: .number(keyType), .applicationLabel: .bytes(applicationLabel),
            .applicationTag: .bytes(applicationTag), .sizeInBits: .number(sizeInBits),
            .effectiveSize: .number(effectiveSize),
        ]
        return try ItemKey(.key, fields, group: group, synchronizable: synchronizable)
    }

    /// Makes the key of a certificate with its private key.
    public static func identity(
        type: UInt32, issuer: [UInt8], serialNumber: [UInt8], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields: [Field: Value] = [
            .type: .number(type), .issuer: .bytes(issuer), .serialNumber: .bytes(serialNumber),
        ]
        return try ItemKey(.identity, fields, group: group, synchronizable: synchronizable)
    }

    /// Returns a copy of the key with some fields replaced, and with a different access group if one is given.
    ///
    /// - Throws: The same errors as `init(_:_:group:synchronizable:)`.
    public func replacing(_ fields: [Field: Value] = [:], group: String? = nil) throws(VaultError) -> ItemKey {
        let group = group ?? self.group
        guard itemClass.isDefined || !fields.isEmpty else {
            return try ItemKey(reserved: itemClass.rawValue, texts: texts, group: group, synchronizable: synchronizable)
        }
        let all = self.fields.merging(fields) { $1 }
        return try ItemKey(itemClass, all, group: group, synchronizable: synchronizable)
    }

    /// Compares keys in the order of items in a vault.
    public static func < (left: ItemKey, right: ItemKey) -> Bool { ByteOrder.isLess(left.bytes, right.bytes) }

    /// Compares the encoded forms.
    public static func == (left: ItemKey, right: ItemKey) -> Bool { left.bytes == right.bytes }

    /// Hashes the encoded form.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    /// The item's class.
    public var itemClass: ItemClass { ItemClass(rawValue: bytes[0]) ?? .genericPassword }

    /// True if the item is meant to be synchronized between devices; part of the key, as in Apple's Keychain.
    public var synchronizable: Bool { bytes[bytes.count - 1] == 1 }

    /// The access group; empty for the default one.
    public var group: String { String(decoding: ItemKey.unescaped(encodedGroup), as: UTF8.self) }

    private var encodedGroup: ArraySlice<UInt8> { bytes[groupRange] }

    /// The range of the encoded group.
    var groupRange: Range<Int> { groupStart..<bytes.count - 1 }

    /// Returns a group's name as encoded in keys.
    static func encodedGroup(_ name: String) -> [UInt8] {
        var out: [UInt8] = []
        KeyFields.append(name, to: &out)
        return out
    }

    // MARK: parts

    /// The key with an empty access group; merges treat the group as a separate field.
    var withoutGroup: [UInt8] { Array(bytes[..<groupStart]) + [0, 0] + bytes[(bytes.count - 1)...] }

    /// Makes a key from a key with an empty access group, and a group. Throws `structureInvalid` for anything else, or
    /// `limitExceeded`.
    init(_ withoutGroup: [UInt8], group: [UInt8]) throws(VaultError) {
        let plain = try ItemKey(withoutGroup)
        guard plain.groupRange.count == 2 else {
            throw VaultError(.structureInvalid, "an item's former key has an access group")
        }
        var encoded = Array(withoutGroup[..<plain.groupStart])
        KeyFields.append(group, to: &encoded)
        encoded.append(withoutGroup[withoutGroup.count - 1])
        guard encoded.count <= Format.Limit.itemKey else {
            throw VaultError(.limitExceeded, "an item's key has at most \(Format.Limit.itemKey) bytes")
        }
        self = try ItemKey(encoded)
    }

    /// Returns the range of an encoded field, given its index and the kinds of the fields up to it.
    func range(ofField index: Int, _ kinds: [Kind]) -> Range<Int> {
        var cursor = Cursor(over: 1..<bytes.count, of: Cursor(bytes.span, at: 0, else: .structureInvalid))
        do throws(FormatError) {
            for kind in kinds[..<index] { try Self.skip(kind, bytes.span, &cursor) }
            let start = cursor.position
            try Self.skip(kinds[index], bytes.span, &cursor)
            return start..<cursor.position
        } catch { preconditionFailure("an item key was checked when it was made") }
    }

    /// The values of the class's fields; empty for a class that this version does not define.
    public var fields: [Field: Value] {
        var fields: [Field: Value] = [:]
        for field in itemClass.fields { fields[field] = self[field] }
        return fields
    }

    /// The value of a field; nil if the class does not have the field.
    public subscript(field: Field) -> Value? {
        let itemClass = itemClass
        guard let index = itemClass.fields.firstIndex(of: field) else { return nil }
        var cursor = Cursor(over: 1..<bytes.count, of: Cursor(bytes.span, at: 0, else: .structureInvalid))
        do throws(FormatError) {
            for kind in itemClass.fieldKinds[..<index] { try Self.skip(kind, bytes.span, &cursor) }
            return try Value(field.kind, bytes.span, &cursor)
        } catch { preconditionFailure("an item key was checked when it was made") }
    }

    /// The text fields of a key whose class this version does not define, except the last, which is the access group.
    public var texts: [String] {
        guard !itemClass.isDefined else { return [] }
        var cursor = Cursor(over: 1..<bytes.count, of: Cursor(bytes.span, at: 0, else: .structureInvalid))
        var texts: [String] = []
        do throws(FormatError) {
            try Self.forEachText(bytes.span, &cursor) { (cursor) throws(FormatError) in
                texts.append(try KeyFields.text(bytes.span, &cursor))
            }
        } catch { preconditionFailure("an item key was checked when it was made") }
        return texts
    }

    /// The service of a generic password; nil for other classes.
    public var service: String? { self[.service]?.text }

    /// The account of a password; nil for other classes.
    public var account: String? { self[.account]?.text }

    /// The server of an internet password; nil for other classes.
    public var server: String? { self[.server]?.text }

    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        var index = field.startIndex
        while index < field.endIndex - 2 {
            out.append(field[index])
            index += field[index] == 0 ? 2 : 1
        }
        return out
    }
}
