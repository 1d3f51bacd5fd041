package import VaultFmt

/// An item's name, one of few, so that most are met again; some share long beginnings, some are long by themselves.
package struct NameChoice: Equatable, Sendable {
    package var shape: Int
    package var name: Int
    package var variant: Int
    package var group: Int
    package var length: Int
    package var isSynchronizable: Bool

    package static let groups = ["", "work", "home"]

    init(_ choices: inout some Choices) {
        shape = choices.below(8)
        name = choices.below(15)
        variant = choices.below(4)
        group = [0, 0, 0, 1, 2][choices.below(5)]
        length = choices.chance(8) ? (choices.chance(3) ? 3000 : 500) : 0
        isSynchronizable = choices.chance(9)
    }

    package func key() throws(VaultError) -> ItemKey {
        let long = String(repeating: "long ", count: length / 5)
        let group = Self.groups[group]
        switch shape {
        case 0, 1, 2:
            return try .genericPassword(
                service: long + "service \(variant)", account: "\(name)", group: group, synchronizable: isSynchronizable
            )
        case 3, 4:
            return try .internetPassword(
                server: "host\(variant).example", account: "\(name)", protocol: "https", port: UInt32(shape) * 443,
                path: long)
        case 5:
            return try .certificate(
                type: 3, issuer: Array((long + "CN=\(variant)").utf8), serialNumber: [0, UInt8(name)], group: group)
        case 6:
            return try .key(
                keyClass: UInt32(variant), keyType: 42, applicationLabel: [UInt8(name)],
                applicationTag: Array(long.utf8),
                sizeInBits: 2048, effectiveSize: 2048)
        default: return try .identity(type: 3, issuer: Array("CN=\(variant)".utf8), serialNumber: [UInt8(name)])
        }
    }
}

/// Bytes by their number and a first one.
package struct ContentChoice: Equatable, Sendable {
    package var length: Int
    package var first: UInt8

    init(length: Int, _ choices: inout some Choices) {
        self.length = length
        first = UInt8(choices.below(256))
    }

    static func secret(_ choices: inout some Choices) -> ContentChoice {
        let length =
            choices.chance(60) ? choices.chance(6) ? 1_500_000 : 3000 + choices.below(30_000) : choices.below(200)
        return ContentChoice(length: length, &choices)
    }

    package var bytes: [UInt8] { (0..<length).map { first &+ UInt8(truncatingIfNeeded: $0) } }
}

/// An attribute, by one of few names.
package struct AttributeChoice: Equatable, Sendable {
    package var name: Int
    package var value: ContentChoice

    package static let names = ["label", "comment", "sealed:seed", "note", "tag", "b\u{FC}rger", "bu\u{308}rger"]

    static func some(_ choices: inout some Choices) -> [AttributeChoice] {
        var all: [AttributeChoice] = []
        for _ in 0..<choices.below(4) {
            let name = choices.below(names.count)
            let length = choices.chance(12) ? 250 + choices.below(2000) : choices.below(120)
            all.append(AttributeChoice(name: name, value: ContentChoice(length: length, &choices)))
        }
        return all
    }
}

/// What becomes of an item's attributes.
package struct AttributesChoice: Equatable, Sendable {
    package var set: [AttributeChoice]
    package var removesSome: Bool
    package var replacesAll: Bool

    static let removed = ["comment", "tag", "bu\u{308}rger"]

    init(_ choices: inout some Choices) {
        set = AttributeChoice.some(&choices)
        removesSome = choices.chance(3)
        replacesAll = choices.chance(8)
    }

    var attributes: Attributes {
        var all = Attributes()
        for one in self.set { all[AttributeChoice.names[one.name]] = one.value.bytes }
        return all
    }

    var changes: AttributeChanges {
        AttributeChanges(set: attributes, remove: removesSome ? Self.removed : [], replaceAll: replacesAll)
    }
}

/// One change within a transaction.
package enum Change: Equatable, Sendable {
    case set(NameChoice, ContentChoice, AttributesChoice, Accessibility?)
    case add(NameChoice, ContentChoice, AttributesChoice, Accessibility)
    case update(NameChoice, AttributesChoice, Accessibility?)
    case move(NameChoice, to: NameChoice)
    case remove(NameChoice)

    init(_ choices: inout some Choices) {
        let kind = choices.below(10)
        let name = NameChoice(&choices)
        switch kind {
        case 0, 1, 2, 3:
            self = .set(
                name, .secret(&choices), AttributesChoice(&choices),
                choices.chance(3) ? Self.accessibility(&choices) : nil)
        case 4: self = .add(name, .secret(&choices), AttributesChoice(&choices), Self.accessibility(&choices))
        case 5, 6:
            self = .update(name, AttributesChoice(&choices), choices.chance(4) ? Self.accessibility(&choices) : nil)
        case 7: self = .move(name, to: NameChoice(&choices))
        default: self = .remove(name)
        }
    }

    private static func accessibility(_ choices: inout some Choices) -> Accessibility {
        choices.pick(Accessibility.allCases)
    }
}

/// One thing that is done to a vault.
package enum Operation: Equatable, Sendable {
    /// Changes in one transaction, which may be given up at its end.
    case transaction([Change], givesUp: Bool)
    /// The same through a second handle, of which the first learns later.
    case transactionElsewhere([Change])
    case compact
    case lockAndUnlock
    case changeFactors
    case rotate
    /// A scoped slot is added, read through, and removed.
    case useScopedSlot(group: Int)
    case refresh
    /// Opens the vault again with a page cache of this size, and compares everything; then goes on with this handle or
    /// the old one.
    case reopen(cacheBytes: Int, goesOn: Bool)
    case openReader
    /// Readers have what was there when they were opened.
    case checkReaders
    case refreshReaders
    case wait(days: Int)
    case verify
    case salvage

    init(_ choices: inout some Choices) {
        switch choices.below(80) {
        case 0, 1: self = .compact
        case 2, 3: self = .lockAndUnlock
        case 4: self = .changeFactors
        case 5: self = .rotate
        case 6: self = .useScopedSlot(group: choices.below(NameChoice.groups.count))
        case 7: self = .refresh
        case 8, 9: self = .reopen(cacheBytes: choices.pick([0, 20_000, 8 << 20]), goesOn: choices.chance(2))
        case 10: self = .openReader
        case 11: self = .checkReaders
        case 12: self = .refreshReaders
        case 13: self = .wait(days: choices.below(200))
        case 14: self = choices.chance(3) ? .verify : .refresh
        case 15: self = choices.chance(3) ? .salvage : .refresh
        case 16, 17: self = .transactionElsewhere(Self.changes(1 + choices.below(2), &choices))
        default:
            let count = choices.chance(20) ? 5 + choices.below(60) : 1 + choices.below(3)
            self = .transaction(Self.changes(count, &choices), givesUp: choices.chance(12))
        }
    }

    private static func changes(_ count: Int, _ choices: inout some Choices) -> [Change] {
        var all: [Change] = []
        for _ in 0..<count where !choices.areOver { all.append(Change(&choices)) }
        return all
    }

    /// The changes of items that it makes.
    package var changes: [Change] {
        switch self {
        case .transaction(let changes, _), .transactionElsewhere(let changes): changes
        default: []
        }
    }

    /// Operations until the choices are over, or there are so many changes in them.
    package static func sequence(_ choices: inout some Choices, changes: Int) -> [Operation] {
        var all: [Operation] = []
        var count = 0
        while count < changes, !choices.areOver {
            all.append(Operation(&choices))
            count += max(all[all.count - 1].changes.count, 1)
        }
        return all
    }
}
