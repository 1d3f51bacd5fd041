internal import TestSupport
internal import VaultBytes

/// The vaults of several writers (Spec/vectors/groups.md).
struct CausalBases {
    /// Three items that one commit made.
    let three: Base
    /// Three more commits of the same id: earlier values of one item.
    let changed: Base
    /// Two copies of `changed` that were changed and merged: two items with two siblings.
    let siblings: Base
    /// A vector frame with a base.
    let based: Base
    /// Three items of one key, one of the same fields and sync 1, and another one.
    let twins: Base
    /// A forgotten secret and a forgotten attribute, merged with a copy that had them.
    let forgotten: Base
    /// `siblings` after a rotation that restarted the vector.
    let restarted: Base
    /// `forgotten` after such a rotation.
    let restartedForgotten: Base
    /// The state before `restarted`.
    let beforeRestart: ReadRequest.Anchor
    /// A full slot, and scoped slots for one and for two groups.
    let granted: Base
    /// An item of a device with two siblings, and one in the same place without a secret and without a record.
    let bound: Base

    static let (first, second, third, fourth): (ReplicaID, ReplicaID, ReplicaID, ReplicaID) = (
        0x1111_1111_1111_1111, 0x2222_2222_2222_2222, 0x3333_3333_3333_3333, 0x4444_4444_4444_4444
    )
    static let rotating: ReplicaID = 0x5555_5555_5555_5555
    static let (a, b, c) = (DraftKey.generic("a", ""), DraftKey.generic("b", ""), DraftKey.generic("c", ""))
    static let otherScopedKey: [UInt8] = Array(200..<232)

    init() throws {
        three = Base(file: try Self.threeDraft("P").file)
        changed = Base(file: try Self.changedDraft("Q").file)
        siblings = Base(file: try Self.siblingsDraft("S").file)
        based = Base(file: try Self.basedDraft("B").file)
        twins = Base(file: try Self.twinsDraft("T").file)
        forgotten = Base(file: try Self.forgottenDraft("F").file)
        var restarting = try Self.siblingsDraft("R")
        beforeRestart = restarting.remembered
        try Self.restart(&restarting)
        restarted = Base(file: restarting.file)
        restarting = try Self.forgottenDraft("RF")
        try Self.restart(&restarting)
        restartedForgotten = Base(file: restarting.file)
        granted = Base(file: try Self.grantedDraft("G").file)
        bound = try Self.boundBase()
    }

    // MARK: one writer

    static func threeDraft(_ seed: String, limit: Int = 10) throws -> Draft {
        var draft = try Draft(seed, key: Base.key, replica: first)
        draft.ring.keeping.count = limit
        try draft.add(
            a, Array("first of a".utf8),
            [
                DraftAttribute("url", "a.b"), DraftAttribute("notice", [0x6C].times(300)),
                DraftAttribute("notes", "first notes", flags: 1),
            ])
        try draft.add(b, "first of b")
        try draft.add(c, "first of c")
        try draft.commit()
        return draft
    }

    static func changedDraft(_ seed: String, limit: Int = 10) throws -> Draft {
        var draft = try threeDraft(seed, limit: limit)
        try draft.set(a, "second of a")
        try draft.commit()
        try draft.set(a, "third of a")
        try draft.commit()
        try changeNotes(&draft)
        return draft
    }

    private static func changeNotes(_ draft: inout Draft) throws {
        let attributes = draft.items[try draft.index(a)].value.attributes.map {
            $0.name == "notes" ? DraftAttribute("notes", "second notes", flags: 1) : $0
        }
        try draft.set(a, "third of a", attributes)
        try draft.commit()
    }

    // MARK: several writers

    /// The copy of `second` takes in that of `third`.
    static func siblingsDraft(_ seed: String, limit: Int = 10) throws -> Draft {
        var draft = try changedDraft(seed, limit: limit)
        let before = draft.items[try draft.index(a)]
        draft.change(to: second)
        let kept = before.value.attributes.filter { $0.name != "url" }
        try draft.set(a, "fourth of a, here", kept)
        try draft.commit()
        // The other copy's changes lie between those of this one.
        let theirs = (a: StoredDot(draft.clock + 5, 3), b: StoredDot(draft.clock + 6, 3))
        draft.clock += 20
        try draft.set(b, "second of b, here")
        try draft.commit()
        draft.vector.include(third, theirs.b.revision)
        try mergeA(&draft, before, theirs.a)
        try mergeB(&draft, theirs.b)
        draft.isChange = false
        try draft.commit()
        draft.isChange = true
        return draft
    }

