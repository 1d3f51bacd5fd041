package import VaultFmt

/// What a vault should hold, in plain memory.
package struct VaultModel: Sendable {
    package struct Item: Equatable, Sendable {
        package var secret: [UInt8]
        /// By the bytes of their names: Swift takes canonically equivalent strings for one.
        package var attributes: [[UInt8]: [UInt8]] = [:]
        package var accessibility: Accessibility
        /// Known once the item was seen in a vault.
        package var id: ItemID?

        mutating func apply(_ choice: AttributesChoice) {
            if choice.replacesAll { attributes = [:] }
            if choice.removesSome { for name in AttributesChoice.removed { attributes[Array(name.utf8)] = nil } }
            for one in choice.set { attributes[Array(AttributeChoice.names[one.name].utf8)] = one.value.bytes }
        }
    }

    package var items: [ItemKey: Item] = [:]

    /// What a change must answer: nil for success, else the code of the error.
    mutating func apply(_ change: Change) throws(VaultError) -> VaultError.Code? {
        switch change {
        case .set(let name, let secret, let attributes, let accessibility):
            let key = try name.key()
            var item = items[key] ?? Item(secret: [], accessibility: .whenUnlocked)
            item.secret = secret.bytes
            item.accessibility = accessibility ?? item.accessibility
            item.apply(attributes)
            items[key] = item
        case .add(let name, let secret, let attributes, let accessibility):
            let key = try name.key()
            guard items[key] == nil else { return .duplicateItem }
            var item = Item(secret: secret.bytes, accessibility: accessibility)
            for one in attributes.set { item.attributes[Array(AttributeChoice.names[one.name].utf8)] = one.value.bytes }
            items[key] = item
        case .update(let name, let attributes, let accessibility):
            let key = try name.key()
            guard var item = items[key] else { return .noSuchItem }
            item.apply(attributes)
            item.accessibility = accessibility ?? item.accessibility
            items[key] = item
        case .move(let name, let target):
            let (from, to) = (try name.key(), try target.key())
            guard let item = items[from] else { return .noSuchItem }
            if from == to { return nil }
            guard from.itemClass == to.itemClass else { return .invalidArgument }
            guard items[to] == nil else { return .duplicateItem }
            items[from] = nil
            items[to] = item
        case .remove(let name): items[try name.key()] = nil
        }
        return nil
    }

    /// Learns the ids of items that are new.
    mutating func learn(_ id: ItemID, _ key: ItemKey) { items[key]?.id = id }
}

/// A vault is not what it should be.
package struct Mismatch: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    static func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(Mismatch) {
        guard condition else { throw Mismatch(what()) }
    }
}
