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
            var failures: [Refusal] = []
            do throws(Refusal) { try release(reader, request, &failures) } catch { failures.append(error) }
            let verdicts = failures.compactMap(\.verdict)
            if let first = verdicts.first(where: { $0 != .deviceBound }) {
                verdict = first
            } else if verdicts.isEmpty {
                switch reader.state.tail {
                case .none: verdict = .success
                case .torn: verdict = .successTailTorn
                case .incomplete: verdict = .successTailIncomplete
                case .damaged: verdict = .successTailDamaged
                }
            } else {
                verdict = .deviceBound
            }
        } catch { verdict = error.verdict ?? .noSlotOpens }
    }

    private mutating func line(_ words: Any...) { dump.append(words.map { "\($0)" }.joined(separator: " ")) }
    private static func hex(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
    private static func hex(_ text: String) -> String { hex(Array(text.utf8)) }
    private static func hex(device: Bytes16) -> String { device == .zero ? "-" : Hex.encode(device.bytes) }

    private mutating func release(_ reader: SpecReader, _ request: ReadRequest, _ failures: inout [Refusal])
        throws(Refusal)
    {
        let commit = reader.state.commit
        line("vaultfmt-dump 3")
        line("vault", Self.hex(reader.vault.bytes))
        line("access", reader.owner == nil ? "scoped" : "full")
        line("owner", Self.hex(reader.publicKey.bytes))
        line("generation", commit.generation)
        line("chain", Self.hex(reader.state.chain.bytes))
        line(
            "before", commit.predecessor?.generation ?? 0,
            Self.hex(commit.predecessor?.chain.bytes ?? Bytes32.zero.bytes))
        line("clock", commit.clock, commit.floor)
        line("own", commit.own?.id ?? 0, commit.own?.revision ?? 0)
        if let anchor = request.anchor { line("anchor", try SpecAncestry(reader).verdict(anchor)) }
        let vector = try reader.vector()
        releaseRows("row", vector)
        for number in reader.grantedNumbers { line("grant", number) }
        try releaseSlots(reader)
        releaseKeyring(reader, vector)
        try releaseTree(SpecTree(reader, vector), &failures)
        line("end")
    }

    private mutating func releaseRows(_ word: String, _ vector: Vector) {
        for row in vector.rows { line("\(word) \(row.id) \(row.revision)\(row.isSplit ? " split" : "")") }
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
            var grants: [UInt64] = []
            if slot.kind == .scoped {
                grants = try Self.grants(slot, reader.vault, Array(plain[OwnerPart.wrappingKey]))
                let stated = reader.keyring.slots.first { $0.id == slot.id }?.grants.map(\.group)
                try Refusal.unless(grants == stated)
            }
            line("slot-owner", Self.hex(part.name), Self.hex(part.providerData))
            for number in grants { line("slot-grant", number) }
        }
    }

    private static func grants(_ slot: Slot, _ vault: Bytes16, _ wrappingKey: [UInt8]) throws(Refusal) -> [UInt64] {
        guard let payload = Plain.open(slot.payload, key: wrappingKey, bound: Bindings.slot(vault, slot)) else {
            throw Refusal(.authenticationFailed)
        }
        return try Refusal.of { () throws(FormatError) in try ScopedPayloadLayout(payload.span) }.groups
    }

    private mutating func releaseKeyring(_ reader: SpecReader, _ vector: Vector) {
        let ring = reader.keyring
        func text(_ dot: StoredDot) -> String { SpecTree.text(dot, vector) }
        for one in reader.header.extensions {
            line("extension", "header", one.flags, Self.hex(one.name), Self.hex(one.value))
        }
        for one in ring.extensions { line("extension", "keyring", one.flags, Self.hex(one.name), Self.hex(one.value)) }
        line("limit", ring.keeping.count, text(ring.keeping.dot))
        line("key-dot", text(ring.vaultKey))
        for group in ring.groups { line("group", group.number, Self.hex(group.name)) }
        for one in ring.compartments {
            line("compartment", one.number, one.group, one.accessibility, Self.hex(device: one.device))
        }
        for slot in ring.slots {
            line("slot-dots", Self.hex(slot.id.bytes), text(slot.made), text(slot.changed))
            for grant in slot.grants { line("slot-grant-dot", grant.group, text(grant.dot)) }
        }
        for one in ring.handOvers { releaseHandOver(reader, one) }
    }

    /// A hand-over whose vector cannot be read fails only where it is needed.
    private mutating func releaseHandOver(_ reader: SpecReader, _ one: HandOver) {
        let front = "hand-over \(Self.hex(one.publicKey.bytes)) \(Self.hex(one.next.bytes)) \(one.floor)"
        do throws(Refusal) {
            let vector = try reader.vector(of: one)
            line(front, SpecAncestry.isValid(one, vector, reader.vault) ? "valid" : "invalid")
            releaseRows("hand-over-row", vector)
        } catch { line(front, error.reason) }
    }

    // MARK: the tree

    private mutating func releaseTree(_ tree: SpecTree, _ failures: inout [Refusal]) throws(Refusal) {
        var counts = SpecTree.Counts()
        try tree.walk { (entry) throws(Refusal) in
            switch entry {
            case .forgotten(let value):
                counts.add(value)
                line(
                    "forgotten", value.kind.rawValue, Self.hex(value.name), "\(value.dot.revision).\(value.dot.replica)"
                )
            case .item(let item): releaseItem(tree, item, &counts, &failures)
            }
        }
        try tree.check(counts)
    }

    // MARK: items

    private mutating func releaseItem(
        _ tree: SpecTree, _ item: SpecItem, _ counts: inout SpecTree.Counts, _ failures: inout [Refusal]
    ) {
        let entry = item.entry
        line("item", Self.hex(item.key))
        line("id", Self.hex(entry.id.bytes))
        line("dot", tree.text(entry.dot))
        line("times", entry.created, entry.modified)
        line(
            "fields", tree.text(entry.dot(of: FieldSet.key)), tree.text(entry.dot(of: FieldSet.place)),
            entry.lacksSecret ? "-" : tree.text(entry.dot(of: FieldSet.secret)))
        if entry.hasConflicts { line("to-settle") }
        let dots = item.attributes.indices.map { " " + tree.text(entry.dot(of: FieldSet.firstAttribute + $0)) }
        releaseValue(
            tree, entry.id, entry.own, item.attributes, dots, before: item.page,
            SpecRecord.Use(hasSecret: !entry.lacksSecret, mayHaveMore: tree.isDeviceBound(entry.compartment)), &failures
        )
        var past: Past?
        if let frame = entry.past {
            do throws(Refusal) { past = try tree.past(item, frame) } catch {
                failures.append(error)
                line("past-unavailable", error.reason)
            }
        }
        counts.add(item, past, isOwner: tree.reader.owner != nil, tree)
        guard let past, let frame = entry.past else { return }
        for value in past.values { releaseKept(tree, entry.id, value, before: frame.offset, &failures) }
        for sibling in past.siblings {
            line("sibling", tree.text(sibling.dot), sibling.created, sibling.modified)
            for index in sibling.fields { line("sibling-field", Self.named(past.values[index], tree)) }
            for index in sibling.earlier { line("sibling-earlier", Self.named(past.values[index], tree)) }
        }
    }

    private static func named(_ value: Past.Value, _ tree: SpecTree) -> String {
        "\(value.kind.rawValue) \(hex(value.name)) \(tree.text(value.dot))"
    }

    /// A record, or the place of an item that has none; the attributes, and the secret.
    private mutating func releaseValue(
        _ tree: SpecTree, _ item: Bytes16, _ own: RecordRef, _ attributes: [PageAttribute], _ dots: [String],
        before referrer: UInt64, _ use: SpecRecord.Use, _ failures: inout [Refusal]
    ) {
        line("record", own.revision, own.compartment)
        var record: SpecRecord?
        var failure: Refusal?
        do throws(Refusal) {
            // Only an item without a secret can lack a record.
            let isAbsent = own.record.isZero && !use.hasSecret
            record = isAbsent ? SpecRecord() : try tree.record(item, own, attributes, before: referrer, use)
        } catch { failure = error }
        for (attribute, dot) in zip(attributes, dots) {
            let front = "\(Self.hex(attribute.name)) \(attribute.flags.rawValue)"
            var found: [UInt8]?
            var refusal = failure
            switch attribute.value {
            case .inPage(let value): found = value
            case .inItemRecord: found = record?.values[Array(attribute.name.utf8)]
            case .inOwnRecord(let own):
                do throws(Refusal) {
                    found = try tree.large(item, attribute.name, attribute.flags, own, before: referrer)
                } catch { refusal = error }
            }
            if let found {
                line("attribute", front, Self.hex(found) + dot)
            } else if let refusal {
                failures.append(refusal)
                line("attribute-unavailable", front, refusal.reason + dot)
            }
            if case .inOwnRecord(let own) = attribute.value { line("attribute-record", own.revision, own.compartment) }
        }
        if let failure {
            failures.append(failure)
            line("secret-unavailable", failure.reason)
        } else if let record {
            if use.hasSecret { line("secret", Self.hex(record.secret)) } else { line("secret-none") }
        }
    }

    /// A value that the item does not show, or shows and does not list elsewhere.
    private mutating func releaseKept(
        _ tree: SpecTree, _ item: Bytes16, _ value: Past.Value, before referrer: UInt64, _ failures: inout [Refusal]
    ) {
        let front = "value \(Self.named(value, tree)) \(value.flags.rawValue) \(value.attribute.rawValue)"
        guard value.flags.isDisjoint(with: [.shown, .forgotten]) else { return line(front) }
        line(front, value.replaced)
        switch value.content {
        case .absent: break
        case .secret(let own, let attributes):
            let none = attributes.map { _ in "" }
            releaseValue(
                tree, item, own, attributes, none, before: referrer,
                SpecRecord.Use(hasSecret: true, mayHaveMore: true), &failures)
        case .attributeInRecord(let own):
            line(value.attribute.contains(.inOwnRecord) ? "attribute-record" : "record", own.revision, own.compartment)
            do throws(Refusal) {
                line("content", Self.hex(try tree.attribute(item, value, own, before: referrer)))
            } catch {
                failures.append(error)
                line("content-unavailable", error.reason)
            }
        case .attribute(let bytes), .key(let bytes): line("content", Self.hex(bytes))
        case .place(let place):
            line("content", Self.hex(place.group), place.accessibility, Self.hex(device: place.device))
        }
    }
}
