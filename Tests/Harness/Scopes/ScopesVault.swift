internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A vault in memory with owners on two devices and one without, and scoped slots; and the model of what it holds.
final class ScopesVault {
    /// A slot, and the raw keys that opened it, each from a version on.
    struct Slot: CustomStringConvertible {
        var id: SlotID
        /// Nil for a full one.
        var groups: Set<String>?
        /// Groups that it had and lost: their compartments for a device keep their keys (R-3.27).
        var lost: Set<String> = []
        let since: Int
        /// The version that its holder's keys open no more: since its removal; of a full one, since the rotation after
        /// that.
        var until: Int?
        var removed: Int?
        var rawKeys: [(version: Int, rawKey: [UInt8])]

        /// What opened it in every version up to this one.
        func keys(until version: Int) -> [(version: Int, rawKey: [UInt8])] {
            let last = min(version, (removed ?? .max) - 1)
            guard since <= last else { return [] }
            return (since...last).compactMap { version in
                rawKeys.last { $0.version <= version }.map { (version, $0.rawKey) }
            }
        }

        var description: String { "slot \(groups?.sorted().description ?? "of everything") from version \(since)" }
    }

    /// A state that the owners made.
    struct Genuine {
        let version: Int
        let chain: [UInt8]
        let header: [UInt8]
        /// Secrets by item.
        let contents: [ItemKey: String]
    }

    /// A program that locked the vault, and what it kept.
    struct Locked {
        let version: Int
        let opener: Opener
        /// The version that the slot is from which opened it; nil for an owner's.
        let slot: Int?
        let index: [UInt8]
        let kept: [[UInt8]]
    }

    static let path = "/scopes.vault"
    static let copyPath = "/copy.vault"
    /// What a large attribute begins with.
    static let filling: UInt8 = 0x2E
    private static let groups = ["", "ci", "web"]
    var numbers: Numbers
    let files = MemoryFileSystem(clock: 1_700_000_000_000)
    let owners: [Vault]
    var model = ScopesModel()
    private(set) var version = 0
    private(set) var slots: [Slot] = []
    private(set) var removedSlots: [Slot] = []
    /// Full slots that others have had, removed or not.
    private(set) var fullSlots: [Slot] = []
    /// By chain value.
    private(set) var genuine: [[UInt8]: Genuine] = [:]
    private(set) var newest: Anchor
    private(set) var locked: [Locked] = []
    private(set) var story: [String] = []
    private var serial = 0
    let ownerKey = [UInt8](repeating: 0x2B, count: 32)

    init(_ numbers: Numbers) throws {
        var numbers = numbers
        let place = Store.Place(fileSystem: files, random: .fixed(Numbers(numbers.next())), cacheBytes: 1 << 20)
        self.numbers = numbers
        var options = CreateOptions()
        options.device = try Self.device(0)
        let first = try Vault.create(at: Self.path, factors: try Self.factors(ownerKey), options: options, place: place)
        var others: [Vault] = []
        for number in 1...2 {
            var options = OpenOptions()
            options.writable = true
            options.device = number == 1 ? try Self.device(1) : nil
            others.append(
                try Vault.open(Self.path, factors: try Self.factors(ownerKey), options: options, place: place))
        }
        owners = [first] + others
        newest = try first.anchor
        try note()
    }

    /// Notes the state that there is now.
    ///
    /// - items: What it holds; all of the model, if they are nil.
    func note(_ items: [ScopesModel.Item]? = nil) throws {
        let contents = Dictionary(uniqueKeysWithValues: (items ?? model.items).map { ($0.key, $0.secret) })
        let header = Array(bytes.prefix(Int(bytes[12]) | Int(bytes[13]) << 8 | Int(bytes[14]) << 16))
        newest = try owners.map { try $0.anchor }.max { $0.generation < $1.generation } ?? newest
        // Locking, for one, makes no new state.
        guard genuine[newest.chain] == nil else { return }
        genuine[newest.chain] = Genuine(version: version, chain: newest.chain, header: header, contents: contents)
    }

    static func factors(_ rawKey: [UInt8]) throws -> Factors { try Factors(rawKey: Secret(bytes: rawKey)) }

    static func device(_ number: Int) throws -> Device {
        let parts = ScopesDevice.parts(number)
        return try Device(fileContents: Secret(bytes: parts.id + parts.secret))
    }

    /// The file as it is now.
    var bytes: [UInt8] { files.bytes(of: Self.path) ?? [] }

    private func newRawKey() -> [UInt8] {
        serial += 1
        return [0x51, UInt8(serial)] + [UInt8](repeating: 0x0C, count: 30)
    }

    // MARK: steps

