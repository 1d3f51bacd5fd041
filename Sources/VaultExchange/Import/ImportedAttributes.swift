import VaultBytes
import VaultFmt
import VaultLocal

/// The attributes that an import sets on an item.
enum ImportedAttributes {
    /// The attributes of an item that a change affects.
    enum Change {
        case none
        /// `replaceAll`: only the source's attributes remain; `merge`: the item's other attributes are kept.
        case replaceAll, merge
        /// The change affects only the attribute that stores the source's user name.
        case name
    }

    /// Returns the change, which always fits into an item.
    ///
    /// - `target`: The key that the item will have.
    /// - `item`: The existing item in the vault, if any.
    /// - `dropsOrigin`: True to omit the identifier.
    ///
    /// Throws `damaged` if the item has no room for a new attribute.
    static func changes(
        of record: borrowing ImportRecord, to target: ItemKey, _ item: Item?, _ change: Change, dropsOrigin: Bool
    ) throws(ExchangeError) -> AttributeChanges {
        var attributes = record.attributes
        if dropsOrigin { attributes[AttributeName.origin] = nil }
        TwinName.note(record.key, target, in: &attributes)
        do throws(ExchangeError) {
            switch change {
            case .none: return AttributeChanges(set: attributes)
            case .replaceAll:
                var changes = try attributes.protected(like: item).fitting(into: Attributes())
                changes.replaceAll = item != nil
                return changes
            case .merge:
                return try attributes.protected(like: item).fitting(into: item?.attributes ?? Attributes())
            case .name: return name(attributes, item)
            }
        } catch { throw error.at(record.place) }
    }

    /// Returns the change to an item if only its name changes.
    private static func name(_ attributes: Attributes, _ item: Item?) -> AttributeChanges {
        let (known, now) = (item?.attributes ?? Attributes(), attributes.attribute(AttributeName.userName))
        guard let now else {
            return AttributeChanges(
                remove: known.attribute(AttributeName.userName) == nil ? [] : [AttributeName.userName])
        }
        let isFull = known.count == Format.Limit.attributes && known.attribute(AttributeName.userName) == nil
        return isFull || known.attribute(AttributeName.userName) == now
            ? AttributeChanges() : AttributeChanges(set: Attributes([now]))
    }

    /// Names the attributes that an item loses because the source does not have them; nil if no attribute is lost.
    static func removed(from item: Item, by record: borrowing ImportRecord) -> String? {
        let own: Set = [SecretDate.attribute, AttributeName.userName]
        let names = item.attributes.names.filter { record.attributes.attribute($0) == nil && !own.contains($0) }
        guard !names.isEmpty else { return nil }
        let shown = names.prefix(5).map { TerminalText.quoted($0) }.joined(separator: ", ")
        return "removed \(shown)\(names.count > 5 ? " and \(names.count - 5) more attributes" : "")"
            + ", which the source does not have"
    }
}

extension AttributeChanges {
    /// Removes the secret's date if the item's last change was on the same day.
    mutating func dropDate(ifSameDayAs modified: Int64?) {
        guard let modified, let stated = SecretDate.stated(set), stated / Timestamp.day == modified / Timestamp.day
        else { return }
        set[SecretDate.attribute] = nil
    }

    /// Removes the secret's date if the item has no room for it.
    mutating func dropDate(ifTooManyWith item: Item?) {
        let name = SecretDate.attribute
        guard let item, set.attribute(name) != nil, replaceAll || item.attributes.attribute(name) == nil else { return }
        let kept = replaceAll ? 0 : item.attributes.names.count { set.attribute($0) == nil && !remove.contains($0) }
        if kept + set.count > Format.Limit.attributes { set[name] = nil }
    }
}
