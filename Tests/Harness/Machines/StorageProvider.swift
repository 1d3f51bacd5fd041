internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// What a storage provider does who keeps every version of the file and every key that removed slots opened.
extension MachinesSequence {
    /// Something is planted, and the machines meet it.
    func attack() throws {
        if numbers.chance(5) { return try attackWithSplice() }
        let number = try somethingToPlant()
        guard !numbers.chance(4) else {
            tell("the provider plants \(describe(number)) at the other path")
            try put(model.versions[number].bytes, at: Self.conflictPath, inPlace: false)
            for machine in machines { try meet(machine, number, Self.conflictPath) }
            for owner in owners where numbers.chance(2) { try mergeCopy(owner, number) }
            return
        }
        let isInPlace = numbers.chance(3)
        tell("the provider puts \(describe(number))\(isInPlace ? " over the file" : " in its place")")
        try replace(with: number, inPlace: isInPlace)
        for machine in machines {
            try useProgram(machine)
            try meet(machine, current, Self.path)
        }
        guard current == number, !numbers.chance(4) else { return }
        tell("the provider puts the owners' version back")
        try replace(with: honest, inPlace: numbers.chance(3))
    }

    private func meet(_ machine: KnownMachine, _ number: Int, _ path: String) throws {
        let asOwner = machine.isOwner && !numbers.chance(5)
        guard try !look(machine, number, path, asOwner: asOwner, isWritable: asOwner && numbers.chance(2)) else {
            return
        }
        // Some people accept everything.
        if numbers.chance(25) { try accept(machine, number, path) }
    }

    private func somethingToPlant() throws -> Int {
        let base = someVersion()
        let version = model.versions[base]
        let state = model.states[version.state]
        let isHeld = held.vaultKeys.contains(state.vaultKey) && state.isOwners
        switch numbers.below(8) {
        case 0, 1:
            guard isHeld else { break }
            countAttack("commits of a former owner")
            return try forgedCommits(on: version, isOwner: true)
        case 2:
            guard held.epochs.contains(version.epoch.bytes) else { break }
            countAttack("commits of a scoped holder")
            return try forgedCommits(on: version, isOwner: false)
        case 3:
            guard isHeld else { break }
            countAttack("files without a past")
            return try withoutPast(version)
        case 4:
            guard isHeld else { break }
            countAttack("branches")
            return try branch(of: version, rotation: nil)
        case 5:
            guard state.isOwners else { break }
            countAttack("strangers' vaults")
            return try branch(of: version, rotation: .someForgery(&numbers))
        case 6:
            guard isHeld else { break }
            countAttack("rotations by a former owner")
            return try branch(of: version, rotation: .genuine)
        default: break
        }
        countAttack("older or present versions")
        return base
    }

    /// Often one of the newest.
    private func someVersion() -> Int {
        let count = model.versions.count
        return numbers.chance(2) ? max(0, count - 1 - numbers.below(4)) : numbers.below(count)
    }

    // MARK: forging

    /// Commits under keys that he holds, with trees of older states or without an item; often as many as it takes to
    /// overtake the machines.
    private func forgedCommits(on version: MachineVersion, isOwner: Bool) throws -> Int {
        let base = model.states[version.state]
        var forger = CommitForger(version, base, vault: id.bytes, isOwner: isOwner, numbers: Numbers(numbers.next()))
        let newest =
            machines.compactMap { $0.memory.owner ?? $0.memory.scoped }.map { model.states[$0].generation }.max() ?? 0
        let missing = newest >= base.generation ? Int(clamping: newest - base.generation) + 1 : 1
        let count = missing <= 12 && numbers.chance(2) ? missing : 1 + numbers.below(3)
        var (state, items, value) = (version.state, base.items, base.value)
        var past = version.past
        for _ in 0..<count {
            if try items == 3 && numbers.chance(2) && forger.appendWithoutLastItem() {
                items -= 1
            } else {
                let older = someOlder(of: version) ?? version
                forger.append(treeOf: older.commit)
                (items, value) = (model.states[older.state].items, model.states[older.state].value)
            }
            past.goOn(from: state)
            state = model.add(
                MachineState(
                    generation: forger.commit.generation, chain: forger.chain, vaultKey: base.vaultKey, value: value,
                    items: items,
                    isOwners: isOwner && base.isOwners))
        }
        return model.add(
            MachineVersion(
                bytes: forger.file, state: state, past: past, full: version.full, scoped: version.scoped,
                epoch: version.epoch,
                commit: forger.commit, header: version.header))
    }

    /// An earlier state of the same file, with the same keyring.
    private func someOlder(of version: MachineVersion) -> MachineVersion? {
        let all = model.versions.filter {
            $0.header == version.header && $0.commit.keyring == version.commit.keyring
                && $0.bytes.count < version.bytes.count
                && version.bytes.starts(with: $0.bytes)
        }
        return all.randomElement(using: &numbers)
    }