    /// Theirs has a later secret and a label; ours has dropped the address.
    private static func mergeA(_ draft: inout Draft, _ before: DraftItem, _ dot: StoredDot) throws {
        let index = try draft.index(a)
        var item = draft.items[index]
        var ours = item.value
        var theirs = before.value
        (theirs.dot, theirs.secretDot, theirs.modified) = (dot, dot, dot.time)
        theirs.secret = Array("fourth of a, there".utf8)
        var label = DraftAttribute("label", "Example")
        label.dot = dot
        theirs.attributes.insert(label, at: 0)
        theirs.record = nil
        theirs.recordRevision = draft.vector.clock
        let mine = DraftSibling(
            dot: ours.dot, created: item.created, modified: ours.modified, fields: item.fields, earlier: item.earlier)
        item.value = theirs
        let other = DraftSibling(
            dot: dot, created: item.created, modified: theirs.modified, fields: item.fields, earlier: item.earlier)
        item.value.attributes.removeAll { $0.name == "url" }
        ours.attributes.removeAll { $0.flags & 1 != 0 }
        try draft.keepOpen(&ours)
        item.versions.append(ours)
        item.listing.siblings = [mine, other]
        item.listing.turned = [DraftName(.secret, ours.secretDot)]
        item.listing.values = [
            Past.Value(
                kind: .attribute, name: Array("url".utf8), dot: before.value.keyDot, flags: [],
                replaced: ours.dot.time, content: .attribute(Array("a.b".utf8)))
        ]
        item.hasConflicts = true
        item.frame = nil
        draft.items[index] = item
    }

    /// Theirs has another place and secret; ours has a later secret, so its place is shown.
    private static func mergeB(_ draft: inout Draft, _ dot: StoredDot) throws {
        let index = try draft.index(b)
        var item = draft.items[index]
        let made = item.value.keyDot
        let mine = DraftSibling(
            dot: item.value.dot, created: item.created, modified: item.value.modified, fields: item.fields,
            earlier: item.earlier)
        let other = DraftSibling(
            dot: dot, created: item.created, modified: dot.time,
            fields: [DraftName(.key, made), DraftName(.place, dot), DraftName(.secret, dot)], earlier: item.earlier)
        var theirs = item.value
        (theirs.dot, theirs.placeDot, theirs.secretDot, theirs.modified) = (dot, dot, dot, dot.time)
        theirs.secret = Array("second of b, there".utf8)
        theirs.key = DraftKey.generic("b", "", group: "work")
        try draft.keepOpen(&theirs)
        item.versions.append(theirs)
        item.listing.siblings = [mine, other]
        item.listing.turned = [DraftName(.secret, dot), DraftName(.place, dot), DraftName(.place, made)]
        item.listing.values = [
            Past.Value(
                kind: .place, dot: dot, flags: [],
                content: .place(.init(group: Array("work".utf8), accessibility: 1, device: .zero)))
        ]
        item.hasConflicts = true
        item.frame = nil
        draft.items[index] = item
    }

    /// Seventeen more ids, a compaction, and then two changes, of which the second needs a frame.
    static func basedDraft(_ seed: String, ids: Int = 17) throws -> Draft {
        var draft = try siblingsDraft(seed)
        for number in 0..<UInt64(ids) {
            draft.change(to: 0x7700_0000_0000_0001 + number)
            try draft.set(c, "\(number) of c")
            try draft.commit()
        }
        try draft.compact()
        draft.change(to: third)
        try draft.set(c, "third's of c")
        try draft.commit()
        draft.change(to: fourth)
        draft.hasBase = true
        try draft.set(c, "fourth's of c")
        try draft.commit()
        return draft
    }

