internal import VaultBytes
internal import VaultStore

/// Two changes of one item, brought together field by field.
struct FieldUnion {
    private let device: Bytes16
    private let comparison: ValueComparison
    private let winner: HeldItem
    private let loser: HeldItem
    private let base: HeldValue?
    private var choice: FieldChoice

    /// An attribute of the result, and the value that it comes from.
    struct Chosen {
        let attribute: Attribute
        let from: HeldValue
    }

    /// What both sides make together; the key is the plan's.
    struct Result {
        var secret: SecretBox
        var attributes: [Chosen]
        var accessibility: Accessibility
        var device: Bytes16
        /// What is left to settle.
        var conflicts: [LostValue]
        /// Fields that were added to it by this merge.
        var fields: [ConflictField]
        /// Whether the value of the item that lost becomes an earlier value: its secret or a sealed attribute is
        /// another one.
        var makesVersion: Bool
    }

    init(winner: HeldItem, loser: HeldItem, base: HeldValue?, device: Bytes16) {
        self.winner = winner
        self.loser = loser
        self.base = base
        self.device = device
        comparison = ValueComparison(device: device)
        choice = FieldChoice(winner.stamp, loser.stamp)
    }

    /// Nil if one of both sides cannot be sealed again here.
    mutating func run() throws(VaultError) -> Result? {
        guard let first = try winner.value.content(for: device), let second = try loser.value.content(for: device)
        else { return nil }
        let there = try readable { () throws(VaultError) in try base?.content(for: device) }
        let (mine, other) = (try first.conflicts(winner.value), try second.conflicts(loser.value))
        choice.named = ConflictAttribute.union(mine + other)
        let secret = chosenSecret(first, second, there)
        let key = try chosenKey(first, second, there)
        let binding = chosenBinding(first, second, there)
        let attributes = try chosenAttributes(first, second, there)
        let old = try there.flatMap { (there) throws(VaultError) in
            try base.flatMap { (base) throws(VaultError) in
                try readable { () throws(VaultError) in try there.conflicts(base) }
            }
        }
        let settled = ConflictAttribute.united(mine, other, base: old ?? [])
        var result = Result(
            secret: secret, attributes: attributes, accessibility: binding.accessibility, device: binding.device,
            conflicts: [], fields: choice.lost.map(\.field), makesVersion: try haveOtherSealedValues(first, second))
        let live = try Self.fields(winner.stamp, key, result)
        result.conflicts = ConflictAttribute.union(settled + choice.lost).filter { entry in
            !live.contains { $0.hasSameValue(as: entry) }
        }
        return result
    }

