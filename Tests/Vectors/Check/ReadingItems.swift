import VaultBytes
import VaultFmt
import VaultStore
import VectorMaking

/// What a reading releases of items and forgotten values.
extension Reading {
    mutating func releaseItems(_ vault: Vault, _ vector: Vector) throws(VaultError) {
        var isOwner = false
        if case .owner = vault.access { isOwner = true }
        var names = NamesOfValues(isWhole: isOwner)
        let failure = try releaseItems(vault, vector, &names)
        var reading = self
        defer { self = reading }
        try vault.forEachForgottenValue { (value) throws(VaultError) in
            guard vector.hasSeen(value.dot) else {
                throw VaultError(
                    .structureInvalid, "a forgotten value belongs to a change that the vault does not include")
            }
            names.listed.insert(NamesOfValues.Name(kind: value.kind, name: value.name, dot: value.dot))
            reading.line("forgotten", value.kind.rawValue, Self.hex(value.name), Vector.text(value.dot))
        }
        if let failure { throw failure }
        try names.check()
    }

    /// Returns an error that a listing met after the last item: at a forgotten value, or where it counts. The
    /// forgotten values before it are released first.
    private mutating func releaseItems(
        _ vault: Vault, _ vector: Vector, _ names: inout NamesOfValues
    ) throws(VaultError) -> VaultError? {
        var cursor = try vault.items()
        var count = 0
        while true {
            let next: Item?
            do throws(VaultError) { next = try cursor.next() } catch {
                var isBehind = false
                try vault.withStore { (store) throws(VaultError) in isBehind = Self.haveAllCome(count, store) }
                guard isBehind else { throw error }
                return error
            }
            guard let item = next else { return nil }
            count += 1
            try release(item, vault, vector, &names)
        }
    }

    /// Whether these are all items before the first forgotten value.
    private static func haveAllCome(_ items: Int, _ store: Store) -> Bool {
        do throws(VaultError) {
            var leaves = store.tree.leaves()
            var count = 0
            while let leaf = try leaves.next(1).first {
                let page = try store.pages.inPassing(leaf)
                let end = page.lowerBound([Format.forgottenTag]).index
                count += end
                if end < page.count { return count == items && page.isForgotten(end) }
            }
            return count == items
        } catch { return false }
    }

    private mutating func release(
        _ item: Item, _ vault: Vault, _ vector: Vector, _ names: inout NamesOfValues
    ) throws(VaultError) {
        let entry = item.entry
        // All dots are looked up before the first line.
        for further in entry.further { _ = try vector.text(StoredDot(further.revision(entry.dot), further.position)) }
        let dot = try vector.text(entry.dot)
        let key = item.storedKey.bytes
        line("item", Self.hex(item.hasKeyPlain ? key : PageKey.second(key, entry.id)))
        line("id", Self.hex(entry.id.bytes))
        line("dot", dot)
        line("times", entry.created, entry.modified)
        line(
            "fields", try vector.text(entry.dot(of: FieldSet.key)), try vector.text(entry.dot(of: FieldSet.place)),
            entry.lacksSecret ? "-" : try vector.text(entry.dot(of: FieldSet.secret)))
        if entry.hasConflicts { line("to-settle") }
        try releaseShown(item, vault, vector)
        let past = try releasePast(item, vault, vector)
        try names.add(item, past, vector)
    }

    /// What the item shows.
    private mutating func releaseShown(_ item: Item, _ vault: Vault, _ vector: Vector) throws(VaultError) {
        let entry = item.entry
        line("record", entry.recordRevision, entry.compartment)
        var secret: [UInt8]?
        var reason = ""
        var held = item.attributes
        do throws(VaultError) {
            let opened = try vault.openRecord(of: item)
            held = opened.item.attributes
            secret = opened.secret.withUnsafeBytes { Array($0) }
        } catch { reason = try Self.reason(error) }
        for (index, attribute) in item.attributes.all.enumerated() {
            let dot = " " + (try vector.text(entry.dot(of: FieldSet.firstAttribute + index)))
            try release(attribute, held.attribute(attribute.name), reason, dot) { () throws(VaultError) in
                try vault.attribute(attribute.name, of: item)
            }
        }
        if secret != nil, entry.lacksSecret { line("secret-none") } else { release(secret, reason) }
    }

    // MARK: pasts

    /// What the item keeps besides; nil if it keeps nothing, or if that cannot be read.
    private mutating func releasePast(_ item: Item, _ vault: Vault, _ vector: Vector) throws(VaultError) -> Past? {
        guard item.hasPast else { return nil }
        let past: Past
        do throws(VaultError) {
            guard let found = try vault.past(of: item) else { return nil }
            for dot in found.dots { _ = try vector.text(dot) }
            past = found
        } catch {
            let reason = try Self.reason(error)
            note(reason)
            line("past-unavailable", reason)
            return nil
        }
        let named = try past.values.map { (value) throws(VaultError) in
            "\(value.kind.rawValue) \(Self.hex(value.name)) \(try vector.text(value.dot))"
        }
        for (value, name) in zip(past.values, named) { try release(value, name, item, vault) }
        for sibling in past.siblings {
            line("sibling", try vector.text(sibling.dot), sibling.created, sibling.modified)
            for index in sibling.fields { line("sibling-field", named[index]) }
            for index in sibling.earlier { line("sibling-earlier", named[index]) }
        }
        return past
    }

