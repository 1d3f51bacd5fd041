internal import TestSupport
internal import VaultBytes

/// The siblings that a past lists.
extension Collection {
    mutating func addPastSiblings(_ bases: Bases) throws {
        let siblings = bases.causal.siblings
        try past(
            "sibling-not-greatest", "R-5.29", .structureInvalid, siblings, "No listed sibling has the entry's dot."
        ) {
            $0.siblings[1].dot.revision -= 1
        }
        try past(
            "sibling-greater", "R-5.29", .structureInvalid, siblings,
            "A listed sibling has a greater dot than the entry."
        ) {
            var more = $0.siblings[1]
            more.dot.revision += 1
            $0.siblings.append(more)
        }
        try past(
            "siblings-order", "R-5.27", .structureInvalid, siblings, "Siblings in descending order.",
            raw: {
                $0.siblings.reverse()
            })
        try past(
            "siblings-twice", "R-5.27", .structureInvalid, siblings, "One sibling twice.",
            raw: {
                $0.siblings.insert($0.siblings[0], at: 0)
            })
        try forged(
            "past-cut-off", "R-1.3", .structureInvalid, siblings, "The frame is a step shorter than what it lists."
        ) { $0.onBody(try $0.past()) { body, _ in body.removeLast(Format.pageStep) } }
        try past(
            "created-not-least", "R-5.29", .structureInvalid, siblings, "A sibling was created before the entry says."
        ) {
            $0.siblings[0].created -= 1
        }
        try past("created-later", "R-5.29", .success, siblings, "One of two siblings was created after the entry says.")
        {
            $0.siblings[0].created += 1
        }
        try past(
            "modified-not-greatest", "R-5.29", .structureInvalid, siblings,
            "A sibling was modified after the entry says."
        ) {
            $0.siblings[0].modified = $0.siblings[1].modified + 1
        }
        try past("modified-less", "R-5.29", .structureInvalid, siblings, "No sibling was modified when the entry says.")
        {
            $0.siblings[1].modified -= 1000
            $0.siblings[0].modified -= 1000
        }
        for (name, time, expect) in [
            ("greatest", 1 << 61 - 1, .success), ("beyond", 1 << 61, .structureInvalid),
        ] as [(String, Int64, Verdict)] {
            try past("sibling-created-\(name)", "R-6.18", expect, siblings, "A sibling was created at \(time).") {
                $0.siblings[0].created = time
            }
        }
        for (count, expect) in [(256, Verdict.success), (257, .structureInvalid)] {
            let clock = try bases.causal.three.clock()
            try forged(
                "past-siblings-\(count)", "R-5.29, R-11.1", expect, bases.causal.three, "\(count) siblings of one item."
            ) {
                try $0.addPast(to: 2) { entry in
                    var past = NamedPast.of(entry)
                    let fields = past.siblings[0].fields
                    past.siblings = (0..<UInt64(count)).map { back in
                        DraftSibling(
                            dot: StoredDot(clock - back, 1), created: entry.created, modified: entry.modified,
                            fields: fields)
                    }
                    return past
                }
            }
        }
        try addSingleSiblings(bases)
    }

    /// One sibling, listed with need and without.
    private mutating func addSingleSiblings(_ bases: Bases) throws {
        let three = bases.causal.three
        func single(_ name: String, _ expect: Verdict, _ comment: String, _ edit: @escaping (inout NamedPast) -> Void)
            throws
        {
            try forged("past-\(name)", "R-5.29", expect, three, comment) {
                try $0.addPast(to: 2) { entry in
                    var past = NamedPast.of(entry)
                    edit(&past)
                    return past
                }
            }
        }
        try single("one-sibling-needless", .structureInvalid, "A single sibling is listed, and nothing needs it.") {
            _ in
        }
        try single("shown-not-open", .success, "A single sibling is listed, whose secret is shown and not open.") {
            past in
            guard let index = past.values.firstIndex(where: { $0.kind == .secret }) else { return }
            past.values[index].flags = .shown
        }
        try single("one-sibling-other-field", .success, "A single sibling is listed that lacks the key's dot.") {
            past in
            guard let index = past.values.firstIndex(where: { $0.kind == .key }) else { return }
            let old = past.values[index].draftName
            let other = Past.Value(
                kind: .key, dot: StoredDot(past.values[index].dot.revision - 1, 1), flags: [],
                content: .key(DraftKey.generic("d", "")))
            past.values.append(other)
            past.siblings[0].fields = past.siblings[0].fields.map { $0 == old ? other.draftName : $0 }
        }
    }

    // MARK: fields