    /// One change, by one of the owners.
    func step() throws {
        let owner = numbers.below(3)
        version += 1
        // What is looked up before the change must be of now; the change itself would look by itself.
        try owners[owner].refresh()
        files.setClock(1_700_000_000_000 + Int64(version) * 1000)
        let before = owners[owner].state
        switch numbers.below(27) {
        case 0..<12: try transaction(owner)
        case 12, 13: try grant(owner)
        case 14: try changeGrants(owner)
        case 15: try removeSlot(owner)
        case 16: try changeFactors(owner)
        case 17: try rename(owner)
        case 18: try rotate(owner)
        case 19: try compact(owner)
        case 20: try keep(owner)
        case 21: try changeFullSlots(owner)
        case 22: try importValues(owner)
        case 23: try restore(owner)
        case 24, 25: try merge(owner)
        default: try lock()
        }
        try noteRewriting(owner, since: before)
        try checkItems(owner)
        try note()
    }

    /// The vault lists the items of the model.
    private func checkItems(_ owner: Int) throws {
        var (listed, cursor): (Set<ItemKey>, ItemCursor) = ([], try owners[owner].items())
        while let item = try cursor.next() { listed.insert(item.key) }
        guard listed == Set(model.items.map(\.key)) else {
            throw Wrong("version \(version) lists \(listed.sorted()), not \(model.items.map(\.key).sorted())")
        }
    }

    /// A file that was made anew has nothing dead.
    private func noteRewriting(_ owner: Int, since before: StateID) throws {
        let vault = owners[owner]
        let (commit, start) = try vault.withStore { (store) throws(VaultError) in
            (store.state.commit, store.header.bodyStart)
        }
        if vault.state != before, commit.start == start { model.rewrite(version: version) }
    }

    func tell(_ what: String, _ owner: Int? = nil) {
        story.append("\(version): \(owner.map { "owner \($0) " } ?? "")\(what)")
    }

    private func grant(_ owner: Int) throws {
        guard slots.count < 4 else { return try transaction(owner) }
        var groups = Set(Self.groups.filter { _ in numbers.chance(2) })
        if numbers.chance(5) { groups.insert("new \(version)") }
        let rawKey = newRawKey()
        tell("grants \(groups.sorted())", owner)
        let id = try owners[owner].addSlot(
            try Self.factors(rawKey), grantedGroups: groups.sorted(), createsGroups: true
        ).id
        slots.append(Slot(id: id, groups: groups, since: version, rawKeys: [(version, rawKey)]))
    }

    private func changeGrants(_ owner: Int) throws {
        guard !slots.isEmpty else { return try transaction(owner) }
        let index = numbers.below(slots.count)
        let groups = Set(Self.groups.filter { _ in numbers.chance(2) })
        tell("grants \(groups.sorted()) to \(slots[index])", owner)
        try owners[owner].setGrants(of: slots[index].id, to: groups.sorted(), createsGroups: true)
        slots[index].lost.formUnion(slots[index].groups ?? [])
        slots[index].groups = groups
    }

    private func removeSlot(_ owner: Int) throws {
        guard !slots.isEmpty else { return try transaction(owner) }
        var slot = slots.remove(at: numbers.below(slots.count))
        tell("removes \(slot)", owner)
        try owners[owner].removeSlot(slot.id)
        (slot.until, slot.removed) = (version, version)
        removedSlots.append(slot)
    }

    /// Somebody gets a full slot, or loses it; what he has seen of it ends with the next rotation.
    private func changeFullSlots(_ owner: Int) throws {
        if let index = fullSlots.firstIndex(where: { $0.removed == nil }) {
            tell("removes \(fullSlots[index])", owner)
            try owners[owner].removeSlot(fullSlots[index].id)
            fullSlots[index].removed = version
        } else {
            let rawKey = newRawKey()
            tell("adds a full slot", owner)
            let id = try owners[owner].addSlot(try Self.factors(rawKey)).id
            fullSlots.append(Slot(id: id, since: version, rawKeys: [(version, rawKey)]))
        }
    }

    private func keep(_ owner: Int) throws {
        model.kept = [0, 1, 3, 10][numbers.below(4)]
        tell("keeps \(model.kept) earlier values", owner)
        try owners[owner].keepVersions(model.kept)
    }

    private func changeFactors(_ owner: Int) throws {
        guard !slots.isEmpty else { return try transaction(owner) }
        let index = numbers.below(slots.count)
        let rawKey = newRawKey()
        tell("gives \(slots[index]) other factors", owner)
        let ids = try owners[owner].slots().map(\.id)
        try owners[owner].changeFactors(of: slots[index].id, to: try Self.factors(rawKey))
        guard try owners[owner].slots().map(\.id) == ids else { throw Wrong("a slot has lost its id") }
        slots[index].rawKeys.append((version, rawKey))
    }

