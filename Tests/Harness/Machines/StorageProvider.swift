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
        guard try look(machine, number, path, asOwner: asOwner, isWritable: asOwner && numbers.chance(2)) == nil else {
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
            return try branch(of: base, rotation: nil)
        case 5:
            guard state.isOwners else { break }
            countAttack("strangers' vaults")
            return try branch(of: base, rotation: .someForgery(&numbers))
        case 6:
            guard isHeld else { break }
            countAttack("rotations by a former owner")
            return try branch(of: base, rotation: .genuine)
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
                one.bytes.prefix(copies * header(one).count) + other.bytes.dropFirst(copies * header(other).count))
        case 2:
            tell("the provider appends the end of state \(other.state) to \(one.state)")
            bytes = one.bytes + other.bytes.dropFirst(one.bytes.count)
        case 3:
            tell("the provider appends a commit of state \(other.state) to \(one.state)")
            bytes = one.bytes + other.bytes.suffix(Format.commitSize)
        default:
            let body = 2 * header(one).count
            let length = body + numbers.below(one.bytes.count - body)
            tell("the provider cuts state \(one.state) at \(length)")
            bytes = Array(one.bytes.prefix(numbers.chance(2) ? length : length / 512 * 512))
        }
        try put(bytes, at: Self.path, inPlace: numbers.chance(3))
        for machine in machines { try meetSplice(machine, bytes) }
        try replace(with: honest, inPlace: numbers.chance(3))
    }

    private func meetSplice(_ machine: KnownMachine, _ bytes: [UInt8]) throws {
        let before = try machine.remembered(id, at: Self.paths)
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
        model.remember(state, at: Self.path, asOwner: machine.isOwner, in: &machine.memory)
        do {
            try checkServed(vault, state, machine)
            countAcceptance()
        } catch let error as VaultError {
            countRefusal(error)
        }
        try checkRemembered(machine)
    }

    /// Whether a machine may accept a state that a file begins with: under the header that it was made with.
    private func isRight(_ number: Int, _ machine: KnownMachine, _ bytes: [UInt8]) -> Bool {
        let state = model.states[number]
        guard state.isOwners, bytes.starts(with: state.header) else { return false }
        return model.refusal(machine.memory, at: Self.path, number, asOwner: machine.isOwner) == nil
    }

    private func header(_ version: MachineVersion) -> [UInt8] { model.states[version.state].header }
}
