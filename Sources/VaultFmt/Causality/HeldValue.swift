package import VaultBytes

/// An item's access group, accessibility and device. They form one field, so a change of readers is atomic.
package typealias Place = Past.Place

extension Past.Place {
    package var isDeviceBound: Bool { device != .zero }
}

/// A value of an item. Secret bytes remain sealed in their records.
package struct HeldValue: Equatable, Sendable {
    /// The value itself. It is boxed to keep tables of values small and moves cheap.
    package indirect enum Content: Equatable, Sendable {
        /// A secret in an item's record, and the unsealed attributes that the item had at the same time.
        case secret(RecordRef, attributes: [PageAttribute])
        /// An attribute; `flags` includes the storage location of its value.
        case attribute(flags: AttributeFlags, AttributeValue)
        case key([UInt8])
        case place(Place)
        /// A forgotten value, with the flags of an attribute. Its dot remains, but its bytes do not.
        case forgotten(AttributeFlags)
    }

    /// The value of an attribute, or its location.
    package enum AttributeValue: Equatable, Sendable {
        case inPage([UInt8])
        /// In an item's record or in a separate record.
        case inRecord(RecordRef)
    }

    package var content: Content
    /// The time at which the value was first replaced, in milliseconds since 1970; 0 if it has not been replaced.
    package var replaced: Int64

    package init(_ content: Content, replaced: Int64 = 0) {
        self.content = content
        self.replaced = replaced
    }

    /// True for a secret or a sealed attribute, unless it was forgotten.
    package var isProtected: Bool {
        switch content {
        case .secret: true
        case .attribute(let flags, _): flags.contains(.sealed)
        case .key, .place, .forgotten: false
        }
    }

    /// True if the value can only be read with the key of a record.
    package var isInRecord: Bool {
        switch content {
        case .secret, .attribute(_, .inRecord): true
        case .attribute(_, .inPage), .key, .place, .forgotten: false
        }
    }

    package var isForgotten: Bool { if case .forgotten = content { true } else { false } }

    /// The place; nil for a value of another field.
    package var place: Place? { if case .place(let place) = content { place } else { nil } }

    /// The record that contains the value itself.
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
