internal import Synchronization
internal import TestSupport
internal import VaultFmt

/// What a slot, a locked program or another machine should not open is not in the file, whatever happened before; and
/// who has scoped slots makes no state that anybody accepts.
extension Part {
    static let scopes = Part(
        name: "scopes",
        about:
            "an attacker with the keys of a slot, and every byte of the file, opens nothing that the slot should not open, and forges nothing"
    ) { run in
        let totals = Mutex(ScopesTotals())
        let attackers = AttackerPool()
        run.parallel(run.isLong ? 5000 : 200) { number in
            try attackers.lend { attacker in
                let sequence = try ScopesSequence(run.numbers(UInt64(number) + 1), attacker, isLong: run.isLong)
                do { try sequence.run(steps: 18) } catch {
                    throw Wrong("\(error); after \(sequence.story.joined(separator: ", "))")
                }
                run.count()
                totals.withLock { $0.add(sequence.totals) }
            }
        }
        run.note(totals.withLock { $0.description })
        run.note(try GrantCost.measured(items: run.isLong ? 100_000 : 10_000))
    }
}

/// What the sequences did, and how hard the attacker tried.
struct ScopesTotals: Sendable, CustomStringConvertible {
    var changes = 0
    var attacks = 0
    var tries = 0
    var forgeries = ForgeryTotals()
    /// Marks that attackers opened, as they may.
    var opened = 0

    mutating func add(_ other: ScopesTotals) {
        changes += other.changes
        attacks += other.attacks
        tries += other.tries
        opened += other.opened
        forgeries.add(other.forgeries)
    }

    var description: String {
        "\(changes) changes, \(attacks) attacks, \(tries) decryptions tried, \(opened) marks rightly opened; \(forgeries)"
    }
}

/// One vault, changed at random, and attacked after each change.
final class ScopesSequence {
    private var numbers: Numbers
    private let isLong: Bool
    private let attacker: Attacker
    private let vault: ScopesVault
    private let victims: ForgeryVictims
    private(set) var totals = ScopesTotals()

    /// What was done so far, for whoever looks for the reason of a failure.
    var story: [String] { vault.story }

    init(_ numbers: Numbers, _ attacker: Attacker, isLong: Bool) throws {
        self.numbers = numbers
        self.isLong = isLong
        self.attacker = attacker
        vault = try ScopesVault(numbers)
        victims = ForgeryVictims(vault)
    }

    func run(steps: Int) throws {
        try attacker.forget()
        try attacker.put(0, vault.bytes)
        for _ in 0..<steps {
            try vault.step()
            totals.changes += 1
            try attacker.put(vault.version, vault.bytes)
            try attackNow()
            try victims.remember()
            if isLong || numbers.chance(3) { try forge() }
        }
        try attackThePast()
        for _ in 0..<3 { try forge() }
    }

    /// Somebody with a scoped slot, perhaps one that was removed, and with what all removed slots opened, makes a file.
    private func forge() throws {
        guard let slot = (vault.slots + vault.removedSlots).randomElement(using: &numbers) else { return }
        let removed = (vault.removedSlots + vault.fullSlots.filter { $0.until != nil }).flatMap {
            $0.keys(until: vault.version)
        }
        let files = Opener(groups: slot.groups, devices: [])
        let (what, bytes) = try attacker.forge(
            numbers.next() >> 1, slots: slot.keys(until: vault.version), removed: removed, target: vault.version,
            victims: [(true, vault.ownerKey)] + vault.slots.compactMap { $0.rawKeys.last }.map { (false, $0.rawKey) })
        do { try victims.meet(what, bytes, &totals.forgeries) } catch {
            throw Wrong("version \(vault.version): \(what) by a holder of \(files): \(error)")
        }
    }

    // MARK: attacks

    /// The devices that somebody could have got at: often none.
    private func someDevices() -> Set<Int> { [[], [], [0], [1]][numbers.below(4)] }

    /// On the file as it is now: by a holder of each slot, by programs that are locked, and by an owner's factors
    /// without the device.
    private func attackNow() throws {
        for slot in vault.slots {
            let devices = someDevices()
            let opener = Opener(groups: slot.groups, devices: devices)
            let since = slot.since
            let shown = try attack(
                [vault.version], Attacker.Held(slots: slot.keys(until: vault.version), devices: devices))
            let former = Opener(groups: slot.lost, devices: devices)
            try judge(shown, "the holder of \(slot)") {
                vault.model.mayOpen($0, opener, since: since) || vault.model.isOnlyBoundToDevice($0, former)
            }
            let missed = vault.model.live(opener, isOwner: false).union(vault.model.liveLabels).subtracting(
                shown.proven)
            try require(missed.isEmpty, "the holder of \(slot) does not open \(missed.sorted())")
        }
        for locked in vault.locked {
            let shown = try attack([vault.version], Attacker.Held(index: locked.index, kept: locked.kept))
            // A move between groups of its slot leaves a record that no holder of a slot is kept from (R-3.28).
            let now = vault.opener(of: locked)
            try judge(shown, "a locked program of \(locked.opener)") {
                $0.isLabel || vault.model.mayOpen($0, locked.opener, since: 0, now: now)
            }
            guard locked.version == vault.version else { continue }
            let missed = vault.model.live(locked.opener, isOwner: false).subtracting(shown.proven)
            try require(missed.isEmpty, "a locked program does not open \(missed.sorted())")
        }
        guard numbers.chance(2) else { return }
        let opener = Opener(groups: nil, devices: someDevices())
        let shown = try attack(
            [vault.version], Attacker.Held(slots: [(vault.version, vault.ownerKey)], devices: opener.devices))
        try judge(shown, "an owner with the devices \(opener.devices)") {
            $0.isLabel || vault.model.mayOpen($0, opener, since: 0)
        }
        let missed = vault.model.live(opener, isOwner: true).subtracting(shown.proven)
        try require(missed.isEmpty, "an owner does not open \(missed.sorted())")
    }

    /// On versions from before a slot was made, and from after it was removed; of a full one, after the rotation that
    /// followed.
    private func attackThePast() throws {
        for slot in vault.slots + vault.removedSlots + vault.fullSlots {
            let devices = someDevices()
            let before = slot.groups == nil ? [] : Array(0..<slot.since)
            let after = slot.until.map { Array($0...vault.version) } ?? []
            guard !(before + after).isEmpty else { continue }
            let last = (slot.until ?? vault.version + 1) - 1
            let shown = try attack(before + after, Attacker.Held(slots: slot.keys(until: last), devices: devices))
            let opener = Opener(groups: slot.groups?.union(slot.lost), devices: devices)
            try judge(shown, "the holder of \(slot), of other times,") { vault.model.isOnlyBoundToDevice($0, opener) }
        }
    }

    private func attack(_ files: [Int], _ held: Attacker.Held) throws -> Attacker.Shown {
        totals.attacks += 1
        let shown = try attacker.attack(files, held)
        totals.tries += shown.tries
        totals.opened += shown.marks.count
        return shown
    }

    private func judge(_ shown: Attacker.Shown, _ who: String, _ isAllowed: (Mark) -> Bool) throws {
        for text in shown.marks.sorted() {
            guard let mark = vault.model.marks[text] else { throw Wrong("\(text) was never stored") }
            try require(isAllowed(mark), "\(who) opens \(mark)")
        }
        try require(shown.proven.isSubset(of: shown.marks), "what is proven is not shown")
    }

    private func require(_ isTrue: Bool, _ what: @autoclosure () -> String) throws {
        if !isTrue { throw Wrong("version \(vault.version): \(what())") }
    }
}