    private func rename(_ owner: Int) throws {
        guard !slots.isEmpty else { return try transaction(owner) }
        tell("renames a slot", owner)
        try owners[owner].renameSlot(slots[numbers.below(slots.count)].id, to: "name \(version)")
    }

    private func rotate(_ owner: Int) throws {
        var rotation = try owners[owner].rotation()
        _ = try rotation.keep(try Self.factors(ownerKey))
        var kept: [Slot] = []
        for slot in slots where !numbers.chance(3) {
            if let key = slot.rawKeys.last { _ = try rotation.keep(try Self.factors(key.rawKey)) }
            kept.append(slot)
        }
        tell("rotates and keeps \(kept.count) of \(slots.count) slots", owner)
        _ = try rotation.run()
        let ids = try owners[owner].slots().filter { !$0.isFull }.map(\.id)
        for var slot in slots where !kept.contains(where: { $0.id == slot.id }) {
            (slot.until, slot.removed) = (version, version)
            removedSlots.append(slot)
        }
        guard ids == kept.map(\.id) else { throw Wrong("slots \(ids) after the rotation, not \(kept.map(\.id))") }
        slots = kept
        for index in fullSlots.indices {
            fullSlots[index].until = fullSlots[index].until ?? version
            fullSlots[index].removed = fullSlots[index].removed ?? version
        }
        // The other owners' handles have keys that are gone.
        for other in owners {
            other.lock()
            try other.unlock(try Self.factors(ownerKey))
        }
    }

    private func compact(_ owner: Int) throws {
        tell("compacts", owner)
        try owners[owner].compact()
    }

    // MARK: locking

    /// A program opens the vault with some slot and device, and locks it.
    private func lock() throws {
        var options = OpenOptions()
        let device = [nil, 0, 1][numbers.below(3)]
        if let device { options.device = try Self.device(device) }
        let slot = slots.isEmpty || numbers.chance(2) ? nil : slots[numbers.below(slots.count)]
        let factors = try Self.factors(slot?.rawKeys.last?.rawKey ?? ownerKey)
        let place = Store.Place(fileSystem: files, random: .fixed(Numbers(numbers.next())), cacheBytes: 1 << 20)
        let program = try Vault.open(Self.path, factors: factors, options: options, place: place)
        program.lock()
        let opener = Opener(groups: slot?.groups, devices: device.map { [$0] } ?? [], isLocked: true)
        tell("a program with \(opener) locks")
        let kept = program.keptKeys.map { $0.secret.withUnsafeBytes { Array($0) } }
        let index = try program.withStore { (store) throws(VaultError) in
            store.slot.keys.index.withUnsafeBytes { Array($0) }
        }
        locked.append(Locked(version: version, opener: opener, slot: slot?.since, index: index, kept: kept))
        if locked.count > 2 { locked.removeFirst() }
    }

    /// What the program would open if it were unlocked now: its slot can have got groups since.
    func opener(of program: Locked) -> Opener {
        var opener = program.opener
        if let groups = opener.groups, let slot = slots.first(where: { $0.since == program.slot }) {
            opener.groups = groups.union(slot.groups ?? [])
        }
        return opener
    }

    // MARK: items

    /// Some changes of items, in one commit.
    ///
    /// - vault: The file that changes; the one at the path, if it is nil.
    /// - among: Whether an item may change.
    func transaction(_ owner: Int, in vault: Vault? = nil, among: (Int) -> Bool = { _ in true }) throws {
        let isLater = numbers.chance(6)
        let changes = numbers.chance(2) ? 1 : 1 + numbers.below(4)
        var next = model
        var lines: [String] = []
        let remnants = try (vault ?? owners[owner]).transaction { (transaction) throws(VaultError) in
            transaction.narrowing = isLater ? .later : .atOnce
            for _ in 0..<changes {
                let before = transaction.remnants.count
                let item = try change(transaction, owner, among, &next, &lines)
                if transaction.remnants.count > before { next.tolerated.insert(item) }
            }
            return transaction.remnants
        }
        tell(lines.joined(separator: " and ") + (remnants.isEmpty ? "" : isLater ? ", later" : ", at once"), owner)
        model = next
    }

