internal import VaultBytes
internal import VaultStore

/// Merges two changes of one item, field by field.
struct FieldUnion {
    private let device: Bytes16
    private let comparison: ValueComparison
    private let winner: HeldItem
    private let loser: HeldItem
    private let base: HeldValue?
    private var choice: FieldChoice

    /// An attribute of the result, and the source of its value.
    struct Chosen {
        let attribute: Attribute
        let from: HeldValue
    }

    /// The merged value of both sides; its key is in the plan.
    struct Result {
        var secret: SecretBox
        var attributes: [Chosen]
        var accessibility: Accessibility
        var device: Bytes16
        /// The conflicts to settle.
        var conflicts: [LostValue]
        /// The fields that this merge added to the conflicts.
        var fields: [ConflictField]
        /// Whether the losing item's value becomes an earlier value, because its secret or a sealed attribute differs.
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

    /// Merges the two sides; returns nil if either cannot be resealed here.
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

    /// Reads from the base; returns nil if its records, which nothing refers to any more, are damaged. An unknown value
    /// causes more conflicts, but no loss.
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

    /// Chooses the accessibility and device. If the base is an earlier value, which does not contain them, both sides
    /// count as having changed them.
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

    /// Returns the key that results from two changed keys.
    static func key(
        _ first: ItemKey, _ second: ItemKey, base: ItemKey?, _ choice: inout FieldChoice
    ) throws(VaultError) -> ItemKey {
        var (mine, other, was) = (KeyParts(first), KeyParts(second), base.map(KeyParts.init))
        func box(_ bytes: [UInt8]) -> SecretBox { SecretBox(Secret(bytes: bytes)) }
        guard mine.isLike(other), was.map({ $0.isLike(mine) }) ?? true else {
            // Fields of different classes cannot be compared, so the whole key counts as one field.
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

    /// Returns all fields of an item that is replaced by another, as conflict entries.
    static func everything(_ stamp: Stamp, _ key: ItemKey, _ content: Result) throws(VaultError) -> [LostValue] {
        try fields(stamp, key, content) + content.conflicts
    }

    /// Returns each field's value as a `conflict` entry.
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

/// Chooses between the values of two items, field by field, and collects the values that lose.
struct FieldChoice {
    private let winner: Stamp
    private let loser: Stamp
    /// The values in the two items' conflicts.
    var named: [LostValue] = []
    /// The values that lost: existing conflict entries if there are any, otherwise new ones.
    private(set) var lost: [LostValue] = []

    init(_ winner: Stamp, _ loser: Stamp) {
        self.winner = winner
        self.loser = loser
    }

    /// Returns whether the winner's value of a field is used. If only one side changed the field, that side's value is
    /// used; otherwise, the winner's. Nil means no value.
    mutating func isFirst(
        _ kind: LostValue.Kind, name: String = "", flags: AttributeFlags = [], otherFlags: AttributeFlags = [],
        mine: SecretBox?, other: SecretBox?, isSame: Bool, isFirstOld: Bool, isSecondOld: Bool
    ) -> Bool {
        if isSame { return true }
        let first = mine.map { LostValue(loser, kind, flags: flags, name: name, $0) }
        let second = other.map { LostValue(loser, kind, flags: otherFlags, name: name, $0) }
        if winner == loser, !entries(first).isEmpty || !entries(second).isEmpty {
            // A merge chose between the two values, and the conflict has not been settled since then, so the greater
            // value is used, whatever the base is.
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

    /// Returns the conflict entries for a value.
    private func entries(_ value: LostValue?) -> [LostValue] {
        guard let value else { return [] }
        return named.filter { $0.hasSameValue(as: value) }
    }
}
