internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// The files that the storage provider makes with keys that removed slots opened, or with keys of his own.
extension MachinesSequence {
    /// Commits under keys that he holds, with trees of older states or without an item; often as many as it takes to
    /// overtake the machines.
    func forgedCommits(on version: MachineVersion, isOwner: Bool) throws -> Int {
        let base = model.states[version.state]
        var forger = try CommitForger(version, base, vault: id.bytes, isOwner: isOwner, Numbers(numbers.next()))
        let newest = machines.flatMap(\.memory.states).map { model.states[$0].generation }.max() ?? 0
        let missing = newest >= base.generation ? Int(clamping: newest - base.generation) + 1 : 1
        let count = missing <= 12 && numbers.chance(2) ? missing : 1 + numbers.below(3)
        var (state, last) = (base, version.state)
        state.isOwners = isOwner && base.isOwners
        for _ in 0..<count {
            if try state.contents.all("c").count == 1 && numbers.chance(2) && forger.appendWithoutLastItem() {
                for id in state.contents.all("c").keys { state.contents.items[id] = nil }
                state.items -= 1
            } else {
                let older = someOlder(of: version) ?? version
                let then = model.states[older.state]
                forger.append(treeOf: older.commit)
                state.contents.items = then.contents.items
                (state.items, state.value, state.isExact) = (then.items, then.value, then.isExact)
            }
            state.vector.include(forger.dot)
            last = model.add(
                MachineState(
                    generation: forger.commit.generation, chain: forger.chain, vaultKey: state.vaultKey,
                    keyDot: state.keyDot, vector: state.vector, handOvers: state.handOvers, header: state.header,
                    contents: state.contents, value: state.value, items: state.items, isExact: state.isExact,
                    isOwners: state.isOwners))
        }
        return model.add(
            MachineVersion(bytes: forger.file, state: last, epoch: version.epoch, commit: forger.commit))
    }

    /// An earlier state of the same file, with the same keyring.
    private func someOlder(of version: MachineVersion) -> MachineVersion? {
        let all = model.versions.filter {
            model.states[$0.state].header == model.states[version.state].header
                && $0.commit.keyring == version.commit.keyring && $0.bytes.count < version.bytes.count
                && version.bytes.starts(with: $0.bytes)
        }
        return all.randomElement(using: &numbers)
    }

    /// A file of one commit, far ahead, with a vector of its own: it has what it had, or claims what machines remember.
    func withoutPast(_ version: MachineVersion) throws -> Int {
        var state = model.states[version.state]
        guard let key = state.contents.full.min() else { throw Wrong("a version without slots") }
        var forge = try Forge(version.bytes, .rawKey(Keys.bytes(key)))
        for commit in forge.all(.commit).dropLast() { forge.remove(commit) }
        let last = try forge.last(.commit)
        let generation = state.generation + UInt64(100 + numbers.below(1000))
        let before = numbers.bytes(Format.hashSize)
        if numbers.chance(2) {
            for known in machines.flatMap(\.memory.states) where numbers.chance(2) {
                state.vector = state.vector.united(with: model.states[known].vector)
            }
        }
        let own = Dot(revision: state.vector.clock + UInt64(1 + numbers.below(1_000_000)), replica: numbers.next() | 1)
        state.vector.include(own)
        let named = try insertVector(state.vector, of: version, before: last, &forge)
        // With all of the body before it, it may be one that must have been synced first.
        forge.onBody(last) { core, _ in core[80] = 1 }
        forge.onCommit(last) { commit, layout in
            commit.generation = generation
            commit.predecessor = Commit.Predecessor(generation: generation - 1, chain: Bytes32(before) ?? .zero)
            commit.vector = try layout.ref(named)
            commit.clock = own.revision
            commit.own = Commit.OwnRow(id: own.replica, revision: own.revision)
        }
        let bytes = try forge.assemble()
        let made = try Made(try side(bytes, key).vault)
        guard made.vector == state.vector else { throw Wrong("a forged vector is \(made.vector)") }
        let added = model.add(
            MachineState(
                generation: made.commit.generation, chain: made.chain, vaultKey: state.vaultKey, keyDot: state.keyDot,
                vector: state.vector, handOvers: state.handOvers, header: made.header, contents: state.contents,
                value: state.value, items: state.items, isExact: state.isExact))
        return model.add(made.version(bytes, state: added, predecessor: nil))
    }

    /// Adds a vector in which the rows of a file have their positions.
    private func insertVector(
        _ vector: MachineVector, of version: MachineVersion, before commit: ForgedObject.ID, _ forge: inout Forge
    ) throws -> ForgedObject.ID {
        let frame = try VectorFrame(CommitForger.rows(vector, after: try rows(of: version))).encode()
        return forge.insert(.vector, before: commit, nonce: numbers.bytes(Format.nonceSize)) { _ in frame }
    }

    /// The rows of a version's vector, in the order of their positions.
    private func rows(of version: MachineVersion) throws -> [Vector.Row] {
        guard let key = model.states[version.state].contents.full.min() else { throw Wrong("a version without slots") }
        let vault = try side(version.bytes, key).vault
        return try vault.withStore { (store) throws(VaultError) in try store.vector().rows }
    }

    // MARK: branches

