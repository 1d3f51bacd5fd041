package import VaultBytes

/// A field of an item: the smallest part that a change can set (specification, section 6.4).
///
/// Fields are sorted as in a past frame: the secret, attributes by the bytes of their names, the key, the place.
package enum FieldName: Hashable, Sendable {
    case secret
    /// An attribute, identified by the bytes of its name because Swift compares canonically equivalent strings as
    /// equal.
    case attribute([UInt8])
    /// The item's key without its access group.
    case key
    /// The access group, the accessibility and the device.
    case place

    /// Makes the field of an attribute.
    package static func attribute(_ name: String) -> FieldName { .attribute(Array(name.utf8)) }

    /// The kind of the field's values in a past frame.
    package var kind: FieldKind {
        switch self {
        case .secret: .secret
        case .attribute: .attribute
        case .key: .key
        case .place: .place
        }
    }
}

extension FieldName: Comparable {
    package static func < (left: FieldName, right: FieldName) -> Bool {
        if case .attribute(let a) = left, case .attribute(let b) = right { return ByteOrder.isLess(a, b) }
        return left.kind.rawValue < right.kind.rawValue
    }
}

/// Identifies a value within its item: the field, and the dot of the change that set it.
package struct ValueName: Hashable, Sendable {
    package let field: FieldName
    package let dot: Dot

    package init(_ field: FieldName, _ dot: Dot) {
        self.field = field
        self.dot = dot
    }
}

extension ValueName: Comparable {
    package static func < (left: ValueName, right: ValueName) -> Bool {
        left.field == right.field ? left.dot < right.dot : left.field < right.field
    }
}
