import VaultBytes
import VaultFmt
import VaultStore
import VectorMaking

/// One reading of a vault by the library: the verdict, and the dump of what was released before it.
struct Reading {
    private(set) var verdict = Verdict.success
    private(set) var dump: [String] = []
    /// Of values and of what ended the dump, in its order.
    private var failures: [Verdict] = []

    /// Throws only what is no answer about the file.
    init(_ path: String, _ request: ReadRequest, fileSystem: any FileSystem = RealFileSystem()) throws(VaultError) {
        let vault: Vault
        do throws(VaultError) {
            vault = try Self.open(path, request, fileSystem)
        } catch {
            verdict = try Self.verdict(error)
            return
        }
        do throws(VaultError) { try release(vault, request) } catch { failures.append(try Self.verdict(error)) }
        if let first = failures.first(where: { $0 != .deviceBound }) {
            verdict = first
        } else if !failures.isEmpty {
            verdict = .deviceBound
        } else {
            verdict = Self.verdict(vault.tail)
        }
    }

    private static func open(_ path: String, _ request: ReadRequest, _ fileSystem: any FileSystem) throws(VaultError)
        -> Vault
    {
        let place = Store.Place(fileSystem: fileSystem)
        do throws(VaultError) {
            if let factors = try request.factors() {
                return try Vault.open(path, factors: factors, options: try request.options(), place: place)
            }
        } catch {
            guard [.passphraseInvalid, .keyFileInvalid, .invalidArgument].contains(error.code) else { throw error }
        }
        // The factors are refused as such; but what is no vault is not one for any factors.
        _ = try Store.readHeader(try fileSystem.open(path, writable: false))
        throw VaultError(.noSlotOpens, "no slot can have these factors")
    }

    private static func verdict(_ error: VaultError) throws(VaultError) -> Verdict {
        guard let verdict = Verdict(error) else { throw error }
        return verdict
    }

    private static func verdict(_ tail: TailState) -> Verdict {
        switch tail {
        case .clean, .writeInProgress: .success
        case .torn: .successTailTorn
        case .incomplete: .successTailIncomplete
        case .damaged: .successTailDamaged
        }
    }

    private mutating func line(_ words: Any...) { dump.append(words.map { "\($0)" }.joined(separator: " ")) }

