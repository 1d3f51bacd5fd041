package import VaultBytes

extension ItemState {
    /// Merges two states of one item (M-19, M-20); returns nil if nothing of the item remains. The result does not
    /// depend on the order of the sides. The merge does not change contents or create dots. Values forgotten on either
    /// side must be passed to `forget`, before or after the merge.
    ///
    /// `hasLeft`, `hasRight`: return true if the state on that side includes a dot and the dot's id is not split
    /// (M-33).
    package static func merged(
        _ left: ItemState?, _ right: ItemState?, hasLeft: (Dot) -> Bool, hasRight: (Dot) -> Bool
    ) -> ItemState? {
        var result = ItemState(siblings: [:], open: [], values: [:])
        result.take(left, beside: right, hasRight)
        result.take(right, beside: left, hasLeft)
        guard !result.siblings.isEmpty else { return nil }
        let held = result.held
        result.values = HeldValue.united(left?.values ?? [:], right?.values ?? [:]).filter { held.contains($0.key) }
        result.setAttributesOfTime()
        return result
    }

    /// Adds the parts of one side that remain: those that the other side also has, and those that it has not seen.
    private mutating func take(_ mine: ItemState?, beside other: ItemState?, _ hasSeen: (Dot) -> Bool) {
        guard let mine else { return }
        for (dot, sibling) in mine.siblings where other?.siblings[dot] != nil || !hasSeen(dot) {
            // A compacted copy may lack earlier values that are forgotten.
            siblings[dot, default: sibling].earlier.formUnion(sibling.earlier)
        }
        for name in mine.open where other?.open.contains(name) ?? false || !hasSeen(name.dot) { open.insert(name) }
    }
}

extension HeldValue {
    /// Returns the union of two sides' values. The sides can have different copies of the same value.
    static func united(_ left: [ValueName: HeldValue], _ right: [ValueName: HeldValue]) -> [ValueName: HeldValue] {
        left.merging(right) { $0.isPreferred(to: $1) ? $0 : $1 }
    }

    /// Returns whether this copy of a value is preferred to another one. Records are compared last: they are not part
    /// of a vault's contents.
    private func isPreferred(to other: HeldValue) -> Bool {
        // A copy in which the value is forgotten does not have its bytes.
        if isForgotten != other.isForgotten { return isForgotten }
        if replaced != other.replaced { return replaced > other.replaced }
        let (mine, others) = (plainBytes, other.plainBytes)
        if mine != others { return ByteOrder.isLess(others, mine) }
        return true
    }

    /// The encoded attributes stored with a secret, without references.
    private var plainBytes: [UInt8] {
        guard case .secret(_, let attributes) = content else { return [] }
        var out: [UInt8] = []
        out.append(varint: UInt64(attributes.count))
        for attribute in attributes {
            out += [attribute.flags.rawValue, UInt8(truncatingIfNeeded: attribute.name.utf8.count)]
            out += attribute.name.utf8
            guard case .inPage(let value) = attribute.value else { continue }
            out.append(varint: UInt64(value.count))
            out += value
        }
        return out
    }
}