    static func restart(_ draft: inout Draft) throws {
        draft.change(to: rotating)
        let slot = draft.header.slots[0].id
        try draft.rotate(restarts: true) { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
    }

    // MARK: other items

    static func id(_ last: UInt64) -> Bytes16 {
        Bytes16(high: 0x7777_7777_7777_7777, low: 0x7777_7777_7777_7700 | last)
    }

    /// Items of one key with ids that end in `first` (which has it plain) and the others, one that is synchronizable,
    /// perhaps with a twin of its own, and another one.
    static func twinsDraft(
        _ seed: String, key: [UInt8] = DraftKey.generic("same", "ann"), first: UInt64 = 1, second: UInt64? = nil,
        others: (UInt64, UInt64) = (2, 3)
    ) throws -> Draft {
        var draft = try Draft(seed, key: Base.key, replica: Self.first)
        var synchronizable = key
        synchronizable[key.count - 1] = 1
        var all: [(key: [UInt8], id: UInt64, isPlain: Bool)] = [
            (key, first, true), (key, others.0, false), (key, others.1, false), (synchronizable, 4, true),
        ]
        if let second { all.append((synchronizable, second, false)) }
        for one in all {
            let made = try draft.add(one.key, "twin \(one.id)")
            guard let index = draft.items.firstIndex(where: { $0.id == made }) else { continue }
            let id = Self.id(one.id)
            draft.items[index].id = id
            if !one.isPlain { draft.items[index].key = PageKey.second(one.key, id) }
        }
        try draft.add(DraftKey.generic("then", "ann"), "another")
        try draft.commit()
        return draft
    }

    /// The copy that the values are forgotten in takes in one that had changed the label before.
    static func forgottenDraft(_ seed: String) throws -> Draft {
        var draft = try threeDraft(seed)
        for secret in ["second of a", "third of a"] {
            try draft.set(a, secret)
            try draft.commit()
        }
        let before = draft.items[try draft.index(a)]
        try changeNotes(&draft)
        let index = try draft.index(a)
        var item = draft.items[index]
        let made = item.value.keyDot
        item.versions = item.versions.filter { $0.hasSecret && $0.secretDot != made }
        item.value.dot = draft.dot()
        item.frame = nil
        draft.items[index] = item
        let dot = Dot(revision: made.revision, replica: first)
        draft.forgotten = [
            ForgottenValue(dot: dot, kind: .secret),
            ForgottenValue(dot: dot, kind: .attribute, name: Array("notes".utf8)),
        ]
        try draft.commit()
        let label = StoredDot(draft.clock + 5, 2)
        draft.vector.include(second, label.revision)
        let mine = DraftSibling(
            dot: item.value.dot, created: item.created, modified: item.value.modified, fields: item.fields,
            earlier: item.earlier)
        let other = DraftSibling(
            dot: label, created: item.created, modified: label.time,
            fields: before.fields + [DraftName(.attribute, label, name: "label")], earlier: item.earlier)
        var attribute = DraftAttribute("label", "Example")
        attribute.dot = label
        item = draft.items[index]
        item.value.attributes.insert(attribute, at: 0)
        (item.value.dot, item.value.modified) = (label, label.time)
        item.listing.siblings = [mine, other]
        item.listing.values = [
            Past.Value(
                kind: .attribute, name: Array("notes".utf8), attribute: [.sealed, .inItemRecord], dot: made,
                flags: .forgotten)
        ]
        item.frame = nil
        draft.items[index] = item
        draft.isChange = false
        try draft.commit()
        draft.isChange = true
        draft.clock = label.revision
        return draft
    }

    // MARK: slots and devices

    static func grantedDraft(_ seed: String) throws -> Draft {
        var draft = try Draft(seed, key: Base.key, replica: first)
        for name in ["one", "two"] {
            try draft.add(DraftKey.generic(name, "ann", group: name), Array("for \(name)".utf8), group: name)
        }
        let groups = ["one", "two"].map { name in draft.ring.groups.first { $0.name == name }?.number ?? 0 }
        try draft.addSlot(.rawKey(Base.scopedKey), name: "first", granting: [groups[0]])
        try draft.addSlot(.rawKey(otherScopedKey), name: "second", granting: groups)
        try draft.commit()
        return draft
    }

    private static func boundBase() throws -> Base {
        var request = ReadRequest.raw(Base.key)
        request.device = (Base.device.bytes, Base.deviceSecret)
        return Base(file: try boundDraft("D").file, request: request)
    }

    /// One copy has another secret, the other one another sealed attribute.
    static func boundDraft(_ seed: String) throws -> Draft {
        var draft = try Draft(seed, key: Base.key, replica: first)
        draft.ring.keeping.count = 10
        draft.keys.devices = [Base.device: Base.deviceSecret]
        let (key, otp) = (DraftKey.generic("bound", "ann"), DraftAttribute("otp", "first", flags: 1))
        try draft.add(key, Array("first".utf8), [otp], accessibility: 5, device: Base.device)
        try draft.add(
            DraftKey.generic("bound", "bob"), [], [DraftAttribute("label", "No secret")], accessibility: 5,
            device: Base.device)
        let second = try draft.index(DraftKey.generic("bound", "bob"))
        draft.items[second].value.hasSecret = false
        try draft.commit()
        let index = try draft.index(key)
        let before = draft.items[index]
        draft.change(to: Self.second)
        try draft.set(key, "second")
        try draft.commit()
        let theirs = StoredDot(draft.clock + 5, 3)
        draft.vector.include(third, theirs.revision)
        var item = draft.items[index]
        let made = before.value.dot
        let mine = DraftSibling(
            dot: item.value.dot, created: item.created, modified: item.value.modified, fields: item.fields,
            earlier: item.earlier)
        let oldOTP = DraftName(.attribute, made, name: "otp")
        let other = DraftSibling(
            dot: theirs, created: item.created, modified: theirs.time,
            fields: before.fields.filter { $0 != oldOTP } + [DraftName(.attribute, theirs, name: "otp")],
            earlier: [oldOTP])
        var value = before.value
        (value.hasSecret, value.secret, value.dot) = (false, [], theirs)
        value.attributes = [DraftAttribute("otp", "second", flags: 1)]
        value.attributes[0].dot = theirs
        try draft.keepOpen(&value)
        item.versions.append(value)
        (item.value.dot, item.value.modified, item.hasConflicts, item.frame) = (theirs, theirs.time, true, nil)
        for at in item.value.attributes.indices { item.value.attributes[at].dot = made }
        item.listing.siblings = [mine, other]
        item.listing.turned = [oldOTP, DraftName(.attribute, theirs, name: "otp")]
        draft.items[index] = item
        draft.isChange = false
        try draft.commit()
        return draft
    }
}

extension Draft {
    /// Makes a value that is not shown one of the owners', as a merge does.
    mutating func keepOpen(_ value: inout DraftValue) throws {
        value.compartment = try ownersCompartment(for: value.compartment)
        value.recordRevision = vector.clock
        value.record = nil
        value.replaced = 0
    }
}
