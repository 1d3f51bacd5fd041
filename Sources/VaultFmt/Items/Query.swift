internal import VaultBytes

/// Selects items for a listing or a scan. Every property that is set must match exactly, except that `pattern` may
/// match a part of the text.
public struct Query: Sendable, Equatable {
    /// The class.
    public var itemClass: ItemClass?
    /// The values of fields of the key; an item whose class lacks one of them does not match.
    public var fields: [ItemKey.Field: ItemKey.Value]
    /// The access group.
    public var group: String?
    /// The label.
    public var label: String?
    /// True if the item is meant to be synchronized between devices.
    public var synchronizable: Bool?
    /// The accessibility.
    public var accessibility: Accessibility?
    /// A string that the service, account, server or label must contain, ignoring case.
    public var pattern: String?

    /// Makes a query; without arguments, it matches every item.
    public init(
        itemClass: ItemClass? = nil, _ fields: [ItemKey.Field: ItemKey.Value] = [:], group: String? = nil,
        label: String? = nil, synchronizable: Bool? = nil, accessibility: Accessibility? = nil, pattern: String? = nil
    ) {
        self.itemClass = itemClass
        self.fields = fields
        self.group = group
        self.label = label
        self.synchronizable = synchronizable
        self.accessibility = accessibility
        self.pattern = pattern
    }

    /// The value that the given field must match.
    public subscript(field: ItemKey.Field) -> ItemKey.Value? {
        get { fields[field] }
        set { fields[field] = newValue }
    }

    /// Returns whether an item matches.
    public func matches(_ item: Item) -> Bool {
        let key = item.key
        return matches(key) && (accessibility == nil || item.accessibility == accessibility)
            && (label == nil || Self.isSame(item.attributes.label, label)) && matchesPattern(key, item)
    }

    private func matches(_ key: ItemKey) -> Bool {
        (itemClass == nil || key.itemClass == itemClass)
            && (synchronizable == nil || key.synchronizable == synchronizable)
            && (group == nil || Self.isSame(key.group, group)) && fields.allSatisfy { key[$0] == $1 }
    }

    private func matchesPattern(_ key: ItemKey, _ item: Item) -> Bool {
        guard let pattern, !pattern.isEmpty else { return true }
        let wanted = pattern.lowercased()
        return [key.service, key.account, key.server, item.attributes.label].contains {
            $0.map { Self.contains($0.lowercased(), wanted) } ?? false
        }
    }

    /// Compares bytes: canonically equivalent strings do not match.
    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        switch (left, right) {
        case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
        case (nil, nil): true
        default: false
        }
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let text = Array(text.utf8)
        let part = Array(part.utf8)
        guard part.count <= text.count else { return false }
        return (0...text.count - part.count).contains { text[$0..<$0 + part.count].elementsEqual(part) }
    }

    /// The common prefix of all matching keys, which limits the part of the vault that must be read.
    var keyPrefix: [UInt8] {
        guard let itemClass = itemClass ?? onlyClass else { return [] }
        var out = [itemClass.rawValue]
        for field in itemClass.fields {
            // Pages do not contain the suffix of a listed key.
            guard let value = fields[field], value.kind == field.kind, !TwinKey.endsLikeListed(value) else { break }
            value.encode(into: &out)
        }
        return out
    }

    /// The only class that has all of the fields; nil if there are several.
    private var onlyClass: ItemClass? {
        let classes = ItemClass.allCases.filter { fields.keys.allSatisfy($0.fields.contains) }
        return classes.count == 1 ? classes[0] : nil
    }
}
