internal import Foundation
package import VaultFmt
internal import VaultLocal

/// A dictionary as these APIs take it, understood: which items, or what the new item is, and what to give back.
package struct ItemRequest {
    /// Whether items that are meant to be synchronised are searched.
    package enum Synchronizable: Sendable {
        /// Nothing was said: those that are not.
        case unsaid
        case any
        case named
    }

    /// What to give back.
    package struct Returns: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let data = Returns(rawValue: 1)
        package static let attributes = Returns(rawValue: 2)
        package static let reference = Returns(rawValue: 4)
        package static let persistentReference = Returns(rawValue: 8)
    }

    /// What is ignored where texts are compared.
    struct Folding: OptionSet {
        let rawValue: Int

        static let letterCase = Folding(rawValue: 1)
        static let diacritics = Folding(rawValue: 2)
        static let width = Folding(rawValue: 4)
    }

    package let itemClass: ItemClass
    /// The attributes named, which items must have; the secret only where an item is added.
    private(set) var attributes = ItemChanges()
    private(set) var synchronizable = Synchronizable.unsaid
    private(set) var references: Set<ItemReference>?
    package private(set) var returns: Returns = []
    /// How many items at most; nil if nothing was said.
    package private(set) var limit: Int?
    private(set) var folding: Folding = []
    private(set) var interaction = Interaction()

    /// Understands a dictionary.
    ///
    /// Throws `param` where no class is named, a key is not known or a value has the wrong type; `noSuchClass`,
    /// `noSuchAttribute`, `invalidItemReference`.
    package init(_ dictionary: [String: Any]) throws(KeychainFailure) {
        itemClass = try Self.itemClass(dictionary)
        for (name, value) in dictionary where name != SecKey.itemClass { try add(name, value) }
        try attributes.checkProtection()
    }

    private static func itemClass(_ dictionary: [String: Any]) throws(KeychainFailure) -> ItemClass {
        if let value = dictionary[SecKey.itemClass] {
            guard let code = value as? String else { throw KeychainFailure(.param, "the value of 'class' is no text") }
            guard let found = ItemClass(code: code) else {
                throw KeychainFailure(.noSuchClass, "there is no class \(TerminalText.quoted(code))")
            }
            return found
        }
        for name in [SecKey.valuePersistentReference, SecKey.valueReference] {
            if let value = dictionary[name] { return try reference(value).itemClass }
        }
        throw KeychainFailure(.param, "the dictionary names no class of items (kSecClass)")
    }

    private mutating func add(_ name: String, _ value: Any) throws(KeychainFailure) {
        if try addSearch(name, value) { return }
        if try addReturn(name, value) { return }
        if try addInteraction(name, value) { return }
        if name == SecKey.synchronizable { return try add(synchronizable: value) }
        guard name.utf8.count == 4 || name == SecKey.valueData else {
            throw KeychainFailure(.param, "the key \(TerminalText.quoted(name)) is not supported")
        }
        try attributes.add(name, value, of: itemClass)
    }

    private mutating func add(synchronizable value: Any) throws(KeychainFailure) {
        if value as? String == SecKey.synchronizableAny { return synchronizable = .any }
        synchronizable = .named
        try attributes.add(SecKey.synchronizable, value, of: itemClass)
    }

    private mutating func addSearch(_ name: String, _ value: Any) throws(KeychainFailure) -> Bool {
        switch name {
        case SecKey.matchLimit: limit = try Self.limit(value)
        case SecKey.matchCaseInsensitive: if try Self.flag(name, value) { folding.insert(.letterCase) }
        case SecKey.matchDiacriticInsensitive: if try Self.flag(name, value) { folding.insert(.diacritics) }
        case SecKey.matchWidthInsensitive: if try Self.flag(name, value) { folding.insert(.width) }
        case SecKey.matchItemList:
            guard let list = value as? [Any] else {
                throw KeychainFailure(.param, "a list of items is an array of references")
            }
            for entry in list { references = (references ?? []).union([try Self.reference(entry)]) }
            references = references ?? []
        case SecKey.valueReference, SecKey.valuePersistentReference:
            references = (references ?? []).union([try Self.reference(value)])
        default: return false
        }
        return true
    }

    private mutating func addReturn(_ name: String, _ value: Any) throws(KeychainFailure) -> Bool {
        let part: Returns
        switch name {
        case SecKey.returnData: part = .data
        case SecKey.returnAttributes: part = .attributes
        case SecKey.returnReference: part = .reference
        case SecKey.returnPersistentReference: part = .persistentReference
        default: return false
        }
        if try Self.flag(name, value) { returns.insert(part) }
        return true
    }

    private mutating func addInteraction(_ name: String, _ value: Any) throws(KeychainFailure) -> Bool {
        switch name {
        case SecKey.useAuthenticationUI:
            switch value as? String {
            case SecKey.useAuthenticationUIAllow: interaction.ui = .allow
            case SecKey.useAuthenticationUIFail: interaction.ui = .fail
            case SecKey.useAuthenticationUISkip: interaction.ui = .skip
            default:
                throw KeychainFailure(
                    .param, "the value of \(TerminalText.quoted(name)) is none of the constants for it")
            }
        case SecKey.useNoAuthenticationUI: if try Self.flag(name, value) { interaction.ui = .fail }
        case SecKey.useOperationPrompt:
            guard let prompt = value as? String else { throw KeychainFailure(.param, "a prompt is a text") }
            interaction.prompt = prompt
        case SecKey.useAuthenticationContext: interaction.context = value as AnyObject
        // Which of macOS's two keychains: a vault is like the one that is asked for.
        case SecKey.useDataProtectionKeychain: _ = try Self.flag(name, value)
        default: return false
        }
        return true
    }

    // MARK: values

    private static func limit(_ value: Any) throws(KeychainFailure) -> Int {
        switch value as? String {
        case SecKey.matchLimitOne: return 1
        case SecKey.matchLimitAll: return .max
        default: break
        }
        guard case .number(let number) = AttributeValue(value, .number), let limit = Int(exactly: number), limit > 0
        else {
            throw KeychainFailure(.param, "the match limit is neither one of its constants nor a number above 0")
        }
        return limit
    }

    private static func flag(_ name: String, _ value: Any) throws(KeychainFailure) -> Bool {
        guard case .flag(let flag) = AttributeValue(value, .flag) else {
            throw KeychainFailure(.param, "the value of \(TerminalText.quoted(name)) is neither true nor false")
        }
        return flag
    }

    private static func reference(_ value: Any) throws(KeychainFailure) -> ItemReference {
        guard let data = value as? Data, let reference = ItemReference(data) else {
            throw KeychainFailure(.invalidItemReference, "a reference is none that this library made")
        }
        return reference
    }
}