    /// What is read of the base; nil where its records are damaged, which nothing refers to any more. A value that is
    /// not known makes more conflicts, and loses nothing.
    private func readable<R>(_ read: () throws(VaultError) -> R?) throws(VaultError) -> R? {
        do throws(VaultError) { return try read() } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    private mutating func chosenSecret(_ first: HeldContent, _ second: HeldContent, _ there: HeldContent?) -> SecretBox
    {
        func isOld(_ content: HeldContent) -> Bool {
            there.map { $0.secret.secret.equals(content.secret.secret) } ?? false
        }
        let isFirst = choice.isFirst(
            .secret, mine: first.secret, other: second.secret,
            isSame: first.secret.secret.equals(second.secret.secret), isFirstOld: isOld(first),
            isSecondOld: isOld(second))
        return isFirst ? first.secret : second.secret
    }

    /// Accessibility and device. An earlier value does not say what they were: then both changed them.
    private mutating func chosenBinding(
        _ first: HeldContent, _ second: HeldContent, _ there: HeldContent?
    ) -> (accessibility: Accessibility, device: Bytes16) {
        let old = base?.item == nil ? nil : there?.binding
        let isFirst = choice.isFirst(
            .accessibility, mine: SecretBox(Secret(bytes: first.binding)),
            other: SecretBox(Secret(bytes: second.binding)), isSame: first.binding == second.binding,
            isFirstOld: first.binding == old, isSecondOld: second.binding == old)
        return isFirst ? (first.accessibility, first.device) : (second.accessibility, second.device)
    }

    private mutating func chosenKey(
        _ first: HeldContent, _ second: HeldContent, _ there: HeldContent?
    ) throws(VaultError) -> ItemKey {
        try Self.key(
            ConflictKey.plain(first.key, winner.id), ConflictKey.plain(second.key, loser.id),
            base: there.map { ConflictKey.plain($0.key, loser.id) }, &choice)
    }

    /// The key that two changed ones make together.
    static func key(
        _ first: ItemKey, _ second: ItemKey, base: ItemKey?, _ choice: inout FieldChoice
    ) throws(VaultError) -> ItemKey {
        var (mine, other, was) = (KeyParts(first), KeyParts(second), base.map(KeyParts.init))
        func box(_ bytes: [UInt8]) -> SecretBox { SecretBox(Secret(bytes: bytes)) }
        guard mine.isLike(other), was.map({ $0.isLike(mine) }) ?? true else {
            // Fields of different classes do not compare: the key is one field.
            let isFirst = choice.isFirst(
                .keyField, name: "key", mine: box(first.bytes), other: box(second.bytes), isSame: first == second,
                isFirstOld: first == base, isSecondOld: second == base)
            return isFirst ? first : second
        }
        for (index, name) in mine.names.enumerated() {
            let isFirst = choice.isFirst(
                .keyField, name: name, mine: box(mine[index]), other: box(other[index]),
                isSame: mine[index] == other[index], isFirstOld: was?[index] == mine[index],
                isSecondOld: was?[index] == other[index])
            if !isFirst { mine[index] = other[index] }
        }
        return try mine.encoded()
    }

    private mutating func chosenAttributes(
        _ first: HeldContent, _ second: HeldContent, _ there: HeldContent?
    ) throws(VaultError) -> [Chosen] {
        var names = Set(first.attributes.all.map { Array($0.name.utf8) })
        names.formUnion(second.attributes.all.map { Array($0.name.utf8) })
        names.remove(Array(ConflictAttribute.name.utf8))
        var out: [Chosen] = []
        for name in names.sorted(by: ByteOrder.isLess) {
            let name = String(decoding: name, as: UTF8.self)
            let mine = first.attributes.attribute(name).map { Chosen(attribute: $0, from: winner.value) }
            let other = second.attributes.attribute(name).map { Chosen(attribute: $0, from: loser.value) }
            let old = there?.attributes.attribute(name).flatMap { attribute in
                base.map { Chosen(attribute: attribute, from: $0) }
            }
            let isBased = there != nil
            if try isSame(mine, other) {
                if let mine { out.append(mine) }
                continue
            }
            let isFirstOld = try readable { () throws(VaultError) in try isSame(mine, old) } ?? false
            let isSecondOld = try readable { () throws(VaultError) in try isSame(other, old) } ?? false
            let isFirst = choice.isFirst(
                .attribute, name: name, flags: mine?.flags ?? [], otherFlags: other?.flags ?? [],
                mine: try mine?.value, other: try other?.value, isSame: false, isFirstOld: isBased && isFirstOld,
                isSecondOld: isBased && isSecondOld)
            if let chosen = isFirst ? mine : other { out.append(chosen) }
        }
        return out
    }

    private func haveOtherSealedValues(_ first: HeldContent, _ second: HeldContent) throws(VaultError) -> Bool {
        guard first.secret.secret.equals(second.secret.secret) else { return true }
        func sealed(_ content: HeldContent) -> [Attribute] {
            content.attributes.all.filter { $0.flags.contains(.sealed) && $0.name != ConflictAttribute.name }
        }
        let (mine, other) = (sealed(first), sealed(second))
        guard mine.count == other.count else { return true }
        for (one, another) in zip(mine, other) {
            guard try comparison.isSame(one, winner.value, another, loser.value) else { return true }
        }
        return false
    }

    private func isSame(_ one: Chosen?, _ other: Chosen?) throws(VaultError) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return try comparison.isSame(one.attribute, one.from, other.attribute, other.from)
    }

