package import VaultBytes

/// Where an item is, and who can read it: one field, so that readers change in one piece.
package typealias Place = Past.Place

extension Past.Place {
    package var isDeviceBound: Bool { device != .zero }
}

/// A value that an item holds. Secret bytes stay sealed in their records.
package struct HeldValue: Equatable, Sendable {
    /// The value itself. Boxed, so that a table of values is small and moving a value is cheap.
    package indirect enum Content: Equatable, Sendable {
        /// A secret in an item's record, and the attributes of its time that were not sealed.
        case secret(RecordRef, attributes: [PageAttribute])
        /// An attribute; `flags` includes the place of its value.
        case attribute(flags: AttributeFlags, AttributeValue)
        case key([UInt8])
        case place(Place)
        /// A forgotten value, with the flags of an attribute: its bytes are gone, but its dot is not.
        case forgotten(AttributeFlags)
    }

    /// The value of an attribute, or where it is.
    package enum AttributeValue: Equatable, Sendable {
        case inPage([UInt8])
        /// In an item's record, among its attributes, or in a record of its own.
        case inRecord(RecordRef)
    }

    package var content: Content
    /// When the value was first replaced, in milliseconds since 1970; 0 if nobody has replaced it.
    package var replaced: Int64

    package init(_ content: Content, replaced: Int64 = 0) {
        self.content = content
        self.replaced = replaced
    }

    /// Whether the value is as secret as a secret: it is a secret or a sealed attribute. A forgotten value is neither.
    package var isProtected: Bool {
        switch content {
        case .secret: true
        case .attribute(let flags, _): flags.contains(.sealed)
        case .key, .place, .forgotten: false
        }
    }

    /// Whether the value can only be read with the key of a record.
    package var isInRecord: Bool {
        switch content {
        case .secret, .attribute(_, .inRecord): true
        case .attribute(_, .inPage), .key, .place, .forgotten: false
        }
    }

    package var isForgotten: Bool { if case .forgotten = content { true } else { false } }

    /// The place; nil for a value of another field.
    package var place: Place? { if case .place(let place) = content { place } else { nil } }

    /// The record that has the value itself.
    package var record: RecordRef? {
        get {
            switch content {
            case .secret(let record, _), .attribute(_, .inRecord(let record)): record
            case .attribute(_, .inPage), .key, .place, .forgotten: nil
            }
        }
        set {
            guard let newValue else { return }
            switch content {
            case .secret(_, let attributes): content = .secret(newValue, attributes: attributes)
            case .attribute(let flags, .inRecord): content = .attribute(flags: flags, .inRecord(newValue))
            case .attribute(_, .inPage), .key, .place, .forgotten: break
            }
        }
    }

    /// Every record that the value needs.
    package var records: [RecordRef] {
        guard case .secret(let record, let attributes) = content else { return record.map { [$0] } ?? [] }
        return [record] + attributes.compactMap(\.record)
    }
}
