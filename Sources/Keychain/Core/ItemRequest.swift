internal import Foundation
package import VaultFmt
internal import VaultLocal

/// A parsed request dictionary: the items to find or the item to add, and the parts to return.
package struct ItemRequest {
    /// Selects items by whether they are synchronizable.
    package enum Synchronizable: Sendable {
        /// Not specified: only items that are not synchronizable.
        case unsaid
        case any
        case named
    }

    /// The parts to return.
    package struct Returns: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let data = Returns(rawValue: 1)
        package static let attributes = Returns(rawValue: 2)
        package static let reference = Returns(rawValue: 4)
        package static let persistentReference = Returns(rawValue: 8)
    }

    /// The differences ignored when comparing text.
    struct Folding: OptionSet {
        let rawValue: Int

        static let letterCase = Folding(rawValue: 1)
        static let diacritics = Folding(rawValue: 2)
        static let width = Folding(rawValue: 4)
    }

    package let itemClass: ItemClass
    /// The given attributes, which items must have; the secret is used only when an item is added.
    private(set) var attributes = ItemChanges()
    private(set) var synchronizable = Synchronizable.unsaid
    private(set) var references: Set<ItemReference>?
    package private(set) var returns: Returns = []
    /// The maximum number of items; nil if not specified.
    package private(set) var limit: Int?
    private(set) var folding: Folding = []
    private(set) var interaction = Interaction()

    /// Parses a dictionary.
    ///
    /// Throws `param` if no class is given, a key is unknown or a value has the wrong type; also `noSuchClass`,
    /// `noSuchAttribute` and `invalidItemReference`.
    package init(_ dictionary: [String: Any]) throws(KeychainFailure) {
        itemClass = try Self.itemClass(dictionary)
        for (name, value) in dictionary where name != SecKey.itemClass { try add(name, value) }
        try attributes.checkProtection()
    }

    private static func itemClass(_ dictionary: [String: Any]) throws(KeychainFailure) -> ItemClass {
        if let value = dictionary[SecKey.itemClass] {
            guard let code = value as? String else {
                throw KeychainFailure(.param, "the value of 'class' is not a string")
            }
            guard let found = ItemClass(code: code) else {
                throw KeychainFailure(.noSuchClass, "there is no class \(TerminalText.quoted(code))")
            }
            return found
        }
        for name in [SecKey.valuePersistentReference, SecKey.valueReference] {
            if let value = dictionary[name] { return try reference(value).itemClass }
        }
        throw KeychainFailure(.param, "the dictionary does not specify an item class (kSecClass)")
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
                throw KeychainFailure(.param, "a list of items must be an array of references")
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
                    .param, "the value of \(TerminalText.quoted(name)) is not one of the defined constants")
            }
        case SecKey.useNoAuthenticationUI: if try Self.flag(name, value) { interaction.ui = .fail }
        case SecKey.useOperationPrompt:
            guard let prompt = value as? String else { throw KeychainFailure(.param, "a prompt must be a string") }
            interaction.prompt = prompt
        case SecKey.useAuthenticationContext: interaction.context = value as AnyObject
        // This key selects one of macOS's two keychains; a vault behaves like the selected keychain.
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
            throw KeychainFailure(
                .param, "the match limit must be one of the defined constants or a number greater than 0")
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
            throw KeychainFailure(.invalidItemReference, "a reference was not created by this library")
        }
        return reference
    }
}