    /// Another branch of a state, made with our own programs; if it rotates, it is under a key that only its maker has,
    /// and still continues the owners' key. The worst case: its slots take the owners' factors.
    func branch(of number: Int, rotation forged: ForgedRotation?) throws -> Int {
        var last = number
        let state = model.states[model.versions[number].state]
        guard let key = state.contents.full.min() else { throw Wrong("a version without slots") }
        var (files, vault) = try side(model.versions[number].bytes, key)
        func record(_ change: MachineChange) throws {
            let made = try Made(vault)
            let bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(made.commit.end)))
            last = try add(made, bytes, from: last, change)
        }
        if let forged {
            var rotation = try vault.rotation()
            var kept: Set<SlotID> = []
            for key in state.contents.full.union(state.contents.scoped).sorted() {
                kept.insert(try rotation.keep(try Keys.factors(key)))
            }
            _ = try rotation.run()
            if forged != .genuine {
                (files, vault) = try side(try forge(forged, of: state, files.bytes(of: Self.path) ?? [], key), key)
            }
            try record(.rotation(keeping: kept))
            let made = model.versions[last].state
            model.setHandOvers(forged.altered(model.states[made].handOvers), of: made)
        }
        for owner in owners {
            let contents = model.states[model.versions[last].state].contents
            guard !contents.full.union(contents.scoped).contains(owner.rawKey) else { continue }
            let slot = try vault.addSlot(try Keys.factors(owner.rawKey)).id
            try record(.slot(slot, owner.rawKey, isFull: true))
        }
        for _ in 0..<(forged != nil ? numbers.below(3) : 1 + numbers.below(4)) {
            try record(try set(vault, "a branch's \(model.states.count)"))
        }
        return last
    }

    /// The file of a rotation with another hand-over.
    private func forge(_ kind: ForgedRotation, of base: MachineState, _ bytes: [UInt8], _ key: Int) throws -> [UInt8] {
        var forge = try Forge(bytes, .rawKey(Keys.bytes(key)))
        let next = forge.keys.publicKey
        let own = numbers.bytes(32)
        let (ring, flipped) = (try forge.last(.keyring), numbers.below(64))
        let known = try replayed(of: base)
        guard let vector = Vector(floor: 0, rows: CommitForger.rows(base.vector, after: [])) else {
            throw Wrong("a vector with an id twice")
        }
        let message = Bindings.handOver(id.bytes, vector, next: next)
        if kind == .raisedRow {
            let listed = try Keyring(forge[ring].body.span, at: 0).handOvers.first { $0.next == next }
            guard let listed else { throw Wrong("a rotation without a hand-over") }
            forge.onVector(try forge.object(at: listed.vector.offset)) { frame in
                guard let row = frame.further.popLast() else { throw Wrong("a hand-over of nothing") }
                frame.further.append(Vector.Row(row.id, row.revision + 1, isSplit: row.isSplit))
            }
            return try forge.assemble()
        }
        forge.onKeyring(ring) { ring in
            guard let index = ring.handOvers.firstIndex(where: { $0.next == next }) else {
                throw Wrong("a rotation without a hand-over")
            }
            let last = ring.handOvers.remove(at: index)
            var (publicKey, signature) = (last.publicKey, last.signature)
            switch kind {
            case .genuine, .raisedRow: break
            case .missing: return
            case .damagedSignature: signature[flipped] ^= 1
            case .wrongSigner: signature = Plain.sign(message, seed: own)
            case .wrongKey: (publicKey, signature) = (Plain.publicKey(seed: own), Plain.sign(message, seed: own))
            case .replayed: signature = known ?? [UInt8](repeating: 0, count: 64)
            }
            ring.handOvers.append(
                HandOver(
                    publicKey: publicKey, next: last.next, vector: last.vector, floor: last.floor, signature: signature)
            )
            ring.handOvers.sort(by: HandOver.precedes)
        }
        return try forge.assemble()
    }

    /// The owners' signature of another hand-over from a state's key, if there is one.
    private func replayed(of base: MachineState) throws -> [UInt8]? {
        for version in model.versions {
            let state = model.states[version.state]
            guard state.handOvers.contains(where: { $0.vaultKey == base.vaultKey && $0.next != nil }),
                let key = state.contents.full.min()
            else { continue }
            let publicKey = ForgeKeys(vault: id.bytes, vaultKey: base.vaultKey, epoch: .zero).publicKey
            let vault = try side(version.bytes, key).vault
            return try vault.withStore { (store) throws(VaultError) in
                store.keyring.handOvers.first { $0.publicKey == publicKey }?.signature
            }
        }
        return nil
    }

    /// A file on the provider's own machine, opened for changing.
    private func side(_ bytes: [UInt8], _ key: Int) throws -> (files: MemoryFileSystem, vault: Vault) {
        let files = MemoryFileSystem(Self.path, bytes, clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, random: .fixed(Numbers(numbers.next())), cacheBytes: 1 << 18)
        var options = OpenOptions()
        options.writable = true
        return (files, try Vault.open(Self.path, factors: try Keys.factors(key), options: options, place: place))
    }
}

/// What the hand-over of a rotation is, which somebody without the owners' keys cannot make.
enum ForgedRotation: Equatable {
    /// Made by somebody who has the vault key.
    case genuine
    case missing
    case damagedSignature
    /// Not signed by the key that is replaced.
    case wrongSigner
    /// From the stranger's own key.
    case wrongKey
    /// The owners' signature for another key or vector.
    case replayed
    /// It covers more than the owners signed.
    case raisedRow

    static func someForgery(_ numbers: inout Numbers) -> ForgedRotation {
        [.missing, .damagedSignature, .wrongSigner, .wrongKey, .replayed, .raisedRow][numbers.below(6)]
    }

    /// What becomes of the hand-overs of a genuine rotation.
    func altered(_ all: [MachineHandOver]) -> [MachineHandOver] {
        guard self != .genuine, var last = all.last else { return all }
        switch self {
        case .missing: return all.dropLast()
        case .wrongKey: last.vaultKey = []
        default: last.next = nil
        }
        return all.dropLast() + [last]
    }
}
