internal import VaultFmt

/// An ECDSA key in DER: SEC 1 (RFC 5915), which may be wrapped in PKCS #8 (RFC 5958).
///
/// The key is read in place, because swift-crypto's parser copies the private key to memory that is not wiped.
struct CurveKeyDER {
    let type: KeyType
    /// The private key's bytes, which may lack leading zeros. They must not outlive the encoded key.
    let number: UnsafeRawBufferPointer
    /// The public key; nil if it is missing or compressed.
    private let point: [UInt8]?

    private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let curves: [(identifier: [UInt8], type: KeyType)] = [
        ([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], .p256), ([0x2B, 0x81, 0x04, 0x00, 0x22], .p384),
        ([0x2B, 0x81, 0x04, 0x00, 0x23], .p521),
    ]

    /// Parses a key; returns nil for anything else.
    static func read(_ der: UnsafeRawBufferPointer) -> CurveKeyDER? {
        do throws(AgentError) { return try CurveKeyDER(der) } catch { return nil }
    }

    private init(_ der: UnsafeRawBufferPointer) throws(AgentError) {
        var fields = try DERCursor(sequence: der)
        var version = try fields.element(DERCursor.integer)
        var stated: KeyType?
        if fields.nextTag == DERCursor.sequence {
            guard version.elementsEqual([0]) else { throw PrivateKey.damaged }
            stated = try Self.algorithm(try fields.element(DERCursor.sequence))
            let wrapped = try fields.element(DERCursor.octets)
            // Optional attributes, which do not matter here.
            if fields.nextTag == DERCursor.tagged0 { _ = try fields.element(DERCursor.tagged0) }
            try fields.end()
            fields = try DERCursor(sequence: wrapped)
            version = try fields.element(DERCursor.integer)
        }
        guard version.elementsEqual([1]) else { throw PrivateKey.damaged }
        number = try fields.element(DERCursor.octets)
        if fields.nextTag == DERCursor.tagged0 {
            let curve = try Self.curve(try fields.element(DERCursor.tagged0))
            guard stated == nil || stated == curve else { throw PrivateKey.damaged }
            stated = curve
        }
        point = try Self.point(&fields)
        try fields.end()
        if let stated { type = stated } else { type = try Self.curve(ofSize: number.count) }
    }

    /// Returns the curve named by the contents of an AlgorithmIdentifier.
    private static func algorithm(_ contents: UnsafeRawBufferPointer) throws(AgentError) -> KeyType {
        var fields = DERCursor(contents)
        guard try fields.element(DERCursor.objectIdentifier).elementsEqual(ecPublicKey) else {
            throw PrivateKey.damaged
        }
        return try curve(fields.remaining)
    }

    /// Returns the curve with the given encoded object identifier.
    private static func curve(_ encoded: UnsafeRawBufferPointer) throws(AgentError) -> KeyType {
        var fields = DERCursor(encoded)
        let identifier = try fields.element(DERCursor.objectIdentifier)
        try fields.end()
        guard let curve = curves.first(where: { identifier.elementsEqual($0.identifier) }) else {
            throw PrivateKey.damaged
        }
        return curve.type
    }

    /// SEC 1 allows the curve to be omitted; it then follows from the length of the key, which equals the length of a
    /// coordinate.
    private static func curve(ofSize size: Int) throws(AgentError) -> KeyType {
        guard let type = curves.map(\.type).first(where: { $0.curve?.size == size }) else { throw PrivateKey.damaged }
        return type
    }

    private static func point(_ fields: inout DERCursor) throws(AgentError) -> [UInt8]? {
        guard fields.nextTag == DERCursor.tagged1 else { return nil }
        var tagged = DERCursor(try fields.element(DERCursor.tagged1))
        let bits = try tagged.element(DERCursor.bitString)
        try tagged.end()
        // The first byte is the number of unused bits; the second one is the form of the point.
        guard bits.first == 0 else { throw PrivateKey.damaged }
        return bits.dropFirst().first == 4 ? Array(bits.dropFirst()) : nil
    }

    /// Returns the key. Throws if it is not valid on its curve, or does not match the public key stored with it.
    func key() throws(AgentError) -> PrivateKey {
        let key = try PrivateKey(type, number: number)
        if let point, key.publicKey.numbers != .point(point) { throw PrivateKey.damaged }
        return key
    }
}

/// A cursor over DER. It must not outlive the bytes.
struct DERCursor {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octets: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30
    static let tagged0: UInt8 = 0xA0
    static let tagged1: UInt8 = 0xA1

    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    /// Makes a cursor over the contents of a sequence, which must be the only element.
    init(sequence bytes: UnsafeRawBufferPointer) throws(AgentError) {
        var outer = DERCursor(bytes)
        let contents = try outer.element(Self.sequence)
        try outer.end()
        self.init(contents)
    }

    var nextTag: UInt8? { rest.first }

    /// The bytes that have not been read.
    var remaining: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: rest) }

    /// Reads the contents of the next element, which must have the given tag.
    mutating func element(_ tag: UInt8) throws(AgentError) -> UnsafeRawBufferPointer {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { throw PrivateKey.damaged }
        var length = Int(first)
        if first >= 0x80 {
            guard (0x81...0x83).contains(first) else { throw PrivateKey.damaged }
            length = 0
            for _ in 0x80..<first {
                guard let byte = rest.popFirst() else { throw PrivateKey.damaged }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= rest.count else { throw PrivateKey.damaged }
        let contents = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
        rest = rest.dropFirst(length)
        return contents
    }

    /// Throws if any bytes remain.
    func end() throws(AgentError) {
        guard rest.isEmpty else { throw PrivateKey.damaged }
    }
}
