internal import VaultBytes

// The attributes that are stored with a secret: the unsealed attributes that the item had at the same time.
extension ItemState {
    /// Sets the attributes stored with each secret that no change has replaced to those of the greatest sibling that
    /// has the secret. These attributes do not depend on the values that merges have shown in the meantime.
    package mutating func setAttributesOfTime() {
        for name in values.keys where name.field == .secret && values[name]?.replaced == 0 {
            guard case .secret(let record, _) = values[name]?.content, let list = attributesOfTime(name.dot) else {
                continue
            }
            values[name]?.content = .secret(record, attributes: list.map(\.attribute))
        }
    }

    /// Returns the attributes of the greatest sibling with the given secret, each with the name of its value; nil if no
    /// sibling has that secret.
    func attributesOfTime(_ secret: Dot) -> [(attribute: PageAttribute, name: ValueName)]? {
        guard let (_, sibling) = siblings.filter({ $1.fields[.secret] == secret }).max(by: { $0.key < $1.key }) else {
            return nil
        }
        var list: [(attribute: PageAttribute, name: ValueName)] = []
        for (field, dot) in sibling.fields.sorted(by: { $0.key < $1.key }) {
            let name = ValueName(field, dot)
            if let attribute = values[name]?.plainAttribute(field) { list.append((attribute, name)) }
        }
        return list
    }
}

extension HeldValue {
    /// The value as an attribute stored with a secret; nil for a sealed attribute and for other fields.
    fileprivate func plainAttribute(_ field: FieldName) -> PageAttribute? {
        guard case .attribute(let flags, let content) = content, !flags.contains(.sealed),
            case .attribute(let name) = field
        else { return nil }
        let value: PageAttribute.Value =
            switch content {
            case .inPage(let bytes): .inPage(bytes)
            case .inRecord(let record): flags.contains(.inOwnRecord) ? .inOwnRecord(record) : .inItemRecord
            }
        return PageAttribute(name: String(decoding: name, as: UTF8.self), flags: flags, value: value)
    }
}