    private mutating func release(
        _ value: Past.Value, _ name: String, _ item: Item, _ vault: Vault
    ) throws(VaultError) {
        let front = "value \(name) \(value.flags.rawValue) \(value.attribute.rawValue)"
        guard value.flags.isDisjoint(with: [.shown, .forgotten]) else { return line(front) }
        line(front, value.replaced)
        switch value.content {
        case .absent: break
        case .secret(let record, let attributes):
            line("record", record.revision, record.compartment)
            try releaseSecret(value, Attributes(inPage: attributes), item, vault)
        case .attributeInRecord(let record):
            let word = value.attribute.contains(.inOwnRecord) ? "attribute-record" : "record"
            line(word, record.revision, record.compartment)
            do throws(VaultError) {
                let bytes = try vault.open(value, of: item) { _ in }
                line("content", Self.hex(bytes.withUnsafeBytes { Array($0) }))
            } catch {
                let reason = try Self.reason(error)
                note(reason)
                line("content-unavailable", reason)
            }
        case .attribute(let bytes), .key(let bytes): line("content", Self.hex(bytes))
        case .place(let place):
            line("content", Self.hex(place.group), place.accessibility, Self.hex(device: place.device))
        }
    }

    private mutating func releaseSecret(
        _ value: Past.Value, _ listed: Attributes, _ item: Item, _ vault: Vault
    ) throws(VaultError) {
        var secret: [UInt8]?
        var reason = ""
        var held = listed
        do throws(VaultError) {
            let opened = try vault.open(value, of: item) { held = $0 }
            secret = opened.withUnsafeBytes { Array($0) }
        } catch { reason = try Self.reason(error) }
        for attribute in listed.all {
            try release(attribute, held.attribute(attribute.name), reason, "") { () throws(VaultError) in
                try vault.openLarge(attribute, inPastOf: item)
            }
        }
        release(secret, reason)
    }

    // MARK: values

    /// An attribute as the index has it, and as the opened value has it.
    private mutating func release(
        _ attribute: Attribute, _ held: Attribute?, _ reason: String, _ dot: String,
        _ read: () throws(VaultError) -> Secret?
    ) throws(VaultError) {
        let front = "\(Self.hex(attribute.name)) \(attribute.fileFlags.rawValue)"
        switch attribute.content {
        case .bytes(let value): line("attribute", front, Self.hex(value) + dot)
        case .secret: line("attribute", front, Self.hex(attribute.value ?? []) + dot)
        case .inItemRecord:
            if reason.isEmpty {
                line("attribute", front, Self.hex(held?.value ?? []) + dot)
            } else {
                note(reason)
                line("attribute-unavailable", front, reason + dot)
            }
        case .inOwnRecord(let own):
            do throws(VaultError) {
                let value = try read()?.withUnsafeBytes { Array($0) }
                line("attribute", front, Self.hex(value ?? []) + dot)
            } catch {
                let reason = try Self.reason(error)
                note(reason)
                line("attribute-unavailable", front, reason + dot)
            }
            line("attribute-record", own.revision, own.compartment)
        }
    }

    private mutating func release(_ secret: [UInt8]?, _ reason: String) {
        guard let secret else {
            note(reason)
            return line("secret-unavailable", reason)
        }
        line("secret", Self.hex(secret))
    }
}

/// The names of all values that a state has, and of those that it lists as forgotten.
struct NamesOfValues {
    struct Name: Hashable {
        let kind: FieldKind
        let name: [UInt8]
        let dot: Dot?
    }

    private var present: Set<Name> = []
    private var gone: Set<Name> = []
    var listed: Set<Name> = []
    /// Whether every past was read.
    private var isWhole: Bool

    init(isWhole: Bool) { self.isWhole = isWhole }

    /// Adds what an item shows, and the past that was read of it.
    mutating func add(_ item: Item, _ past: Past?, _ vector: Vector) throws(VaultError) {
        isWhole = isWhole && item.hasPast == (past != nil)
        let entry = item.entry
        if !entry.lacksSecret {
            present.insert(Name(kind: .secret, name: [], dot: vector.dot(entry.dot(of: FieldSet.secret))))
        }
        for (index, attribute) in item.attributes.all.enumerated() {
            let dot = vector.dot(entry.dot(of: FieldSet.firstAttribute + index))
            present.insert(Name(kind: .attribute, name: Array(attribute.name.utf8), dot: dot))
        }
        for value in past?.values ?? [] {
            let name = Name(kind: value.kind, name: value.name, dot: vector.dot(value.dot))
            if value.flags.contains(.forgotten) { gone.insert(name) } else { present.insert(name) }
        }
    }

    /// A scoped slot's reader reads no past, and compares nothing.
    func check() throws(VaultError) {
        guard isWhole else { return }
        guard gone.isSubset(of: listed), listed.isDisjoint(with: present) else {
            throw VaultError(.structureInvalid, "what is forgotten does not match what is there")
        }
    }
}
