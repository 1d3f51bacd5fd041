internal import Foundation
internal import VaultFmt

/// Selects the items that match a request.
struct ItemMatcher {
    /// The conditions that the vault can check by itself; `accepts` checks the rest.
    let query: Query
    private let conditions: [(row: AttributeTable.Row, value: AttributeValue)]
    private let items: Set<ItemID>?
    private let folding: ItemRequest.Folding

    /// Throws `param` if a condition is not a searchable attribute, and `invalidItemReference` for references to
    /// another vault.
    init(_ request: ItemRequest, in vault: Vault) throws(KeychainFailure) {
        let table = AttributeTable.of(request.itemClass)
        conditions = request.attributes.values.compactMap { code, value in table[code].map { ($0, value) } }
        items = try request.references.map { (references) throws(KeychainFailure) in
            guard references.allSatisfy({ $0.vault == vault.id }) else {
                throw KeychainFailure(.invalidItemReference, "a reference points to an item in another vault")
            }
            return Set(references.map(\.item))
        }
        folding = request.folding
        query = try Self.query(request)
    }

    private static func query(_ request: ItemRequest) throws(KeychainFailure) -> Query {
        var query = Query()
        query.itemClass = request.itemClass
        if request.synchronizable == .unsaid, request.references == nil { query.synchronizable = false }
        if request.synchronizable == .named { query.synchronizable = request.attributes.flag(SecKey.synchronizable) }
        guard request.folding.isEmpty else { return query }
        let attributes = request.attributes
        query.group = attributes.text(SecKey.accessGroup)
        let fields: [ItemKey.Field] = [.account, .service, .server, .protocol, .path, .port]
        for field in fields where field.classes.contains(request.itemClass) {
            query[field] = try attributes.value(of: field)
        }
        return query
    }

    /// Returns whether an item found by the vault's own query matches. `whole` fetches the attributes that only an
    /// opened item has.
    func accepts(_ item: Item, whole: (Item) throws(KeychainFailure) -> Item) throws(KeychainFailure) -> Bool {
        if let items, !items.contains(item.id) { return false }
        let types = OtherTypes(item)
        let key = KeyValues(item.key, types)
        for (row, value) in conditions {
            let known = ItemAttributes.value(row, item, key, types)
            if let known {
                guard isSame(known, Self.asStored(value, row)) else { return false }
                continue
            }
            guard item.unreadAttributes > 0, item.isListed(row),
                let hidden = ItemAttributes.value(row, try whole(item), key, types), isSame(hidden, value)
            else {
                return false
            }
        }
        return true
    }

    /// Returns a value in the form in which a matching item stores it: a protocol or an authentication type given as
    /// the vault's word becomes its code.
    private static func asStored(_ value: AttributeValue, _ row: AttributeTable.Row) -> AttributeValue {
        guard case .key(let field) = row.place, let coded = field.codedText, case .text(let text) = value else {
            return value
        }
        return .text(coded.code(coded.word(text)))
    }

    private func isSame(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
        guard !folding.isEmpty, case .text(let left) = left, case .text(let right) = right else {
            return left.hasSameBytes(as: right)
        }
        return folded(left).utf8.elementsEqual(folded(right).utf8)
    }

    /// Returns a form of the text without the differences that the request ignores.
    private func folded(_ text: String) -> String {
        var options: String.CompareOptions = []
        if folding.contains(.diacritics) { options.insert(.diacriticInsensitive) }
        if folding.contains(.width) { options.insert(.widthInsensitive) }
        let folded = options.isEmpty ? text : text.folding(options: options, locale: nil)
        return folding.contains(.letterCase) ? folded.lowercased() : folded
    }
}

extension Item {
    /// Returns whether the item has a row's attribute, even if the attribute's value has not been read.
    fileprivate func isListed(_ row: AttributeTable.Row) -> Bool {
        guard case .attribute(let name) = row.place else { return true }
        return attributes.attribute(name) != nil
    }
}

/// The attributes of an item under their names in these APIs.
enum ItemAttributes {
    /// Returns the value of an attribute, or nil if the item does not have the attribute.
    static func value(_ row: AttributeTable.Row, _ item: Item, _ key: KeyValues, _ types: OtherTypes) -> AttributeValue?
    {
        switch row.place {
        case .key: key[row.code]
        case .group: .text(item.key.group)
        case .synchronizable: .flag(item.key.synchronizable)
        case .accessible: .text(item.accessibility.code)
        case .created: .date(item.created)
        case .modified: .date(item.modified)
        case .attribute(let name):
            item.attributes[name].flatMap {
                AttributeValue(stored: $0, row.kind, isOtherType: types.contains(row.code))
            }
        case .accessControl: nil
        }
    }

    /// Returns all attributes in the form used in a dictionary of results.
    static func dictionary(_ item: Item) -> [String: Any] {
        let types = OtherTypes(item)
        let key = KeyValues(item.key, types)
        var all: [String: Any] = [SecKey.itemClass: item.key.itemClass.code]
        for row in AttributeTable.of(item.key.itemClass).all {
            if let value = value(row, item, key, types) { all[row.code] = value.object(row.kind) }
        }
        all[SecKey.accessControl] = SecAccessControl(protection: item.accessibility.code, flags: policy(item))
        return all
    }

    /// Returns the flags of the access control that the item was stored with, or 0 if there was none.
    static func policy(_ item: Item) -> UInt {
        item.attributes.string(ItemChanges.policyName).flatMap { UInt($0) } ?? 0
    }
}
