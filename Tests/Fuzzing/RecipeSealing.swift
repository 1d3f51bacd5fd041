internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

extension Recipe {
    /// A vault file that opens with the fuzzing key, whatever is in its objects; empty if the header says no length
    /// that one can have.
    // Swift 6.3's optimiser ends in an assertion where it is inlined.
    @inline(never)
    package func sealed() -> [UInt8] { RecipeSealer.seal(self, rawKey: FuzzFactors.usualKey) }
}

/// Seals a recipe: a vault file that opens with the fuzzing key, whatever is in its objects.
struct RecipeSealer {
    static let vaultKey = [UInt8](repeating: 0x4D, count: Format.keySize)

    private let recipe: Recipe
    private let random = Randomness.fixed("7")
    private var keys: ForgeKeys
    private var out: [UInt8] = []
    private var refs: [UInt8: ObjectRef] = [:]
    private var hashes: [Bytes32] = []
    private var start: UInt64 = 0
    private var predecessor = [UInt8](repeating: 0, count: 8 + Format.hashSize)
    private var headerHash = Bytes32.zero
    private var isSigned = false

    /// The file's bytes. Empty if the header says no length that one can have.
    static func seal(_ recipe: Recipe, rawKey: [UInt8]) -> [UInt8] {
        var region = recipe.header
        guard region.count >= 16, let length = attempt({ () throws(FormatError) in try Header.length(region.span) })
        else { return [] }
        if region.count > length { region.removeLast(region.count - length) }
        region.append(zeros: length - region.count)
        guard let header = attempt({ () throws(FormatError) in try Header(region.span) }) else {
            return region + region
        }
        var sealer = RecipeSealer(recipe, header)
        return sealer.run(header, region, rawKey)
    }

    private init(_ recipe: Recipe, _ header: Header) {
        self.recipe = recipe
        keys = ForgeKeys(vault: header.id, vaultKey: Self.vaultKey, epoch: header.epoch)
        keys.devices = FuzzKeys.devices
    }

    private mutating func run(_ header: Header, _ region: [UInt8], _ rawKey: [UInt8]) -> [UInt8] {
        var header = header
        var bytes = region
        if recipe.headerFlags & Recipe.Flag.proofs == 0 {
            seal(&header.slots, rawKey)
            guard var sealed = attempt({ () throws(FormatError) in try header.encodeWithoutProof() }) else {
                return region + region
            }
            sealed += Plain.hash(Plain.label("vaultfmt-1 header") + sealed).bytes
            bytes = sealed + Plain.mac(keys.index, "vaultfmt-1 header", Array(sealed.suffix(Format.hashSize)))
        }
        headerHash = Bytes32(Array(bytes.suffix(64).prefix(32))) ?? .zero
        isSigned = header.needsSignature
        out = bytes + bytes
        start = UInt64(out.count)
        for object in recipe.objects where out.count < 4 << 20 { append(object) }
        return out
    }

    // MARK: the header

    /// Full slots with a raw key open with the fuzzing key, to the fuzzing vault key.
    private func seal(_ slots: inout [Slot], _ rawKey: [UInt8]) {
        let factors = ForgeFactors.rawKey(rawKey)
        let part = OwnerPart(name: "fuzz")
        for index in slots.indices where slots[index].factors == .rawKey && slots[index].kind == .full {
            let clear = Slot(
                id: slots[index].id, kind: .full, factors: .rawKey, SlotParameters(stretch: nil),
                ownerPart: OwnerPart.size(providerData: 0))
            do { slots[index] = try keys.slot(clear, factors, part: part, nonce: random.bytes(Format.nonceSize)) } catch
            { continue }
        }
    }

    // MARK: objects

    private mutating func append(_ object: Recipe.Object) {
        let frame: [UInt8]
        switch object.kind {
        case .raw:
            out += object.body
            return
        case .record: frame = record(object)
        case .page: frame = indexObject(object, .page)
        case .past: frame = indexObject(object, .past)
        case .keyring: frame = indexObject(rewrapped(object), .keyring)
        case .vector: frame = indexObject(object, .vector)
        case .commit: return appendCommit(object)
        }
        let hash = Plain.hash(frame)
        refs[object.id] = ObjectRef(offset: UInt64(out.count), length: frame.count, hash: hash)
        hashes.append(hash)
        out += frame
    }

    private func record(_ object: Recipe.Object) -> [UInt8] {
        var body = object.body
        body.append(zeros: max(0, Format.locatorSize - body.count))
        let name =
            ForgedObject.RecordName(Array(body[..<Format.locatorSize]))
            ?? .init(item: .zero, compartment: 0, revision: 0)
        body.removeFirst(Format.locatorSize)
        if object.flags & Recipe.Flag.padding == 0 {
            body.append(zeros: Padding.record(max(body.count, 1)) - body.count)
        }
        let length = body.count + Format.recordOverhead
        let nonce = random.bytes(Format.nonceSize)
        let bound = Bindings.record(keys.vault, name, length: length)
        let sealed = Plain.seal(body, key: FuzzKeys.compartment(name.compartment), nonce: nonce, bound: bound)
        var head: [UInt8] = []
        head.append(u64: FrameHead(.record, length: length).encoded)
        return head + nonce + ForgedObject.RecordName.masked(name.bytes, nonce: nonce, key: keys.locator)
            + sealed[Format.nonceSize...]
    }

