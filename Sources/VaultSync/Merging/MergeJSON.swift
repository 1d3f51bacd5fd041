import VaultConsole
package import VaultExchange
package import VaultFmt

extension JSONWriter {
    /// Writes the members that identify an item by its key: `class`, the fields of the key, `group` and
    /// `synchronizable`.
    package mutating func members(naming key: ItemKey) throws {
        try member("class", key.itemClass.name)
        try members(ofKey: key)
        try member("group", key.group)
        try member("synchronizable", key.synchronizable)
    }

    package mutating func object(naming key: ItemKey) throws {
        try object { writer in try writer.members(naming: key) }
    }

    /// Writes an array of fields, each as an object with `kind` and, for an attribute, `name`.
    mutating func fields(_ fields: [ConflictField]) throws {
        try array("fields") { writer in
            for field in fields { try writer.object { writer in try writer.members(of: field) } }
        }
    }

    package mutating func members(of field: ConflictField) throws {
        try member("kind", field.kind)
        if let name = field.name { try member("name", name) }
    }

    /// Writes a replica id in the same form as an anchor does: 16 hexadecimal digits.
    package mutating func member(replica: UInt64) throws {
        let digits = String(replica, radix: 16)
        try member("replica", String(repeating: "0", count: 16 - digits.count) + digits)
    }

    /// The outcome for one copy.
    mutating func object(_ outcome: CopyOutcome) throws {
        try object { writer in
            try writer.member("copy", outcome.path)
            if let report = outcome.report { try writer.members(of: report) }
            if let failure = outcome.failure {
                try writer.member("error", failure.message)
                try writer.member("exitCode", failure.status.rawValue)
            }
            if let place = outcome.movedTo { try writer.member("movedTo", place) }
        }
    }

    private mutating func members(of report: MergeReport) throws {
        try member("outcome", report.outcome.rawValue)
        try member("dryRun", report.isRehearsal)
        for (name, keys) in [
            ("taken", report.taken), ("added", report.added), ("supplemented", report.supplemented),
            ("removed", report.removed),
        ] {
            try array(name) { writer in for key in keys { try writer.object(naming: key) } }
        }
        try array("notes") { writer in
            for note in report.notes { try writer.object { writer in try writer.members(of: note) } }
        }
    }

    private mutating func members(of note: MergeReport.Note) throws {
        switch note {
        case .conflict(let key, let fields):
            try members("conflict", key)
            try self.fields(fields)
        case .renamed(let key, let new):
            try members("renamed", key)
            try name("to")
            try object(naming: new)
        case .settled(let key): try members("settled", key)
        case .keptAgainstRemoval(let key): try members("keptAgainstRemoval", key)
        case .withoutSecret(let key): try members("withoutSecret", key)
        case .keptForSplitID(let key): try members("keptForSplitID", key)
        case .earlierValuesDropped(let key): try members("earlierValuesDropped", key)
        case .takenInToSettle(let key): try members("takenInToSettle", key)
        case .removalNotCarriedOut(let key): try members("removalNotCarriedOut", key)
        case .forgettingNotCarriedOut(let key, let fields):
            try members("forgettingNotCarriedOut", key)
            try self.fields(fields)
        case .attributesNotRemoved(let key, let fields):
            try members("attributesNotRemoved", key)
            try self.fields(fields)
        case .limitNotCarriedOut(let count):
            try member("kind", "limitNotCarriedOut")
            try member("count", count)
        case .keptForDevice(let key): try members("keptForDevice", key)
        case .slotRemoved(let id, let name): try members("slotRemoved", id, name)
        case .slotTaken(let id, let name): try members("slotTaken", id, name)
        case .slotChanged(let id, let name): try members("slotChanged", id, name)
        case .slotChangedInBoth(let id, let name, let isOurs):
            try members("slotChangedInBoth", id, name)
            try member("later", isOurs ? "ours" : "theirs")
        case .slotLostGroups(let id, let name, let groups):
            try members("slotLostGroups", id, name)
            try array("groups") { writer in for group in groups { try writer.value(group) } }
        case .slotGainedGroups(let id, let name, let groups):
            try members("slotGainedGroups", id, name)
            try array("groups") { writer in for group in groups { try writer.value(group) } }
        case .slotReadsMore(let id, let name, let groups):
            try members("slotReadsMore", id, name)
            try array("groups") { writer in for group in groups { try writer.value(group) } }
        case .slotAddedAgain(let id, let name): try members("slotAddedAgain", id, name)
        case .slotsOfBoth(let id, let name): try members("slotsOfBoth", id, name)
        case .slotDropped(let id, let name): try members("slotDropped", id, name)
        case .slotNotCarriedOut(let id, let name): try members("slotNotCarriedOut", id, name)
        case .extensionDiffers(let name):
            try member("kind", "extensionDiffers")
            try member("extension", name)
        case .sharedKey(let key, let other):
            try members("sharedKey", key)
            try name("other")
            try object(naming: other)
        case .damaged(let what):
            try member("kind", "damaged")
            try member("problem", what)
        case .copyDamaged(let what):
            try member("kind", "copyDamaged")
            try member("problem", what)
        }
    }

    private mutating func members(_ kind: String, _ key: ItemKey) throws {
        try member("kind", kind)
        try name("item")
        try object(naming: key)
    }

    private mutating func members(_ kind: String, _ slot: SlotID, _ name: String) throws {
        try member("kind", kind)
        try member("slot", slot.description)
        try member("name", name)
    }
}

extension ConflictField {
    /// The kind of field.
    var kind: String {
        switch self {
        case .secret: "secret"
        case .attribute: "attribute"
        case .key: "key"
        case .place: "place"
        }
    }

    /// The attribute's name.
    var name: String? {
        switch self {
        case .attribute(let name): name
        case .secret, .key, .place: nil
        }
    }
}
