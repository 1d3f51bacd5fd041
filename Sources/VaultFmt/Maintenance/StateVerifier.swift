internal import VaultBytes
internal import VaultStore

/// Verifies the newest state: its vector, and everything reachable from its tree.
struct StateVerifier: ~Copyable {
    private let core: VaultCore
    private let store: Store
    private var entries: EntryCheck
    private(set) var report: VerifyReport
    /// The vector; nil if it is damaged.
    private var vector: Vector?
    private var liveBytes: UInt64
    /// The offsets of the frames that were visited: a frame that is referenced twice is visited and counted once.
    private var seen: Set<UInt64> = []
    private var items: Set<Bytes16> = []
    /// The most recent items that are listed under their plain keys; at most two of them precede an item with a second
    /// key.
    private var plain: [(key: ItemKey, id: Bytes16)] = []
    /// The values that the vault lists as forgotten, for owners.
    private var forgotten: Set<ForgottenValue> = []

    init(_ core: VaultCore, _ report: VerifyReport) {
        self.core = core
        self.report = report
        store = core.store
        entries = core.entryCheck
        liveBytes = store.header.bodyStart + UInt64(Format.commitSize + store.state.commit.keyring.length)
    }

    mutating func check() throws(VaultError) {
        let commit = store.state.commit
        try attempt { (this) throws(VaultError) in try this.checkVector() }
        if core.isOwner { try attempt { (this) throws(VaultError) in try this.readForgotten() } }
        var walk = TreeWalk(commit.root)
        while let next = walk.next() {
            try attempt { (this) throws(VaultError) in try this.checkPage(next, &walk) }
        }
        compare(commit.items, report.items, "items")
        compare(commit.forgotten, report.forgottenValues, "forgotten values")
        compare(commit.pasts, report.itemsWithPast, "items with a past")
        // If the tree is damaged, the frames that it should reach are unknown.
        if core.isOwner, report.problemCount == 0 { compare(commit.liveBytes, liveBytes, "live bytes") }
    }

    /// Checks the vector, the dots of the keyring, and the hand-overs.
    private mutating func checkVector() throws(VaultError) {
        let commit = store.state.commit
        let known = try store.vector()
        try store.keyring.check(known, at: commit.keyring.offset)
        vector = known
        entries = EntryCheck(core.view, clock: commit.clock, floor: commit.floor, vector: known)
        liveBytes += try store.vectorBytes()
        var handOvers = store.handOvers
        guard try handOvers.all().count == store.keyring.handOvers.count else {
            throw VaultError(
                .authenticationFailed, "a hand-over was not signed by the owners whose key it replaces",
                at: commit.keyring.offset)
        }
    }

    private mutating func readForgotten() throws(VaultError) {
        var all: Set<ForgottenValue> = []
        try ForgottenValues.forEach(store.tree, entries) { (value) throws(VaultError) in all.insert(value) }
        forgotten = all
    }

    private mutating func compare(_ stated: UInt64, _ found: UInt64, _ what: String) {
        if stated != found {
            report.add(
                "the newest commit counts \(stated) \(what), but the index contains \(found)",
                at: store.state.commit.offset, isMiscount: true)
        }
    }

    /// Runs a check and reports its errors, with the affected item if there is one; reading errors are thrown.
    private mutating func attempt(
        _ part: DamagedPart? = nil, of item: Item? = nil, _ body: (inout StateVerifier) throws(VaultError) -> Void
    ) throws(VaultError) {
        do throws(VaultError) { try body(&self) } catch {
            guard error.code != .io else { throw error }
            guard let part, let item else { return report.add(error) }
            report.add(error.naming(part, of: item.key))
        }
    }

    // MARK: pages

    private mutating func checkPage(_ next: PageRef, _ walk: inout TreeWalk) throws(VaultError) {
        let ref = try next.ref()
        guard seen.insert(ref.offset).inserted else { return report.add("a page is referenced twice", at: ref.offset) }
        let page = try store.pages.load(ref, level: next.level)
        liveBytes += UInt64(ref.length)
        try attempt { (_) throws(VaultError) in try next.check(page) }
        guard page.layout.isLeaf else { return walk.enter(page, next) }
        for index in 0..<page.count {
            try attempt { (this) throws(VaultError) in try this.checkEntry(page, index) }
        }
    }

    private mutating func checkEntry(_ page: Page, _ index: Int) throws(VaultError) {
        guard !page.isForgotten(index) else {
            report.forgottenValues += 1
            _ = try ForgottenCodec.decode(page, index, entries)
            return
        }
        let key = page.key(index)
        let item = try ItemCodec.item(page, index, key: key.span, &entries)
        report.items += 1
        if !items.insert(item.entry.id).inserted { report.add("two entries have the same id", at: page.offset) }
        try checkName(item, at: page.offset)
        if item.entry.hasRecord {
            try attempt(.secret, of: item) { (this) throws(VaultError) in try this.checkRecord(item, page) }
        }
        for attribute in item.attributes.all {
            guard case .inOwnRecord(let record) = attribute.content else { continue }
            try attempt(.attribute, of: item) { (this) throws(VaultError) in
                try page.check(record.record, .record)
                try this.checkLarge(attribute, record, of: item.entry.id)
            }
        }
        if item.hasPast { report.itemsWithPast += 1 }
        guard core.isOwner else { return }
        try attempt(.past, of: item) { (this) throws(VaultError) in try this.checkState(item, page) }
    }

