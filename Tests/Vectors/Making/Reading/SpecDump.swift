internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// The verdict on a vault, and the dump of what was released before it (Spec/vectors/README.md).
package struct SpecReading {
    package private(set) var verdict = Verdict.success
    package private(set) var dump: [String] = []

    package init(_ file: [UInt8], _ request: ReadRequest) {
        do throws(Refusal) {
            let reader = try SpecReader(file, request)
            var failures: [Verdict] = []
            do throws(Refusal) { try release(reader, request, &failures) } catch { failures.append(error.verdict) }
            if let first = failures.first(where: { $0 != .deviceBound }) {
                verdict = first
            } else if failures.isEmpty {
                switch reader.state.tail {
                case .none: verdict = .success
                case .torn: verdict = .successTailTorn
                case .incomplete: verdict = .successTailIncomplete
                case .damaged: verdict = .successTailDamaged
                }
            } else {
                verdict = .deviceBound
            }
        } catch { verdict = error.verdict }
    }

    private mutating func line(_ words: Any...) { dump.append(words.map { "\($0)" }.joined(separator: " ")) }
    private static func hex(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
    private static func hex(_ text: String) -> String { hex(Array(text.utf8)) }
    private static func hex(device: Bytes16) -> String { device == .zero ? "-" : Hex.encode(device.bytes) }

    private mutating func release(_ reader: SpecReader, _ request: ReadRequest, _ failures: inout [Verdict])
        throws(Refusal)
    {
        let commit = reader.state.commit
        line("vaultfmt-dump 2")
        line("vault", Self.hex(reader.vault.bytes))
        line("access", reader.owner == nil ? "scoped" : "full")
        line("owner", Self.hex(reader.publicKey.bytes))
        line("generation", commit.generation)
        line("chain", Self.hex(reader.state.chain.bytes))
        line(
            "before", commit.predecessor?.generation ?? 0,
            Self.hex(commit.predecessor?.chain.bytes ?? Bytes32.zero.bytes))
        line("clock", commit.clock, commit.tombstoneHorizon)
        let history = try reader.history()
        if let history {
            line("history", history.floor, history.newest)
            for one in history.ancestors { line("ancestor", one.generation, one.clock, Self.hex(one.chain.bytes)) }
        }
        if let anchor = request.anchor { line("anchor", try SpecAncestry(reader, history).verdict(anchor)) }
        for number in reader.grantedNumbers { line("grant", number) }
        try releaseSlots(reader)
        releaseKeyring(reader)
        try releaseTree(reader, &failures)
        line("end")
    }

    // MARK: slots and keyring

    private mutating func releaseSlots(_ reader: SpecReader) throws(Refusal) {
        for slot in reader.header.slots {
            if let known = slot.known {
                let cost = known.stretch?.cost ?? SlotParameters.Cost(memoryKiB: 0, passes: 0, lanes: 0)
                var text = "slot \(Self.hex(slot.id.bytes)) \(slot.kind.rawValue) \(slot.factors.rawValue) known"
                text += " \(cost.memoryKiB) \(cost.passes) \(cost.lanes)"
                if let provider = known.provider {
                    text += " \(Self.hex(provider.name)) \(Self.hex(provider.parameters))"
                }
                line(text)
            } else {
                var raw: [UInt8] = []
                slot.encode(into: &raw)
                line(
                    "slot", Self.hex(slot.id.bytes), slot.kind.rawValue, slot.factors.rawValue, "opaque", Self.hex(raw))
            }
            guard let owner = reader.owner else { continue }
            guard
                let plain = Plain.open(slot.owner, key: owner.slotOwner, bound: Bindings.slotOwner(reader.vault, slot))
            else {
                throw Refusal(.authenticationFailed)
            }
            let part = try Refusal.of { () throws(FormatError) in try OwnerPart(plain.span, slot.kind) }
            try Refusal.unless(part.revision <= reader.state.commit.clock)
            let grants =
                slot.kind == .scoped ? try Self.grants(slot, reader.vault, Array(plain[OwnerPart.wrappingKey])) : []
            line(
                "slot-owner", Self.hex(part.name), part.revision, Self.hex(device: part.device),
                Self.hex(part.providerData))
            for number in grants { line("slot-grant", number) }
        }
    }

    private static func grants(_ slot: Slot, _ vault: Bytes16, _ wrappingKey: [UInt8]) throws(Refusal) -> [UInt64] {
        guard let payload = Plain.open(slot.payload, key: wrappingKey, bound: Bindings.slot(vault, slot)) else {
            throw Refusal(.authenticationFailed)
        }
        return try Refusal.of { () throws(FormatError) in try ScopedPayloadLayout(payload.span) }.groups
    }

    private mutating func releaseKeyring(_ reader: SpecReader) {
        let ring = reader.keyring
        for one in reader.header.extensions {
            line("extension", "header", one.flags, Self.hex(one.name), Self.hex(one.value))
        }
        for one in ring.extensions { line("extension", "keyring", one.flags, Self.hex(one.name), Self.hex(one.value)) }
        line("keep", ring.keeping.count, ring.keeping.revision, Self.hex(device: ring.keeping.device))
        for (index, device) in ring.devices.enumerated() { line("device", index + 1, Self.hex(device.bytes)) }
        for group in ring.groups { line("group", group.number, Self.hex(group.name)) }
        for one in ring.compartments {
            line("compartment", one.number, one.group, one.accessibility, Self.hex(device: one.device))
        }
        for slot in ring.removedSlots { line("removed-slot", Self.hex(slot.id.bytes), slot.revision) }
        for (index, one) in ring.handOvers.enumerated() {
            let next = index + 1 < ring.handOvers.count ? ring.handOvers[index + 1].publicKey : reader.publicKey
            let message = Bindings.handOver(
                reader.vault, generation: one.generation, chain: one.chain.bytes, next: next)
            let isValid = Signature.isValid(one.signature, of: message, under: one.publicKey)
            line(
                "hand-over", Self.hex(one.publicKey.bytes), one.generation, Self.hex(one.chain.bytes),
                isValid ? "valid" : "invalid")
        }
    }

    // MARK: the tree

    private struct Counts {
        var items: UInt64 = 0
        var tombstones: UInt64 = 0
        var versions: UInt64 = 0
        var ids: Set<Bytes16> = []
        var removed: Set<Bytes16> = []
    }

    private mutating func releaseTree(_ reader: SpecReader, _ failures: inout [Verdict]) throws(Refusal) {
        let commit = reader.state.commit
        var counts = Counts()
        if let root = commit.root {
            try releasePage(reader, root.ref, root.level, before: commit.offset, nil, nil, &counts, &failures)
        }
        try Refusal.unless(counts.ids.isDisjoint(with: counts.removed))
        try Refusal.unless(
            counts.items == commit.items && counts.tombstones == commit.tombstones && counts.versions == commit.versions
        )
    }

    private mutating func releasePage(
        _ reader: SpecReader, _ ref: ObjectRef, _ level: UInt8, before referrer: UInt64, _ low: [UInt8]?,
        _ high: [UInt8]?,
        _ counts: inout Counts, _ failures: inout [Verdict]
    ) throws(Refusal) {
        let body = try reader.body(ref, .page, before: referrer)
        let layout = try Refusal.of { () throws(FormatError) in try PageLayout(body.span, at: ref.offset) }
        try Refusal.unless(layout.level == level)
        let keys = layout.entries.enumerated().map { index, entry in
            layout.isLeaf || index > 0 ? Array(body[layout.prefix] + body[entry.rest]) : []
        }
        for key in layout.isLeaf ? keys[...] : keys.dropFirst() {
            if let low { try Refusal.unless(!ByteOrder.isLess(key, low)) }
            if let high { try Refusal.unless(ByteOrder.isLess(key, high)) }
        }
        if layout.isLeaf {
            for (key, entry) in zip(keys, layout.entries) {
                let value = Array(body[entry.value])
                if key.first == Format.tombstoneTag {
                    try releaseTombstone(reader, key, value, &counts)
                } else {
                    try releaseItem(reader, key, value, at: ref.offset, &counts, &failures)
                }
            }
            return
        }
        for index in layout.entries.indices {
            let child = try Refusal.of { () throws(FormatError) in try layout.child(index, body.span) }
            let first = index == 0 ? low : keys[index]
            let last = index + 1 < keys.count ? keys[index + 1] : high
            try releasePage(reader, child, level - 1, before: ref.offset, first, last, &counts, &failures)
        }
    }

    private mutating func releaseTombstone(
        _ reader: SpecReader, _ key: [UInt8], _ value: [UInt8], _ counts: inout Counts
    ) throws(Refusal) {
        guard let id = Bytes16(Array(key.dropFirst())) else { throw Refusal(.structureInvalid) }
        let entry = try Refusal.of { () throws(FormatError) in
            var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
            return try TombstoneEntry(value.span, &cursor)
        }
        let most = reader.keyring.devices.count
        try Refusal.unless(entry.device <= most && entry.lastDevice <= most)
        try Refusal.unless(entry.revision <= reader.state.commit.clock && entry.lastRevision >= 1)
        line("tombstone", Self.hex(id.bytes), entry.revision, entry.device, entry.lastRevision, entry.lastDevice)
        counts.tombstones += 1
        counts.removed.insert(id)
    }

    // MARK: items

    private mutating func releaseItem(
        _ reader: SpecReader, _ key: [UInt8], _ value: [UInt8], at page: UInt64, _ counts: inout Counts,
        _ failures: inout [Verdict]
    ) throws(Refusal) {
        let group = try SpecKey.group(key)
        let item = try Refusal.of { () throws(FormatError) in
            var cursor = Cursor(value.span, at: page, else: .structureInvalid)
            let entry = try ItemEntry(value.span, &cursor)
            let attributes = try PageAttributes.decode(value.span, &cursor)
            try cursor.finish()
            return ForgedItem(entry: entry, attributes: attributes)
        }
        let entry = item.entry
        try Self.check(revisions: [entry.revision, entry.recordRevision], device: entry.device, reader)
        let ring = reader.keyring
        func isOfGroup(_ compartment: UInt64) -> Bool {
            guard let info = ring.compartments.first(where: { $0.number == compartment }) else { return false }
            return ring.groups.contains { $0.number == info.group && Array($0.name.utf8) == group }
        }
        try Refusal.unless(isOfGroup(entry.compartment))
        for own in item.attributes.compactMap(\.own) {
            try Self.check(revisions: [own.revision], device: 0, reader)
            try Refusal.unless(isOfGroup(own.compartment))
        }
        counts.items += 1
        counts.versions += UInt64(entry.versions?.count ?? 0)
        counts.ids.insert(entry.id)
        line("item", Self.hex(key))
        line("id", Self.hex(entry.id.bytes))
        line("revision", entry.revision, entry.device)
        line("times", entry.created, entry.modified)
        let live = Place(ref: entry.record, revision: entry.recordRevision, compartment: entry.compartment)
        releaseValue(reader, entry.id, live, item.attributes, before: page, key: key, &failures)
        try releaseVersions(reader, item, at: page, &failures)
    }

    private static func check(revisions: [UInt64], device: Int, _ reader: SpecReader) throws(Refusal) {
        for revision in revisions { try Refusal.unless(revision >= 1 && revision <= reader.state.commit.clock) }
        try Refusal.unless(device <= reader.keyring.devices.count)
    }

    private struct Place {
        let ref: ObjectRef
        let revision: UInt64
        let compartment: UInt64
    }

    /// `key` is that of a live item, which its record has to have.
    private mutating func releaseValue(
        _ reader: SpecReader, _ item: Bytes16, _ place: Place, _ attributes: [PageAttribute], before referrer: UInt64,
        key: [UInt8]?,
        _ failures: inout [Verdict]
    ) {
        line("record", place.revision, place.compartment)
        var record: SpecRecord?
        var reason = ""
        do throws(Refusal) {
            if let body = try Self.open(reader, item, place, before: referrer) {
                record = try SpecRecord(body, attributes, key: key)
            } else {
                reason = "no-key"
            }
        } catch { reason = error.verdict.rawValue }
        for attribute in attributes {
            let front = "\(Self.hex(attribute.name)) \(attribute.flags.rawValue)"
            switch attribute.value {
            case .inPage(let value): line("attribute", front, Self.hex(value))
            case .inItemRecord:
                if let value = record?.values[Array(attribute.name.utf8)] {
                    line("attribute", front, Self.hex(value))
                } else {
                    if let verdict = Verdict(rawValue: reason) { failures.append(verdict) }
                    line("attribute-unavailable", front, reason)
                }
            case .inOwnRecord(let own):
                releaseLarge(reader, item, attribute, own, front, before: referrer, &failures)
                line("attribute-record", own.revision, own.compartment)
            }
        }
        guard let record else {
            if let verdict = Verdict(rawValue: reason) { failures.append(verdict) }
            return line("secret-unavailable", reason)
        }
        if key == nil { line("key", Self.hex(record.key)) }
        line("secret", Self.hex(record.secret))
    }

    private mutating func releaseLarge(
        _ reader: SpecReader, _ item: Bytes16, _ attribute: PageAttribute, _ own: RecordRef, _ front: String,
        before referrer: UInt64,
        _ failures: inout [Verdict]
    ) {
        do throws(Refusal) {
            let place = Place(ref: own.record, revision: own.revision, compartment: own.compartment)
            guard let body = try Self.open(reader, item, place, before: referrer) else {
                return line("attribute-unavailable", front, "no-key")
            }
            line("attribute", front, Self.hex(try SpecRecord.large(body, attribute)))
        } catch {
            failures.append(error.verdict)
            line("attribute-unavailable", front, error.verdict.rawValue)
        }
    }

    /// A record's body; nil if its key is not granted.
    private static func open(_ reader: SpecReader, _ item: Bytes16, _ place: Place, before referrer: UInt64)
        throws(Refusal) -> [UInt8]?
    {
        let frame = try reader.frame(place.ref, .record, before: referrer)
        guard let key = try reader.compartmentKey(place.compartment) else { return nil }
        let name = ForgedObject.RecordName(item: item, compartment: place.compartment, revision: place.revision)
        let sealed = Array(frame[8..<32] + frame[64...])
        guard let body = Plain.open(sealed, key: key, bound: Bindings.record(reader.vault, name, length: frame.count))
        else {
            throw Refusal(.authenticationFailed)
        }
        return body
    }

    // MARK: earlier values

    private mutating func releaseVersions(
        _ reader: SpecReader, _ item: ForgedItem, at page: UInt64, _ failures: inout [Verdict]
    ) throws(Refusal) {
        guard let stated = item.entry.versions else { return }
        guard reader.owner != nil else { return line("versions-unavailable", stated.count, "no-key") }
        let versions: Versions
        do throws(Refusal) { versions = try Self.versions(reader, item, stated.frame, at: page) } catch {
            failures.append(error.verdict)
            return line("versions-unavailable", stated.count, error.verdict.rawValue)
        }
        for version in versions.versions {
            line("version", version.revision, version.device, version.replaced, version.modified)
            let place = Place(ref: version.record, revision: version.recordRevision, compartment: version.compartment)
            releaseValue(
                reader, item.entry.id, place, version.attributes, before: stated.frame.offset, key: nil, &failures)
        }
    }

    private static func versions(
        _ reader: SpecReader, _ item: ForgedItem, _ ref: ObjectRef, at page: UInt64
    ) throws(Refusal) -> Versions {
        let body = try reader.body(ref, .versions, before: page)
        let versions = try Refusal.of { () throws(FormatError) in
            let versions = try Versions(body.span, at: ref.offset)
            try versions.check(item.entry, at: ref.offset)
            return versions
        }
        let live = Set(item.attributes.compactMap(\.own))
        func isForOwners(_ number: UInt64) -> Bool {
            reader.keyring.compartments.contains {
                $0.number == number && ($0.group == Keyring.ownersGroup || $0.isDeviceBound)
            }
        }
        for version in versions.versions {
            let own = version.attributes.compactMap(\.own)
            let revisions = [version.revision, version.recordRevision] + own.map(\.revision)
            try check(revisions: revisions, device: version.device, reader)
            try Refusal.unless(isForOwners(version.compartment))
            for one in own { try Refusal.unless(live.contains(one) || isForOwners(one.compartment)) }
        }
        return versions
    }
}

extension PageAttribute {
    /// The record of its own, if it has one.
    fileprivate var own: RecordRef? {
        guard case .inOwnRecord(let own) = value else { return nil }
        return own
    }
}

/// An item's record, opened and compared with what refers to it.
struct SpecRecord {
    let key: [UInt8]
    let secret: [UInt8]
    private(set) var values: [[UInt8]: [UInt8]] = [:]

    init(_ body: [UInt8], _ attributes: [PageAttribute], key expected: [UInt8]?) throws(Refusal) {
        let layout = try SpecRecord.layout(body, .item)
        guard case .item(let secret, let held) = layout.content else { throw Refusal(.unsupportedForm) }
        key = Array(body[layout.key])
        self.secret = Array(body[secret])
        if let expected { try Refusal.unless(key == expected) }
        let inside = attributes.filter { $0.flags.contains(.inItemRecord) }
        try Refusal.unless(inside.count == held.count)
        for (page, one) in zip(inside, held) {
            try Refusal.unless(Array(page.name.utf8) == Array(body[one.name]) && page.flags == one.flags)
            values[Array(body[one.name])] = Array(body[one.value])
        }
    }

    /// What all records share: a known form that the reference does not call for is malformed, and a key is one (R-5.3,
    ///
    private static func layout(_ body: [UInt8], _ form: RecordLayout.Form) throws(Refusal) -> RecordLayout {
        if Padding.isStep(body.count), let other = RecordLayout.form(body.span), other != form {
            throw Refusal(.structureInvalid)
        }
        let layout = try Refusal.of { () throws(FormatError) in try RecordLayout(body.span, form, at: 0) }
        _ = try SpecKey.group(Array(body[layout.key]))
        return layout
    }

    /// The value of a large attribute.
    static func large(_ body: [UInt8], _ attribute: PageAttribute) throws(Refusal) -> [UInt8] {
        let layout = try SpecRecord.layout(body, .attribute)
        guard case .attribute(let name, let flags, let value) = layout.content else { throw Refusal(.unsupportedForm) }
        try Refusal.unless(Array(body[name]) == Array(attribute.name.utf8) && flags == attribute.flags)
        return Array(body[value])
    }
}

/// Item keys (section 6.1).
enum SpecKey {
    private enum Field { case text, bytes, number }

    /// Checks a key, and returns its group's name.
    static func group(_ key: [UInt8]) throws(Refusal) -> [UInt8] {
        try Refusal.unless((4...8192).contains(key.count))
        var rest = key[1...]
        switch key[0] {
        case 1: return try fields([.text, .text], &rest)
        case 2: return try fields([.text, .text, .number, .text, .text, .text, .text], &rest)
        case 3, 5: return try fields([.number, .bytes, .bytes], &rest)
        case 4: return try fields([.number, .number, .bytes, .bytes, .number, .number], &rest)
        case 6...63:
            var last: [UInt8] = []
            var count = 0
            while rest.count > 1 {
                last = try field(&rest, isText: true)
                count += 1
            }
            try Refusal.unless((1...16).contains(count))
            try end(rest)
            return last
        default: throw Refusal(.structureInvalid)
        }
    }

    private static func fields(_ kinds: [Field], _ rest: inout ArraySlice<UInt8>) throws(Refusal) -> [UInt8] {
        for kind in kinds {
            if kind == .number {
                try Refusal.unless(rest.count >= 4)
                rest = rest.dropFirst(4)
            } else {
                _ = try field(&rest, isText: kind == .text)
            }
        }
        let group = try field(&rest, isText: true)
        try end(rest)
        return group
    }

    private static func end(_ rest: ArraySlice<UInt8>) throws(Refusal) {
        try Refusal.unless(rest.count == 1 && rest.first.map { $0 <= 1 } == true)
    }

    private static func field(_ rest: inout ArraySlice<UInt8>, isText: Bool) throws(Refusal) -> [UInt8] {
        var out: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == 0 {
                guard let next = rest.popFirst(), next == 0 || next == 0xFF else { throw Refusal(.structureInvalid) }
                if next == 0 {
                    try Refusal.unless(out.count <= 4096)
                    if isText { try Refusal.unless(String(validating: out, as: UTF8.self) != nil) }
                    return out
                }
            }
            out.append(byte)
        }
        throw Refusal(.structureInvalid)
    }
}