    private func indexObject(_ object: Recipe.Object, _ type: FrameType) -> [UInt8] {
        var body = object.flags & Recipe.Flag.references == 0 ? resolved(object.body) : object.body
        if object.flags & Recipe.Flag.padding == 0 { body.padSteppedBody() }
        return sealed(body, type)
    }

    private func sealed(_ body: [UInt8], _ type: FrameType) -> [UInt8] {
        let length = body.count + Format.sealOverhead
        let bound = Bindings.placed(type, keys.vault, at: UInt64(out.count), length: length)
        var head: [UInt8] = []
        head.append(u64: FrameHead(type, length: length).encoded)
        return head + Plain.seal(body, key: keys.sealingKey(type), nonce: random.bytes(Format.nonceSize), bound: bound)
    }

    private func resolved(_ body: [UInt8]) -> [UInt8] {
        var body = body
        guard body.count >= Format.hashSize, let first = Reference.mark.first else { return body }
        for position in 0...body.count - Format.hashSize where body[position] == first {
            let place = body[position..<position + Format.hashSize]
            guard place.starts(with: Reference.mark) else { continue }
            let reference = Reference(place)
            if let ref = refs[reference.id] { reference.resolve(ref, at: position, in: &body) }
        }
        return body
    }

    /// A keyring that decodes, with keys wrapped rightly for what it says of groups and compartments.
    private func rewrapped(_ object: Recipe.Object) -> Recipe.Object {
        var padded = object.body
        padded.padSteppedBody()
        guard object.flags & Recipe.Flag.references == 0,
            var keyring = attempt({ () throws(FormatError) in try Keyring(padded.span, at: 0) })
        else { return object }
        for index in keyring.groups.indices {
            let group = keyring.groups[index]
            let bound = Bindings.group(keys.vault, group.number, Array(group.name.utf8))
            keyring.groups[index].wrapped = wrap(FuzzKeys.group(group.number), keys.keyring, bound)
        }
        for index in keyring.compartments.indices {
            let one = keyring.compartments[index]
            var content = FuzzKeys.compartment(one.number)
            if one.isDeviceBound {
                let deviceKey = keys.deviceKey(one.device) ?? FuzzKeys.group(0)
                content = wrap(content, deviceKey, Bindings.deviceCompartment(keys.vault, one))
            }
            let group = one.group == Keyring.ownersGroup ? keys.earlier : FuzzKeys.group(one.group)
            keyring.compartments[index].wrapped = wrap(content, group, Bindings.compartment(keys.vault, one))
        }
        guard let encoded = attempt({ () throws(FormatError) in try keyring.encode() }) else { return object }
        var out = object
        out.body = Array(encoded[..<min(encoded.count, object.body.count)])
        return out
    }

    private func wrap(_ content: [UInt8], _ key: [UInt8], _ bound: [UInt8]) -> [UInt8] {
        Plain.seal(content, key: key, nonce: random.bytes(Format.nonceSize), bound: bound)
    }

    // MARK: commits

    private mutating func appendCommit(_ object: Recipe.Object) {
        if object.flags & Recipe.Flag.alignment == 0 {
            out.append(zeros: Int(Padding.commitOffset(UInt64(out.count))) - out.count)
        }
        var core = object.flags & Recipe.Flag.references == 0 ? resolved(object.body) : object.body
        if object.flags & Recipe.Flag.padding == 0, core.count < Format.commitCoreSize {
            core.append(zeros: Format.commitCoreSize - core.count)
        }
        complete(&core, object.flags)
        let chain = Bindings.chain(keys.vault, core)
        var body = core
        if object.flags & Recipe.Flag.proofs == 0 {
            body += Plain.mac(keys.owner, "vaultfmt-1 commit owner", chain.bytes)
            if isSigned {
                body += Plain.sign(Bindings.commit(chain.bytes), seed: keys.signingSeed)
            } else {
                body.append(zeros: Format.signatureSize)
            }
        } else {
            body.append(zeros: Format.hashSize + Format.signatureSize)
        }
        out += sealed(body, .commit)
        predecessor = Array(core.prefix(8)) + chain.bytes
        start = UInt64(out.count)
        hashes = []
    }

    private func complete(_ core: inout [UInt8], _ flags: UInt8) {
        guard core.count >= Format.commitCoreSize else { return }
        var parts: [(Int, [UInt8])] = []
        if flags & Recipe.Flag.chain == 0, predecessor.contains(where: { $0 != 0 }) { parts.append((8, predecessor)) }
        if flags & Recipe.Flag.place == 0 {
            var place: [UInt8] = []
            for value in [UInt64(out.count), start] { place.append(u64: value) }
            parts.append((48, place))
        }
        if flags & Recipe.Flag.header == 0 { parts.append((232, headerHash.bytes)) }
        if flags & Recipe.Flag.digest == 0 { parts.append((264, Bindings.digest(hashes).bytes)) }
        for (at, bytes) in parts { core.replaceSubrange(at..<at + bytes.count, with: bytes) }
    }
}

/// The keys that groups and compartments of a sealed recipe have: known from their numbers.
enum FuzzKeys {
    static func group(_ number: UInt64) -> [UInt8] { key("fuzzing group", number) }
    static func compartment(_ number: UInt64) -> [UInt8] { key("fuzzing compartment", number) }

    private static func key(_ label: String, _ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(u64: number)
        return Plain.mac(RecipeSealer.vaultKey, label, bytes)
    }

    /// The one that vaults for fuzzing are made on.
    static let devices: [Bytes16: [UInt8]] = [Bytes16([UInt8](1...16)) ?? .zero: [UInt8](17...48)]
}