    /// Checks that the right one of several items with the same key is listed under the plain key.
    private mutating func checkName(_ item: Item, at offset: UInt64) throws(VaultError) {
        guard !item.hasKeyPlain else {
            plain = plain.suffix(1) + [(item.storedKey, item.entry.id)]
            return
        }
        guard let first = plain.first(where: { $0.key == item.storedKey }), first.id < item.entry.id else {
            throw VaultError(
                .structureInvalid,
                "an item is listed under a second key, but no item with a smaller id has its plain key",
                at: offset)
        }
    }

    // MARK: pasts

    /// Checks an item's past, and that the entry is consistent with it.
    private mutating func checkState(_ item: Item, _ page: Page) throws(VaultError) {
        if let ref = item.entry.past {
            try page.check(ref, .past)
            count(ref)
        }
        let past = try core.past(of: item)
        for record in past?.values.flatMap(\.records) ?? [] { count(record.record) }
        guard let vector else { return }
        let states = ItemStates(vector)
        let offset = item.entry.past?.offset ?? item.referrer
        guard past != nil else {
            let names = try states.shownNames(of: item)
            guard !forgotten.isEmpty else { return }
            for name in names { try checkForgotten(name, false, at: offset) }
            return
        }
        let state = try states.state(of: item, past)
        for name in state.held { try checkForgotten(name, state.values[name]?.isForgotten ?? true, at: offset) }
        guard let entry = try states.state(of: item, nil).siblings.values.first, state.shown().fields == entry.fields
        else {
            throw VaultError(.structureInvalid, "the entry does not match the item's past", at: offset)
        }
        for (name, value) in state.values where value.isInRecord { try checkKept(name, value, of: item) }
    }

    /// Checks that a value is listed as forgotten if and only if it is forgotten.
    private func checkForgotten(_ name: ValueName, _ isForgotten: Bool, at offset: UInt64) throws(VaultError) {
        guard forgotten.contains(ForgottenValue(name)) == isForgotten else {
            throw VaultError(
                .structureInvalid, isForgotten ? "a value is missing" : "a forgotten value is still present",
                at: offset)
        }
    }

    /// Opens those records of a value whose keys are available.
    private mutating func checkKept(_ name: ValueName, _ value: HeldValue, of item: Item) throws(VaultError) {
        let end = max(item.entry.past?.offset ?? 0, item.referrer)
        try attempt(.earlierValue, of: item) { (this) throws(VaultError) in
            do throws(VaultError) {
                var attributes = Attributes()
                _ = try this.core.bytes(name, value, of: item.entry.id, before: end) { attributes = $1 }
                for attribute in attributes.all {
                    guard case .inOwnRecord = attribute.content else { continue }
                    _ = try this.core.large(attribute, of: item.entry.id, before: end)
                }
            } catch {
                guard error.code == .deviceBound || error.code == .notPermitted else { throw error }
            }
        }
    }

    // MARK: records

    private mutating func checkRecord(_ item: Item, _ page: Page) throws(VaultError) {
        try page.check(item.entry.record, .record)
        try open(item.entry.own, of: item.entry.id) { (body) throws(VaultError) in _ = try RecordCodec.read(body, item)
        }
    }

    private mutating func checkLarge(_ attribute: Attribute, _ place: RecordRef, of item: Bytes16) throws(VaultError) {
        try open(place, of: item) { (body) throws(VaultError) in
            _ = try RecordCodec.readLarge(body, attribute, at: place.record.offset)
        }
    }

    /// Opens a record whose reference was checked, if its key is available; otherwise, checks only that its hash
    /// matches.
    private mutating func open(
        _ place: RecordRef, of item: Bytes16, _ read: (Span<UInt8>) throws(VaultError) -> Void
    ) throws(VaultError) {
        count(place.record)
        let frame = try FrameReader.read(place.record, .record, store.file)
        guard let compartment = core.view.compartment(place.compartment) else {
            throw VaultError(.structureInvalid, "a record's compartment does not exist", at: place.record.offset)
        }
        let key: SecretBox
        do throws(VaultError) { key = try core.compartments.key(compartment, core.context) } catch {
            guard error.code == .deviceBound || error.code == .notPermitted else { throw error }
            return
        }
        let body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(
                frame, place.identity(of: item), key: key.secret, store.sealing, at: place.record.offset)
        }
        try body.withSpan { (bytes) throws(VaultError) in try read(bytes) }
    }

    private mutating func count(_ ref: ObjectRef) {
        if seen.insert(ref.offset).inserted { liveBytes += UInt64(ref.length) }
    }
}
