import VaultBytes
import VaultFmt
import VaultStore

/// One reading of a vault: the verdict, and the dump of what was released before it.
struct Reading {
    private(set) var verdict = Verdict.success
    private(set) var dump: [String] = []

    /// Throws only what is no answer about the file.
    init(_ path: String, _ request: CheckRequest, fileSystem: any FileSystem = RealFileSystem()) throws(VaultError) {
        let vault: Vault
        do throws(VaultError) {
            vault = try Vault.open(
                path, factors: try request.factors(), options: try request.options(), place: Store.Place(fileSystem: fileSystem))
        } catch {
            verdict = try Self.verdict(error)
            return
        }
        do throws(VaultError) { try release(vault, request) } catch {
            if !isFailure { verdict = try Self.verdict(error) }
            return
        }
        dump.append("end")
        if verdict == .success, vault.tail != .clean { verdict = .successTailDamaged }
    }

    private static func verdict(_ error: VaultError) throws(VaultError) -> Verdict {
        guard let verdict = Verdict(error) else { throw error }
        return verdict
    }

    /// Whether a secret failed already, so that what fails later is not the verdict.
    private var isFailure: Bool { verdict != .success && verdict != .deviceBound }

    private mutating func line(_ words: Any...) { dump.append(words.map { "\($0)" }.joined(separator: " ")) }

    private static func hex(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
    private static func hex(_ text: String) -> String { hex(Array(text.utf8)) }

    private mutating func release(_ vault: Vault, _ request: CheckRequest) throws(VaultError) {
        line("vaultfmt-dump 1")
        line("vault", vault.id)
        line("access", vault.access == .owner ? "full" : "scoped")
        line("generation", vault.anchor.generation)
        line("chain", Self.hex(vault.anchor.chain))
        var links: [Bytes32] = []
        try vault.withStore { (store) throws(VaultError) in links = try Self.links(store) }
        for link in links { line("link", Self.hex(link.bytes)) }
        if let anchor = request.anchor {
            guard let known = Anchor("\(vault.id):\(anchor.generation):\(Hex.encode(anchor.chain))") else {
                throw VaultError(.invalidArgument, "the anchor is malformed")
            }
            line("anchor", try vault.verdict(on: known))
        }
        var reading = self
        defer { self = reading }
        try vault.withStore { (store) throws(VaultError) in
            for group in store.slot.grants.numbers { reading.line("grant", group) }
            try reading.releaseSlots(store)
            reading.releaseKeyring(store)
        }
        let failure = try reading.releaseItems(vault)
        try vault.withStore { (store) throws(VaultError) in try reading.releaseTombstones(store) }
        if let failure { throw failure }
    }

    private static func links(_ store: Store) throws(VaultError) -> [Bytes32] {
        try store.past.history(of: store.state)?.links ?? []
    }

    private mutating func releaseSlots(_ store: Store) throws(VaultError) {
        switch store.slot.keys.owner {
        case .none: return
        case .some(let owner):
            for slot in store.header.slots {
                let part = try SlotSeal.openOwner(slot, vault: store.vault, owner: owner)
                let cost = slot.cost ?? Slot.Cost(memoryKiB: 0, passes: 0, lanes: 0)
                var grants: [UInt32] = []
                if slot.kind == .scoped { grants = try SlotOpener.grants(slot, store.vault, wrappingKey: part.wrappingKey.secret).numbers }
                line(
                    "slot", Self.hex(slot.id.bytes), slot.kind == .full ? "full" : "scoped", slot.factors, cost.memoryKiB, cost.passes,
                    cost.lanes, Self.hex(part.name))
                for group in grants { line("slot-grant", group) }
            }
        }
    }

    private mutating func releaseKeyring(_ store: Store) {
        let keyring = store.keyring
        for (place, extensions) in [("header", store.header.extensions), ("keyring", keyring.extensions)] {
            for one in extensions {
                line("extension", place, one.isCritical ? "critical" : "optional", Self.hex(one.name), Self.hex(one.value))
            }
        }
        for (index, device) in keyring.devices.enumerated() { line("device", index + 1, Self.hex(device.bytes)) }
        for group in keyring.groups { line("group", group.number, Self.hex(group.name)) }
        for compartment in keyring.compartments {
            let device = compartment.isDeviceBound ? Self.hex(compartment.device.bytes) : "-"
            line("compartment", compartment.number, compartment.group, compartment.accessibility, device)
        }
    }

    /// Returns an error that a listing met after the last item: at a tombstone, or where it counts. The tombstones before it
    /// are released first.
    private mutating func releaseItems(_ vault: Vault) throws(VaultError) -> VaultError? {
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
            let entry = item.entry
            line("item", Self.hex(item.key.bytes))
            line("id", item.id)
            line("revision", entry.revision, entry.device)
            line("record", entry.recordRevision, entry.compartment)
            line("times", entry.created, entry.modified)
            do throws(VaultError) {
                let opened = try vault.open(item)
                releaseAttributes(opened.item)
                line("secret", Self.hex(opened.secret.withUnsafeBytes { Array($0) }))
            } catch {
                releaseAttributes(item)
                try refuse(error)
            }
        }
    }

    /// Whether these are all items before the first tombstone.
    private static func haveAllCome(_ items: Int, _ store: Store) -> Bool {
        do throws(VaultError) {
            var leaves = try store.tree.leaves()
            var count = 0
            while let leaf = try leaves.next(1).first {
                let page = try store.pages.load(leaf)
                let end = page.lowerBound([Format.tombstoneTag]).index
                count += end
                if end < page.count { return count == items && page.key(end).first == Format.tombstoneTag }
            }
            return count == items
        } catch { return false }
    }

    private mutating func releaseAttributes(_ item: Item) {
        for entry in item.attributes.entries { line("attribute", Self.hex(entry.name), Self.hex(entry.value)) }
    }

    private mutating func refuse(_ error: VaultError) throws(VaultError) {
        if error.code == .notPermitted { return line("secret-unavailable", "no-key") }
        let reason = try Self.verdict(error)
        line("secret-unavailable", reason.rawValue)
        if !isFailure { verdict = reason }
    }

    private mutating func releaseTombstones(_ store: Store) throws(VaultError) {
        var leaves = try store.tree.leaves(from: [Format.tombstoneTag])
        var count: UInt64 = 0
        while let leaf = try leaves.next(1).first {
            let page = try store.pages.load(leaf)
            for index in page.lowerBound([Format.tombstoneTag]).index..<page.count {
                let entry = try TombstoneCodec.decode(page, index, store.keyring)
                line("tombstone", Self.hex(Array(page.key(index).dropFirst())), entry.revision, entry.device)
                count += 1
            }
        }
        guard count == store.state.commit.tombstones else {
            throw VaultError(.structureInvalid, "the newest commit counts other tombstones (R-5.14)")
        }
    }
}