    /// One change of one item; returns its number.
    private func change(
        _ transaction: Transaction, _ owner: Int, _ among: (Int) -> Bool, _ next: inout ScopesModel,
        _ lines: inout [String]
    ) throws(VaultError) -> Int {
        let device = owner < 2 ? owner : nil
        let opener = Opener(groups: nil, devices: device.map { [$0] } ?? [])
        let candidates = next.items.filter { among($0.number) }
        guard candidates.count >= 2, !numbers.chance(5) else { return try add(transaction, device, &next, &lines) }
        let old = candidates[numbers.below(candidates.count)]
        var new = old
        // What is for another device, this owner can only remove or replace.
        switch opener.opens(old.placement) ? numbers.below(10) : [0, 10].randomElement(using: &numbers) {
        case 0:
            lines.append("remove \(old.number)")
            _ = try transaction.remove(old.key)
            next.remove(old, version: version)
            return old.number
        case 1, 2:
            new.secret = next.newMark("s", item: old.number)
            if numbers.chance(2) { new.sealed = next.newMark("a", item: old.number) }
            if numbers.chance(4) { new.large = next.newMark("b", item: old.number) }
            if numbers.chance(3) { new.placement = somePlacement(old.placement.group, device) }
            let changes = AttributeChanges(
                set: Self.attributes(sealed: new.sealed, large: old.large == new.large ? nil : new.large))
            lines.append("set \(old.number) \(new.placement.accessibility.name)")
            try transaction.set(
                old.key, secret: Secret(bytes: Array(new.secret.utf8)), attributes: changes,
                accessibility: new.placement.accessibility)
        case 3:
            new.label = next.newMark("l", item: old.number)
            lines.append("label \(old.number)")
            try transaction.update(old.key, attributes: AttributeChanges(set: ["label": new.label]))
        case 4, 5:
            new.placement = somePlacement(old.placement.group, device)
            lines.append("update \(old.number) \(new.placement.accessibility.name)")
            try transaction.update(old.key, accessibility: new.placement.accessibility)
            if new.placement.accessibility == old.placement.accessibility { new.placement = old.placement }
        case 6, 7:
            let group = Self.groups[numbers.below(Self.groups.count)]
            new.placement.group = group
            new.key = try .genericPassword(service: "item", account: "\(next.newNumber())", group: group)
            lines.append("move \(old.number) to '\(group)'")
            try transaction.move(old.key, to: new.key)
        case 8:
            lines.append("forget \(old.number)")
            try transaction.forgetEarlierValues(of: old.key)
            next.forgetEarlier(of: old, version: version, devices: opener.devices)
            return old.number
        case 9:
            new.large = numbers.chance(3) ? nil : next.newMark("b", item: old.number)
            lines.append("large \(old.number)")
            var changes = AttributeChanges(set: Self.attributes(sealed: nil, large: new.large))
            if new.large == nil { changes.remove = [Self.largeName] }
            try transaction.update(old.key, attributes: changes)
        default:
            // Nothing of it can be read for that.
            guard old.sealed == nil, old.large == nil, device != nil || !old.placement.accessibility.isThisDeviceOnly
            else {
                return try add(transaction, device, &next, &lines)
            }
            new.secret = next.newMark("s", item: old.number)
            if old.placement.device != nil { new.placement.device = device }
            lines.append("replace \(old.number)")
            try transaction.set(old.key, secret: Secret(bytes: Array(new.secret.utf8)))
        }
        next.put(new, version: version, devices: opener.devices)
        return old.number
    }

    private static let largeName = "sealed:large"

    /// The attributes with these marks; a large one is longer than an item's record holds.
    private static func attributes(sealed: String?, large: String?) -> Attributes {
        var attributes = Attributes()
        if let sealed { attributes["sealed:mark"] = Array(sealed.utf8) }
        if let large { attributes[largeName] = Array(repeating: filling, count: 4100) + Array(large.utf8) }
        return attributes
    }

    private func add(
        _ transaction: Transaction, _ device: Int?, _ next: inout ScopesModel, _ lines: inout [String]
    ) throws(VaultError) -> Int {
        let number = next.newNumber()
        let group = Self.groups[numbers.below(Self.groups.count)]
        let placement = somePlacement(group, device)
        let sealed = numbers.chance(3) ? next.newMark("a", item: number) : nil
        let large = numbers.chance(6) ? next.newMark("b", item: number) : nil
        let item = ScopesModel.Item(
            number: number, key: try .genericPassword(service: "item", account: "\(number)", group: group),
            placement: placement,
            secret: next.newMark("s", item: number), sealed: sealed, large: large,
            label: next.newMark("l", item: number))
        var attributes = Self.attributes(sealed: sealed, large: large)
        attributes.label = item.label
        lines.append("add \(number) to '\(group)' \(placement.accessibility.name)")
        try transaction.add(
            item.key, secret: Secret(bytes: Array(item.secret.utf8)), attributes: attributes,
            accessibility: placement.accessibility)
        next.put(item, version: version, devices: Set(device.map { [$0] } ?? []))
        return number
    }

    private func somePlacement(_ group: String, _ device: Int?) -> Placement {
        let all = Accessibility.allCases.filter { device != nil || !$0.isThisDeviceOnly }
        let accessibility = all[numbers.below(all.count)]
        return Placement(
            group: group, accessibility: accessibility, device: accessibility.isThisDeviceOnly ? device : nil)
    }
}