    // MARK: fields as entries

    /// All fields of an item that gives its place up.
    static func everything(_ stamp: Stamp, _ key: ItemKey, _ content: Result) throws(VaultError) -> [LostValue] {
        try fields(stamp, key, content) + content.conflicts
    }

    /// Each field's value, as an entry of `conflict`.
    static func fields(
        _ stamp: Stamp, _ key: ItemKey, _ content: Result
    ) throws(VaultError) -> [LostValue] {
        var fields = [LostValue(stamp, .secret, content.secret)]
        let parts = KeyParts(key)
        for (index, name) in parts.names.enumerated() {
            fields.append(LostValue(stamp, .keyField, name: name, SecretBox(Secret(bytes: parts[index]))))
        }
        for chosen in content.attributes {
            fields.append(
                LostValue(
                    stamp, .attribute, flags: chosen.flags, name: chosen.attribute.name, try chosen.value))
        }
        let binding = [content.accessibility.rawValue] + content.device.bytes
        fields.append(LostValue(stamp, .accessibility, SecretBox(Secret(bytes: binding))))
        return fields
    }
}

extension FieldUnion.Chosen {
    fileprivate var flags: AttributeFlags { AttributeFlags(rawValue: attribute.flags.rawValue) }

    fileprivate var value: SecretBox {
        get throws(VaultError) { SecretBox(try from.value(of: attribute)) }
    }
}

/// Chooses between the values of two items, field by field, and remembers what loses.
struct FieldChoice {
    private let winner: Stamp
    private let loser: Stamp
    /// What the two items' conflicts name.
    var named: [LostValue] = []
    /// Values that lost, each as the conflicts name it already, or as a new entry.
    private(set) var lost: [LostValue] = []

    init(_ winner: Stamp, _ loser: Stamp) {
        self.winner = winner
        self.loser = loser
    }

    /// Whether the winner's value of a field holds: that of the side that changed it, of two that changed it the
    /// winner's. Nil is no value.
    mutating func isFirst(
        _ kind: LostValue.Kind, name: String = "", flags: AttributeFlags = [], otherFlags: AttributeFlags = [],
        mine: SecretBox?, other: SecretBox?, isSame: Bool, isFirstOld: Bool, isSecondOld: Bool
    ) -> Bool {
        if isSame { return true }
        let first = mine.map { LostValue(loser, kind, flags: flags, name: name, $0) }
        let second = other.map { LostValue(loser, kind, flags: otherFlags, name: name, $0) }
        if winner == loser, !entries(first).isEmpty || !entries(second).isEmpty {
            // A merge chose between them, and nobody has settled it since: the greater holds, whatever the base.
            let isFirst = Self.isGreater(first, second)
            lose(isFirst ? second : first)
            return isFirst
        }
        if isSecondOld { return true }
        if isFirstOld { return false }
        lose(second)
        return true
    }

    private static func isGreater(_ one: LostValue?, _ other: LostValue?) -> Bool {
        guard let one, let other else { return one != nil }
        let order = one.value.secret.compare(other.value.secret)
        return order == 0 ? one.flags.rawValue >= other.flags.rawValue : order > 0
    }

    private mutating func lose(_ value: LostValue?) {
        guard let value else { return }
        let known = entries(value)
        lost += known.isEmpty ? [value] : known
    }

    /// The entries that name a value.
    private func entries(_ value: LostValue?) -> [LostValue] {
        guard let value else { return [] }
        return named.filter { $0.hasSameValue(as: value) }
    }
}