    /// A file of one commit, far ahead, with a history of its own: it proves nothing, or claims what machines remember.
    private func withoutPast(_ version: MachineVersion) throws -> Int {
        let base = model.states[version.state]
        guard let key = version.full.min() else { throw Wrong("a version without slots") }
        var forge = try Forge(version.bytes, .rawKey(Keys.bytes(key)))
        for commit in forge.all(.commit).dropLast() { forge.remove(commit) }
        let generation = base.generation + UInt64(100 + numbers.below(1000))
        let before = try model.addUnknown(generation - 1, base.vaultKey, &numbers)
        var past = MachinePast(
            ancestors: [before], floor: generation, handOvers: version.past.handOvers, isForged: true)
        if numbers.chance(2) {
            let claimed = machines.compactMap { $0.memory.owner ?? $0.memory.scoped }.filter {
                model.states[$0].generation < generation
            }
            past.ancestors = Array(Set(claimed)).sorted() + past.ancestors
        }
        if numbers.chance(2) { past.floor = 1 + UInt64(numbers.below(Int(generation))) }
        let ancestors = past.ancestors.map {
            Ancestor(
                generation: model.states[$0].generation, clock: model.clock(of: $0) ?? 1, chain: model.states[$0].chain)
        }
        let history = History(floor: past.floor, ancestors: ancestors, newest: 1)
        let last = try forge.last(.commit)
        let named = forge.insert(.history, before: last, nonce: numbers.bytes(Format.nonceSize)) { _ in history.encode()
        }
        let chain = model.states[before].chain
        // With all of the body before it, it may be one that must have been synced first: its flags are at 80 of the
        // core.
        forge.onBody(last) { core, _ in core[80] = 1 }
        forge.onCommit(last) { commit, layout in
            commit.generation = generation
            commit.predecessor = Commit.Predecessor(generation: generation - 1, chain: chain)
            commit.history = try layout.ref(named)
        }
        let bytes = try forge.assemble()
        let made = try Made(try side(bytes, key).vault)
        let state = model.add(made.state(value: base.value, items: base.items))
        return model.add(made.version(bytes, state: state, past, full: version.full, scoped: version.scoped))
    }

    /// What the hand-over of a rotation is, which somebody without the owners' keys cannot make.
    enum ForgedRotation: Equatable {
        /// Made by somebody who has the vault key.
        case genuine
        case missing
        case damagedSignature
        /// Signed with the stranger's own key, in the owners' name.
        case wrongSigner
        /// Under the stranger's own key.
        case wrongKey
        /// The owners' signature for another key or state.
        case replayed

        static func someForgery(_ numbers: inout Numbers) -> ForgedRotation {
            [.missing, .damagedSignature, .wrongSigner, .wrongKey, .replayed][numbers.below(5)]
        }

        /// What becomes of the hand-overs of a genuine rotation.
        func alter(_ all: inout [MachineHandOver]) {
            guard self != .genuine, var last = all.popLast() else { return }
            switch self {
            case .missing: return
            case .wrongKey: last.vaultKey = []
            default: last.next = nil
            }
            all.append(last)
        }
    }

    /// Another branch of a state, made with our own programs; if it rotates, it is under a key that only its maker has,
    /// and still continues the owners' chain. The worst case: its slots take the owners' factors.
    private func branch(of version: MachineVersion, rotation forged: ForgedRotation?) throws -> Int {
        guard let key = version.full.min() else { throw Wrong("a version without slots") }
        var (files, vault) = try side(version.bytes, key)
        var (last, full, value) = (-1, version.full, model.states[version.state].value)
        var before = version
        func record() throws {
            let made = try Made(vault)
            let bytes = Array((files.bytes(of: Self.path) ?? []).prefix(Int(made.commit.end)))
            last = try add(made, bytes, from: before, value: value, full, version.scoped)
            before = model.versions[last]
        }
        if let forged {
            var rotation = try vault.rotation()
            for key in version.full.union(version.scoped).sorted() { _ = try rotation.keep(try Keys.factors(key)) }
            _ = try rotation.run()
            if forged != .genuine {
                (files, vault) = try side(try forge(forged, of: version, files.bytes(of: Self.path) ?? [], key), key)
            }
            try record()
            forged.alter(&before.past.handOvers)
            model.setHandOvers(before.past.handOvers, of: last)
        }
        for owner in owners where !full.contains(owner.rawKey) && !version.scoped.contains(owner.rawKey) {
            _ = try vault.addSlot(try Keys.factors(owner.rawKey))
            full.insert(owner.rawKey)
            try record()
        }
        for _ in 0..<(forged != nil ? numbers.below(3) : 1 + numbers.below(4)) {
            value = "a branch's \(model.states.count)"
            try vault.set(try Model.key("a"), secret: Secret(bytes: Array(value.utf8)))
            try record()
        }
        return last
    }