    mutating func addPastFields(_ bases: Bases) throws {
        let siblings = bases.causal.siblings
        try addMissingFields(siblings)
        try addSecondFields(siblings)
        try past(
            "value-of-nothing", "R-5.29", .structureInvalid, siblings, "A value that is neither open nor a sibling's."
        ) { past in
            let url = past.values[try past.index(.attribute, "url")].draftName
            for index in past.siblings.indices { past.siblings[index].fields.removeAll { $0 == url } }
        }
        try past(
            "sibling-earlier-plain", "R-5.29", .structureInvalid, siblings,
            "A plain attribute is an earlier value of a sibling."
        ) {
            past in past.siblings[0].earlier.append(past.values[try past.index(.attribute, "url")].draftName)
        }
        try past(
            "sibling-earlier-own", "R-5.29", .structureInvalid, siblings,
            "An earlier value of a sibling is a field of it."
        ) {
            past in
            let secret = past.siblings[0].fields.first { $0.kind == .secret }
            past.siblings[0].earlier += secret.map { [$0] } ?? []
        }
        try past("sibling-earlier-open", "R-5.29", .success, siblings, "An earlier value of a sibling is open.") {
            past in
            let secret = past.siblings[0].fields.first { $0.kind == .secret }
            past.siblings[1].earlier += secret.map { [$0] } ?? []
        }
        try past("sibling-earlier-shown", "R-5.29", .success, siblings, "An earlier value of a sibling is shown.") {
            past in
            let secret = past.siblings[1].fields.first { $0.kind == .secret }
            past.siblings[0].earlier += secret.map { [$0] } ?? []
        }
        try past(
            "sibling-earlier-forgotten", "R-5.29", .structureInvalid, bases.causal.forgotten,
            "A forgotten value is an earlier one of a sibling."
        ) { past in
            let index = try past.index(.attribute, "notes") { $0.flags.contains(.forgotten) }
            past.siblings[0].earlier.append(past.values[index].draftName)
        }
        try addShownFields(siblings)
        for (name, isEarlier) in [("bitmap-reserved", false), ("bitmap-earlier-reserved", true)] {
            try past(
                name, "R-1.2", .structureInvalid, siblings, "A bit for a value that is not there.",
                raw: { raw in
                    guard raw.values.count % 8 != 0, let last = raw.siblings[0].fields.indices.last else {
                        throw ForgeError("no reserved bit")
                    }
                    if isEarlier { raw.siblings[0].earlier[last] |= 0x80 } else { raw.siblings[0].fields[last] |= 0x80 }
                })
        }
    }

    private mutating func addMissingFields(_ siblings: Base) throws {
        for (kind, word, expect) in [
            (.key, "key", .structureInvalid), (.place, "place", .structureInvalid), (.secret, "secret", .success),
        ] as [(FieldKind, String, Verdict)] {
            try past("sibling-without-\(word)", "R-5.29", expect, siblings, "A sibling without a \(word).") { past in
                past.siblings[0].fields.removeAll { $0.kind == kind }
            }
        }
    }

    /// Two values of one field of a sibling.
    private mutating func addSecondFields(_ siblings: Base) throws {
        func second(_ name: String, _ comment: String, _ edit: @escaping (inout NamedPast) throws -> Void) throws {
            try past("sibling-\(name)", "R-5.29", .structureInvalid, siblings, comment, edit)
        }
        try second("two-keys", "A sibling with two keys.") { past in
            past.add(
                Past.Value(kind: .key, dot: past.siblings[0].dot, flags: [], content: .key(DraftKey.generic("d", ""))),
                toFieldsOf: 0)
        }
        try second("two-places", "A sibling with two places.") { past in
            past.add(
                Past.Value(
                    kind: .place, dot: past.siblings[0].dot, flags: [],
                    content: .place(.init(group: [], accessibility: 2, device: .zero))), toFieldsOf: 0)
        }
        try second("two-secrets", "A sibling with two secrets.") { past in
            let secret = past.siblings[1].fields.filter { $0.kind == .secret }
            past.siblings[0].fields += secret
        }
        try second("attribute-twice", "A sibling with two values of one attribute.") { past in
            past.add(
                Past.Value(
                    kind: .attribute, name: Array("url".utf8), dot: past.siblings[1].dot, flags: [],
                    content: .attribute([0x61])), toFieldsOf: 1)
        }
    }

    /// The values that the entry has.
    private mutating func addShownFields(_ siblings: Base) throws {
        try past(
            "shown-missing", "R-5.29", .structureInvalid, siblings, "A value of the entry is listed with its bytes."
        ) { past in
            let index = try past.index(.attribute, "label")
            past.values[index].flags = .open
            past.values[index].content = .attribute(Array("Example".utf8))
        }
        try past("shown-absent", "R-5.29", .structureInvalid, siblings, "A value of the entry is not listed.") { past in
            let label = past.values.remove(at: try past.index(.attribute, "label")).draftName
            for index in past.siblings.indices { past.siblings[index].fields.removeAll { $0 == label } }
        }
        try past("shown-more", "R-5.29", .structureInvalid, siblings, "A value is said to be in the entry, and is not.")
        { past in
            let index = try past.index(.attribute, "url")
            (past.values[index].flags, past.values[index].content) = (.shown, .absent)
        }
        try past(
            "shown-other-dot", "R-5.29", .structureInvalid, siblings,
            "A value of the entry is listed under another dot."
        ) { past in
            let index = try past.index(.attribute, "label")
            let old = past.values[index].draftName
            past.values[index].dot = past.siblings[0].dot
            let new = past.values[index].draftName
            past.siblings[1].fields = past.siblings[1].fields.map { $0 == old ? new : $0 }
        }
        try past(
            "shown-other-flags", "R-5.29", .structureInvalid, siblings,
            "An attribute of the entry is listed as concealed."
        ) { past in
            past.values[try past.index(.attribute, "label")].attribute.insert(.concealed)
        }
    }
}