    private static func hex(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
    private static func hex(_ text: String) -> String { hex(Array(text.utf8)) }
    private static func hex(device: Bytes16) -> String { device == .zero ? "-" : Hex.encode(device.bytes) }

    private mutating func release(_ vault: Vault, _ request: ReadRequest) throws(VaultError) {
        var reading = self
        defer { self = reading }
        try vault.withStore { (store) throws(VaultError) in try reading.releaseState(vault, store, request) }
        let header = try header(vault)
        for slot in header.slots { try reading.releaseSlot(slot, vault) }
        try vault.withStore { (store) throws(VaultError) in reading.releaseKeyring(store) }
        let failure = try reading.releaseItems(vault)
        try vault.forEachTombstone { (item, entry) throws(VaultError) in
            reading.line(
                "tombstone", Self.hex(item.bytes), entry.revision, entry.device, entry.lastRevision, entry.lastDevice)
        }
        if let failure { throw failure }
        reading.line("end")
    }

    private func header(_ vault: Vault) throws(VaultError) -> Header {
        try vault.withStore { (store) throws(VaultError) in store.header }
    }

    private mutating func releaseState(_ vault: Vault, _ store: Store, _ request: ReadRequest) throws(VaultError) {
        let commit = store.state.commit
        line("vaultfmt-dump 2")
        line("vault", Self.hex(store.vault.bytes))
        line("access", store.slot.keys.isOwner ? "full" : "scoped")
        line("owner", Self.hex(store.ownersPublicKey.bytes))
        line("generation", commit.generation)
        line("chain", Self.hex(store.state.chain.bytes))
        line("before", commit.predecessor?.generation ?? 0, Self.hex((commit.predecessor?.chain ?? .zero).bytes))
        line("clock", commit.clock, commit.tombstoneHorizon)
        if let history = try store.past.history(of: store.state) {
            line("history", history.floor, history.newest)
            for one in history.ancestors { line("ancestor", one.generation, one.clock, Self.hex(one.chain.bytes)) }
        }
        if let anchor = request.anchor {
            let point = AnchorPoint(generation: anchor.generation, chain: anchor.chain, ownersPublicKey: anchor.owner)
            line("anchor", try store.verdict(on: point))
        }
        for group in store.slot.grants.numbers { line("grant", group) }
    }

    // MARK: slots and keyring

    private mutating func releaseSlot(_ slot: Slot, _ vault: Vault) throws(VaultError) {
        var text = "slot \(Self.hex(slot.id.bytes)) \(slot.kind.rawValue) \(slot.factors.rawValue)"
        if let known = slot.known {
            let cost = known.stretch?.cost ?? SlotParameters.Cost(memoryKiB: 0, passes: 0, lanes: 0)
            text += " known \(cost.memoryKiB) \(cost.passes) \(cost.lanes)"
            if let provider = known.provider { text += " \(Self.hex(provider.name)) \(Self.hex(provider.parameters))" }
        } else {
            var bytes: [UInt8] = []
            slot.encode(into: &bytes)
            text += " opaque \(Self.hex(bytes))"
        }
        line(text)
        guard case .owner = vault.access else { return }
        let (part, groups) = try vault.ownerPart(of: slot)
        line(
            "slot-owner", Self.hex(part.name), part.revision, Self.hex(device: part.device), Self.hex(part.providerData)
        )
        for group in groups { line("slot-grant", group) }
    }

    private mutating func releaseKeyring(_ store: Store) {
        let keyring = store.keyring
        for (place, extensions) in [("header", store.header.extensions), ("keyring", keyring.extensions)] {
            for one in extensions { line("extension", place, one.flags, Self.hex(one.name), Self.hex(one.value)) }
        }
        line("keep", keyring.keeping.count, keyring.keeping.revision, Self.hex(device: keyring.keeping.device))
        for (index, device) in keyring.devices.enumerated() { line("device", index + 1, Self.hex(device.bytes)) }
        for group in keyring.groups { line("group", group.number, Self.hex(group.name)) }
        for one in keyring.compartments {
            line("compartment", one.number, one.group, one.accessibility, Self.hex(device: one.device))
        }
        for slot in keyring.removedSlots { line("removed-slot", Self.hex(slot.id.bytes), slot.revision) }
        for (index, one) in keyring.handOvers.enumerated() {
            let next = keyring.handOvers.dropFirst(index + 1).first?.publicKey ?? store.ownersPublicKey
            let isValid = one.isValid(vault: store.vault, next: next)
            line(
                "hand-over", Self.hex(one.publicKey.bytes), one.generation, Self.hex(one.chain.bytes),
                isValid ? "valid" : "invalid")
        }
    }

    // MARK: items

    /// Returns an error that a listing met after the last item: at a tombstone, or where it counts. The
    /// tombstones before it are released first.
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
            try release(item, vault)
        }
    }

    /// Whether these are all items before the first tombstone.
    private static func haveAllCome(_ items: Int, _ store: Store) -> Bool {
        do throws(VaultError) {
            var leaves = store.tree.leaves()
            var count = 0
            while let leaf = try leaves.next(1).first {
                let page = try store.pages.inPassing(leaf)
                let end = page.lowerBound([Format.tombstoneTag]).index
                count += end
                if end < page.count { return count == items && page.key(end).first == Format.tombstoneTag }
            }
            return count == items
        } catch { return false }
    }

    private mutating func release(_ item: Item, _ vault: Vault) throws(VaultError) {
        let entry = item.entry
        line("item", Self.hex(item.key.bytes))
        line("id", Self.hex(entry.id.bytes))
        line("revision", entry.revision, entry.device)
        line("times", entry.created, entry.modified)
        line("record", entry.recordRevision, entry.compartment)
        var secret: [UInt8]?
        var reason = ""
        var held = item.attributes
        do throws(VaultError) {
            let opened = try vault.open(item)
            held = opened.item.attributes
            secret = opened.secret.withUnsafeBytes { Array($0) }
        } catch { reason = try Self.reason(error) }
        for attribute in item.attributes.all {
            try release(attribute, held.attribute(attribute.name), reason) { () throws(VaultError) in
                try vault.attribute(attribute.name, of: item)
            }
        }
        release(secret, reason)
        try releaseVersions(item, vault)
    }

    private mutating func releaseVersions(_ item: Item, _ vault: Vault) throws(VaultError) {
        guard item.earlierValues > 0 else { return }
        let values: [EarlierValue]
        do throws(VaultError) { values = try vault.earlierValues(of: item) } catch {
            let reason = try Self.reason(error)
            note(reason)
            return line("versions-unavailable", item.earlierValues, reason)
        }
        for value in values { try release(value, vault) }
    }

    private mutating func release(_ value: EarlierValue, _ vault: Vault) throws(VaultError) {
        let version = value.version
        line("version", version.revision, version.device, version.replaced, version.modified)
        line("record", version.recordRevision, version.compartment)
        var secret: [UInt8]?
        var key: [UInt8] = []
        var reason = ""
        var held = value.attributes
        do throws(VaultError) {
            let opened = try vault.open(value)
            held = opened.attributes
            key = opened.key.bytes
            secret = opened.secret.withUnsafeBytes { Array($0) }
        } catch { reason = try Self.reason(error) }
        for attribute in value.attributes.all {
            try release(attribute, held.attribute(attribute.name), reason) { () throws(VaultError) in
                try vault.attribute(attribute.name, of: value)
            }
        }
        if secret != nil { line("key", Self.hex(key)) }
        release(secret, reason)
    }

    /// An attribute as the index has it, and as the opened value has it.
    private mutating func release(
        _ attribute: Attribute, _ held: Attribute?, _ reason: String, _ read: () throws(VaultError) -> Secret?
    ) throws(VaultError) {
        let front = "\(Self.hex(attribute.name)) \(attribute.fileFlags.rawValue)"
        switch attribute.content {
        case .bytes(let value): line("attribute", front, Self.hex(value))
        case .secret: line("attribute", front, Self.hex(attribute.value ?? []))
        case .inItemRecord:
            if reason.isEmpty {
                line("attribute", front, Self.hex(held?.value ?? []))
            } else {
                note(reason)
                line("attribute-unavailable", front, reason)
            }
        case .inOwnRecord(let own):
            do throws(VaultError) {
                let value = try read()?.withUnsafeBytes { Array($0) }
                line("attribute", front, Self.hex(value ?? []))
            } catch {
                let reason = try Self.reason(error)
                note(reason)
                line("attribute-unavailable", front, reason)
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

    /// Why a value is not released.
    private static func reason(_ error: VaultError) throws(VaultError) -> String {
        if error.code == .notPermitted { return "no-key" }
        return try verdict(error).rawValue
    }

    /// `no-key` changes no verdict.
    private mutating func note(_ reason: String) {
        if let verdict = Verdict(rawValue: reason) { failures.append(verdict) }
    }
}