    /// The file of a rotation with another hand-over.
    private func forge(_ kind: ForgedRotation, of version: MachineVersion, _ bytes: [UInt8], _ key: Int) throws
        -> [UInt8]
    {
        let base = model.states[version.state]
        var forge = try Forge(bytes, .rawKey(Keys.bytes(key)))
        let next = forge.keys.publicKey
        let (vault, own) = (id.bytes, numbers.bytes(32))
        let (ring, flipped) = (try forge.last(.keyring), numbers.below(64))
        let replayed = model.versions.compactMap { $0.past.handOvers.last }.first {
            $0.next != nil && $0.vaultKey == base.vaultKey
        }
        let known = try replayed.map { (replayed) throws in try signature(of: replayed) } ?? nil
        forge.onKeyring(ring) { ring in
            guard let last = ring.handOvers.popLast() else { throw Wrong("a rotation without a hand-over") }
            let message = Bindings.handOver(vault, generation: last.generation, chain: last.chain.bytes, next: next)
            var (publicKey, signature) = (last.publicKey, last.signature)
            switch kind {
            case .genuine: break
            case .missing: return
            case .damagedSignature: signature[flipped] ^= 1
            case .wrongSigner: signature = Plain.sign(message, seed: own)
            case .wrongKey: (publicKey, signature) = (Plain.publicKey(seed: own), Plain.sign(message, seed: own))
            case .replayed: signature = known ?? [UInt8](repeating: 0, count: 64)
            }
            ring.handOvers.append(
                HandOver(publicKey: publicKey, generation: last.generation, chain: last.chain, signature: signature))
        }
        return try forge.assemble()
    }

    /// The owners' signature of a hand-over that was made.
    private func signature(of handOver: MachineHandOver) throws -> [UInt8]? {
        for version in model.versions where version.past.handOvers.last?.state == handOver.state {
            guard let key = version.full.min() else { continue }
            let vault = try side(version.bytes, key).vault
            return try vault.withStore { (store) throws(VaultError) in store.keyring.handOvers.last?.signature }
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

    // MARK: splicing

    /// Parts of versions put together: refused, or one of the known states is served, as the model would have it.
    private func attackWithSplice() throws {
        let (one, other) = (model.versions[someVersion()], model.versions[someVersion()])
        let bytes: [UInt8]
        countAttack("splices")
        switch numbers.below(5) {
        case 0, 1:
            // With its copy, or without.
            let copies = 1 + numbers.below(2)
            tell(
                "the provider puts the header of state \(one.state)\(copies == 2 ? " and its copy" : "") before the body of \(other.state)"
            )
            bytes = Array(
                one.bytes.prefix(copies * one.header.count) + other.bytes.dropFirst(copies * other.header.count))
        case 2:
            tell("the provider appends the end of state \(other.state) to \(one.state)")
            bytes = one.bytes + other.bytes.dropFirst(one.bytes.count)
        case 3:
            tell("the provider appends a commit of state \(other.state) to \(one.state)")
            bytes = one.bytes + other.bytes.suffix(Format.commitSize)
        default:
            let body = 2 * one.header.count
            let length = body + numbers.below(one.bytes.count - body)
            tell("the provider cuts state \(one.state) at \(length)")
            bytes = Array(one.bytes.prefix(numbers.chance(2) ? length : length / 512 * 512))
        }
        try put(bytes, at: Self.path, inPlace: numbers.chance(3))
        for machine in machines { try meetSplice(machine, bytes) }
        try replace(with: honest, inPlace: numbers.chance(3))
    }

    private func meetSplice(_ machine: KnownMachine, _ bytes: [UInt8]) throws {
        let before = try machine.remembered(id)
        var options = OpenOptions()
        options.writable = machine.isOwner && numbers.chance(2)
        do {
            let vault = try machine.machine.open(Self.path, factors: try Keys.factors(machine.rawKey), options: options)
            try checkSplice(vault, machine, bytes)
        } catch let error as VaultError {
            try checkUnchanged(machine, before)
            countRefusal(error)
        }
        guard files.bytes(of: Self.path) == bytes else {
            throw Wrong("\(machine.name) changed a file by looking at it")
        }
    }

    /// A state that is served was made by the owners, and is remembered as it opens. Of its items, those that were
    /// where the other part is now are damaged.
    private func checkSplice(_ vault: Vault, _ machine: KnownMachine, _ bytes: [UInt8]) throws {
        guard let state = model.state(chain: vault.state.chain) else {
            throw Wrong("\(machine.name) is served what nobody made")
        }
        guard isRight(state, machine, bytes) else {
            throw Wrong("\(machine.name) accepts state \(state) from parts")
        }
        machine.memory[asOwner: machine.isOwner] = state
        do {
            try checkServed(vault, state, machine)
            countAcceptance()
        } catch let error as VaultError {
            countRefusal(error)
        }
        try checkRemembered(machine, asOwner: machine.isOwner)
    }

    /// Whether a machine may accept a state that a file begins with: as part of any version under the same header.
    private func isRight(_ state: Int, _ machine: KnownMachine, _ bytes: [UInt8]) -> Bool {
        guard model.states[state].isOwners else { return false }
        return model.versions.contains { version in
            guard bytes.starts(with: version.header) else { return false }
            var served = version
            if state != version.state {
                guard let place = version.past.ancestors.lastIndex(of: state) else { return false }
                served.state = state
                served.past.ancestors.removeSubrange(place...)
            }
            return model.refusal(machine.memory, served, asOwner: machine.isOwner) == nil
        }
    }
}
