/// The factors that a slot requires; all of them are needed to open it (section 3.1).
package struct SlotFactors: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let passphrase = SlotFactors(rawValue: 0x01)
    package static let generatedKeyFile = SlotFactors(rawValue: 0x02)
    package static let otherKeyFile = SlotFactors(rawValue: 0x04)
    package static let rawKey = SlotFactors(rawValue: 0x08)
    package static let externalKey = SlotFactors(rawValue: 0x10)

    /// True if a slot of format 1 can have these factors.
    package var isKnown: Bool { [0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x10, 0x11].contains(rawValue) }

    /// True if any of the factors is stretched with Argon2id.
    package var isStretched: Bool { !isDisjoint(with: [.passphrase, .otherKeyFile]) }
}

/// The decoded parameters of a known slot.
package struct SlotParameters: Equatable, Sendable {
    /// The cost of Argon2id.
    package struct Cost: Hashable, Sendable {
        package var memoryKiB: UInt32
        package var passes: UInt32
        package var lanes: UInt32

        package init(memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
            self.memoryKiB = memoryKiB
            self.passes = passes
            self.lanes = lanes
        }

        package var isPossible: Bool {
            (1...0xFF_FFFF).contains(lanes) && passes >= 1 && UInt64(memoryKiB) >= 8 * UInt64(lanes)
        }
    }

    /// The parameters for stretching a passphrase or other key file.
    package struct Stretch: Equatable, Sendable {
        package let cost: Cost
        package let salt: Bytes32

        package init(cost: Cost, salt: Bytes32) {
            self.cost = cost
            self.salt = salt
        }
    }

    /// The provider of an external key, and the data from which the provider derives the key.
    package struct Provider: Equatable, Sendable {
        /// The name, 1 to 64 bytes of ASCII 33 to 126.
        package let name: String
        /// The provider's data, at most 16,384 bytes.
        package let parameters: [UInt8]

        package init(name: String, parameters: [UInt8]) {
            self.name = name
            self.parameters = parameters
        }

        /// Returns whether a provider can have this name.
        package static func isName(_ name: String) -> Bool {
            (1...Format.Limit.providerName).contains(name.utf8.count)
                && name.utf8.allSatisfy { (33...126).contains($0) }
        }
    }

    /// Present if and only if a factor is stretched.
    package let stretch: Stretch?
    /// Present if and only if the factors include an external key.
    package let provider: Provider?

    package init(stretch: Stretch?, provider: Provider? = nil) {
        self.stretch = stretch
        self.provider = provider
    }

    package init(_ bytes: Span<UInt8>, _ whole: Cursor, _ factors: SlotFactors) throws(FormatError) {
        var cursor = whole
        stretch = factors.isStretched ? try SlotParameters.stretch(bytes, &cursor) : nil
        provider = factors.contains(.externalKey) ? try SlotParameters.provider(bytes, &cursor) : nil
        try cursor.finish()
    }

    private static func stretch(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Stretch {
        let cost = Cost(memoryKiB: try cursor.u32(bytes), passes: try cursor.u32(bytes), lanes: try cursor.u32(bytes))
        guard cost.isPossible else {
            throw cursor.error(
                "a slot's KDF parameters are out of range: memory \(cost.memoryKiB) KiB, passes \(cost.passes), lanes \(cost.lanes)"
            )
        }
        return Stretch(cost: cost, salt: try cursor.bytes32(bytes))
    }

    private static func provider(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Provider {
        let length = Int(try cursor.u8(bytes))
        guard (1...Format.Limit.providerName).contains(length) else {
            throw cursor.error("a provider's name has \(length) bytes")
        }
        let range = try cursor.slice(length, "a provider's name")
        for index in range {
            guard (33...126).contains(bytes[index]) else {
                throw cursor.error("a provider's name contains a byte that is not printable ASCII")
            }
        }
        let name = try cursor.text(bytes, range)
        let size = Int(try cursor.u16(bytes))
        guard size <= Format.Limit.providerParameters else {
            throw cursor.error("a provider's parameters have \(size) bytes")
        }
        return Provider(name: name, parameters: cursor.copy(bytes, try cursor.slice(size, "a provider's parameters")))
    }

    func encoded() -> [UInt8] {
        var out: [UInt8] = []
        if let stretch {
            out.append(u32: stretch.cost.memoryKiB)
            out.append(u32: stretch.cost.passes)
            out.append(u32: stretch.cost.lanes)
            out.append(stretch.salt)
        }
        if let provider {
            out.append(UInt8(provider.name.utf8.count))
            out.append(contentsOf: provider.name.utf8)
            out.append(u16: UInt16(provider.parameters.count))
            out.append(contentsOf: provider.parameters)
        }
        return out
    }
}
