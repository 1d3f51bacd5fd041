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

    mutating func line(_ words: Any...) { dump.append(words.map { "\($0)" }.joined(separator: " ")) }

    static func hex(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
    static func hex(_ text: String) -> String { hex(Array(text.utf8)) }
    static func hex(device: Bytes16) -> String { device == .zero ? "-" : Hex.encode(device.bytes) }

    private mutating func release(_ vault: Vault, _ request: ReadRequest) throws(VaultError) {
        var reading = self
        defer { self = reading }
        let vector = try vault.withStore { (store) throws(VaultError) in try reading.releaseState(store, request) }
        try vault.withStore { (store) throws(VaultError) in
            for group in store.slot.grants.numbers { reading.line("grant", group) }
        }
        for slot in try header(vault).slots { try reading.releaseSlot(slot, vault) }
        try vault.withStore { (store) throws(VaultError) in try reading.releaseKeyring(store, vector) }
        try reading.releaseItems(vault, vector)
        reading.line("end")
    }

    private func header(_ vault: Vault) throws(VaultError) -> Header {
        try vault.withStore { (store) throws(VaultError) in store.header }
    }

    private mutating func releaseState(_ store: Store, _ request: ReadRequest) throws(VaultError) -> Vector {
        let commit = store.state.commit
        line("vaultfmt-dump 3")
        line("vault", Self.hex(store.vault.bytes))
        line("access", store.slot.keys.isOwner ? "full" : "scoped")
        line("owner", Self.hex(store.ownersPublicKey.bytes))
        line("generation", commit.generation)
        line("chain", Self.hex(store.state.chain.bytes))
        line("before", commit.predecessor?.generation ?? 0, Self.hex((commit.predecessor?.chain ?? .zero).bytes))
        line("clock", commit.clock, commit.floor)
        line("own", commit.own?.id ?? 0, commit.own?.revision ?? 0)
        if let anchor = request.anchor {
            let point = AnchorPoint(
                ownersPublicKey: anchor.owner, generation: 0, chain: anchor.chain, vector: anchor.vector)
            line("anchor", try store.watched.verdict(on: point))
        }
        let vector = try store.watched.vector()
        releaseRows("row", vector)
        return vector
    }

    private mutating func releaseRows(_ word: String, _ vector: Vector) {
        for row in vector.rows { line("\(word) \(row.id) \(row.revision)\(row.isSplit ? " split" : "")") }
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
        line("slot-owner", Self.hex(part.name), Self.hex(part.providerData))
        for group in groups { line("slot-grant", group) }
    }

    private mutating func releaseKeyring(_ store: Store, _ vector: Vector) throws(VaultError) {
        let keyring = store.keyring
        for (place, extensions) in [("header", store.header.extensions), ("keyring", keyring.extensions)] {
            for one in extensions { line("extension", place, one.flags, Self.hex(one.name), Self.hex(one.value)) }
        }
        line("limit", keyring.keeping.count, try vector.text(keyring.keeping.dot))
        line("key-dot", try vector.text(keyring.vaultKey))
        for group in keyring.groups { line("group", group.number, Self.hex(group.name)) }
        for one in keyring.compartments {
            line("compartment", one.number, one.group, one.accessibility, Self.hex(device: one.device))
        }
        for slot in keyring.slots {
            line("slot-dots", Self.hex(slot.id.bytes), try vector.text(slot.made), try vector.text(slot.changed))
            for grant in slot.grants { line("slot-grant-dot", grant.group, try vector.text(grant.dot)) }
        }
        for one in keyring.handOvers { try releaseHandOver(one, store) }
    }

    /// A hand-over whose vector cannot be read fails only where it is needed.
    private mutating func releaseHandOver(_ one: HandOver, _ store: Store) throws(VaultError) {
        let front = "hand-over \(Self.hex(one.publicKey.bytes)) \(Self.hex(one.next.bytes)) \(one.floor)"
        do throws(VaultError) {
            let covered = try store.pages.vector(of: one, before: store.state.commit.keyring.offset).rows
            let isValid = one.isValid(vault: store.vault, vector: covered)
            line(front, isValid ? "valid" : "invalid")
            releaseRows("hand-over-row", covered)
        } catch { line(front, try Self.reason(error)) }
    }

    // MARK: failures

    /// Why a value is not released.
    static func reason(_ error: VaultError) throws(VaultError) -> String {
        if error.code == .notPermitted { return "no-key" }
        return try verdict(error).rawValue
    }

    /// `no-key` changes no verdict.
    mutating func note(_ reason: String) {
        if let verdict = Verdict(rawValue: reason) { failures.append(verdict) }
    }
}

extension Vector {
    /// A dot as a dump has it. Throws if the state does not include it (R-6.7).
    func text(_ stored: StoredDot) throws(VaultError) -> String {
        guard let dot = dot(stored) else {
            throw VaultError(.structureInvalid, "a dot belongs to a change that the vault does not include")
        }
        return Self.text(dot)
    }

    static func text(_ dot: Dot) -> String { "\(dot.revision).\(dot.replica)" }
}
