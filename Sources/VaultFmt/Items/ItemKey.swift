internal import VaultBytes

/// What an item is found by: its class and the attributes that Apple documents as that class's primary key, with access
/// group and synchronizable (specification, section 6.1).
///
/// Kept in its encoded form, whose order is the order of items in a vault. At most 8192 bytes encoded, each text or
/// bytes field at most 4096; the initialisers throw `limitExceeded` beyond that.
public struct ItemKey: Hashable, Comparable, Sendable {
    package let bytes: [UInt8]
    /// Where the encoded group starts; it ends one byte before the end.
    private let groupStart: Int

    /// Makes the key of any class. Throws `invalidArgument` for a class that can have no such fields.
    public init(_ fields: Fields, group: String = "", synchronizable: Bool = false) throws(VaultError) {
        if case .reserved(let number, let texts) = fields {
            guard ItemClass.reservedNumbers.contains(number), texts.count < Format.Limit.fieldsOfReservedClass else {
                throw VaultError(.invalidArgument, "no item can have the class \(number) and \(texts.count) texts")
            }
        }
        var out: [UInt8] = []
        out.reserveCapacity(96)
        out.append(fields.itemClass.rawValue)
        try fields.encode(into: &out)
        groupStart = out.count
        guard group.utf8.count <= Format.Limit.field else {
            throw VaultError(
                .limitExceeded,
                "the access group has \(group.utf8.count) bytes; at most \(Format.Limit.field) are possible")
        }
        KeyFields.append(group, to: &out)
        out.append(synchronizable ? 1 : 0)
        guard out.count <= Format.Limit.itemKey else {
            throw VaultError(
                .limitExceeded, "the item's names take \(out.count) bytes; at most \(Format.Limit.itemKey) are possible"
            )
        }
        bytes = out
    }

    /// Reads an encoded key, as it stands in a vault.
    package init(_ encoded: [UInt8]) throws(VaultError) {
        do throws(FormatError) { groupStart = try ItemKey.check(encoded.span).lowerBound } catch {
            throw VaultError(format: error)
        }
        bytes = encoded
    }

    /// A key whose encoding was checked.
    init(checked encoded: [UInt8], groupStart: Int) {
        bytes = encoded
        self.groupStart = groupStart
    }

    /// Checks an encoded key, and says where its encoded group is.
    static func check(_ encoded: Span<UInt8>) throws(FormatError) -> Range<Int> {
        var cursor = Cursor(encoded, at: 0, else: .structureInvalid)
        try Fields.skip(encoded, &cursor)
        let start = cursor.position
        try KeyFields.skip(encoded, &cursor, isText: true)
        let end = cursor.position
        guard try cursor.u8(encoded) <= 1 else { throw cursor.error("an item key's last field is not 0 or 1") }
        try cursor.finish()
        return start..<end
    }

    /// A password of an account at a service.
    public static func genericPassword(
        service: String, account: String = "", group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        try ItemKey(.genericPassword(service: service, account: account), group: group, synchronizable: synchronizable)
    }

    /// A password of an account at a server.
    public static func internetPassword(
        server: String, account: String = "", protocol: String = "", port: UInt32 = 0, path: String = "",
        securityDomain: String = "",
        authenticationType: String = "", group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields = Fields.internetPassword(
            server: server, protocol: `protocol`, port: port, path: path, account: account,
            securityDomain: securityDomain,
            authenticationType: authenticationType)
        return try ItemKey(fields, group: group, synchronizable: synchronizable)
    }

    /// A certificate.
    public static func certificate(
        type: UInt32, issuer: [UInt8], serialNumber: [UInt8], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        try ItemKey(
            .certificate(type: type, issuer: issuer, serialNumber: serialNumber), group: group,
            synchronizable: synchronizable)
    }

    /// A cryptographic key.
    public static func key(
        keyClass: UInt32, keyType: UInt32, applicationLabel: [UInt8], applicationTag: [UInt8], sizeInBits: UInt32,
        effectiveSize: UInt32,
        group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        let fields = Fields.key(
            keyClass: keyClass, keyType: keyType, applicationLabel: applicationLabel, applicationTag: applicationTag,
            sizeInBits: sizeInBits,
            effectiveSize: effectiveSize)
        return try ItemKey(fields, group: group, synchronizable: synchronizable)
    }

    /// A certificate with its private key.
    public static func identity(
        type: UInt32, issuer: [UInt8], serialNumber: [UInt8], group: String = "", synchronizable: Bool = false
    ) throws(VaultError) -> ItemKey {
        try ItemKey(
            .identity(type: type, issuer: issuer, serialNumber: serialNumber), group: group,
            synchronizable: synchronizable)
    }

    /// The order of items in a vault.
    public static func < (left: ItemKey, right: ItemKey) -> Bool { ByteOrder.isLess(left.bytes, right.bytes) }

    /// Compares the encoded forms.
    public static func == (left: ItemKey, right: ItemKey) -> Bool { left.bytes == right.bytes }

    /// Hashes the encoded form.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    /// The item's class.
    public var itemClass: ItemClass { ItemClass(rawValue: bytes[0]) ?? .genericPassword }

    /// Whether the item is meant to be synchronised between devices; part of the key, as at Apple.
    public var synchronizable: Bool { bytes[bytes.count - 1] == 1 }

    /// The access group; empty for the default one.
    public var group: String { String(decoding: ItemKey.unescaped(encodedGroup), as: UTF8.self) }

    private var encodedGroup: ArraySlice<UInt8> { bytes[groupRange] }

    /// Where the encoded group is.
    var groupRange: Range<Int> { groupStart..<bytes.count - 1 }

    /// A group's name as it stands in keys.
    static func encodedGroup(_ name: String) -> [UInt8] {
        var out: [UInt8] = []
        KeyFields.append(name, to: &out)
        return out
    }

    /// The fields of the class.
    public var fields: Fields {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        do throws(FormatError) { return try Fields(bytes.span, &cursor) } catch {
            preconditionFailure("an item key was checked when it was made")
        }
    }

    /// The service of a generic password, else nil.
    public var service: String? {
        if case .genericPassword(let service, _) = fields { service } else { nil }
    }

    /// The account of a generic or internet password, else nil.
    public var account: String? {
        switch fields {
        case .genericPassword(_, let account), .internetPassword(_, _, _, _, let account, _, _): account
        default: nil
        }
    }

    /// The server of an internet password, else nil.
    public var server: String? {
        if case .internetPassword(let server, _, _, _, _, _, _) = fields { server } else { nil }
    }

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
