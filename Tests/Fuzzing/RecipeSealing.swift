internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultForge
internal import VaultStore

extension Recipe {
    /// A vault file that opens with the fuzzing key, whatever is in its objects; empty if the header says no length that one can have.
    // Swift 6.3's optimiser ends in an assertion where it is inlined.
    @inline(never)
    package func sealed() -> [UInt8] { RecipeSealer.seal(self, FuzzFactors()) }
}

/// Seals a recipe: a vault file that opens with the fuzzing key, whatever is in its objects.
struct RecipeSealer: ~Copyable {
    static let vaultKey = [UInt8](repeating: 0x4D, count: Format.keySize)

    private let recipe: Recipe
    private let random = Randomness.fixed("7")
    private var out: [UInt8] = []
    private var refs: [UInt8: ObjectRef] = [:]
    private var digest = Blake2b()
    private var start: UInt64 = 0
    private var previous: UInt64 = 0
    private var chain = Bytes32.zero
    private var headerHash = Bytes32.zero

    /// The file's bytes. Empty if the header says no length that one can have.
    static func seal(_ recipe: Recipe, _ factors: borrowing FuzzFactors) -> [UInt8] {
        var sealer = RecipeSealer(recipe)
        return sealer.run(factors)
    }

    private init(_ recipe: Recipe) { self.recipe = recipe }

    private mutating func run(_ factors: borrowing FuzzFactors) -> [UInt8] {
        guard let region = region() else { return [] }
        guard var header = attempt({ () throws(FormatError) in try Header(region.span) }) else { return region }
        let keys = VaultKeys(vaultKey: Secret(bytes: Self.vaultKey), epoch: header.epoch.bytes)
        out = region
        if recipe.headerFlags & Recipe.Flag.macs == 0 {
            seal(&header.slots, header.id, keys, factors)
            guard let sealed = attempt({ () throws(VaultError) in try HeaderSeal.seal(&header, keys) }) else { return region }
            out = sealed
        }
        headerHash = Bytes32(hashing: out)
        start = UInt64(out.count)
        digest.update("vaultfmt-1 digest")
        let sealing = Sealing(vault: header.id.words, random: random)
        for object in recipe.objects where out.count < 4 << 20 { append(object, header.id, keys, sealing) }
        return out
    }

    // MARK: the header

    private func region() -> [UInt8]? {
        var region = recipe.header
        guard region.count >= 16, let length = attempt({ () throws(FormatError) in try Header.regionLength(region.span) }) else {
            return nil
        }
        if region.count > length { region.removeLast(region.count - length) }
        return region + [UInt8](repeating: 0, count: length - region.count)
    }

    /// Full slots with a raw key open with the fuzzing key, to the fuzzing vault key.
    private func seal(_ slots: inout [Slot], _ vault: Bytes16, _ keys: borrowing VaultKeys, _ factors: borrowing FuzzFactors) {
        for index in slots.indices where slots[index].factors == Slot.rawKey && slots[index].kind == .full {
            let key = attempt { () throws(CryptoError) in SlotBox(try SlotSeal.key(slots[index], vault, factors.keys())) }
            guard let key else { continue }
            slots[index].commitment = key.commitment
            SlotSeal.seal(
                SlotPayload(vaultKey: Secret(bytes: Self.vaultKey)), into: &slots[index], wrappingKey: key.wrappingKey, vault: vault, random
            )
            switch keys.owner {
            case .some(let owner):
                SlotSeal.sealOwner(name: "fuzz", wrappingKey: key.wrappingKey, into: &slots[index], vault: vault, owner: owner, random)
            case .none: break
            }
        }
    }

    private final class SlotBox {
        let commitment: Bytes32
        let wrappingKey: Secret

        init(_ key: consuming SlotKey) {
            commitment = Bytes32(words: key.commitment())
            wrappingKey = key.wrappingKey()
        }
    }

    // MARK: objects

    private mutating func append(_ object: Recipe.Object, _ vault: Bytes16, _ keys: borrowing VaultKeys, _ sealing: Sealing) {
        let offset = UInt64(out.count)
        let frame: [UInt8]
        switch object.kind {
        case .raw:
            out += object.body
            return
        case .record: frame = record(object, keys, sealing)
        case .page: frame = indexObject(object, .page, .page, at: offset, keys, sealing)
        case .keyring: frame = indexObject(object.rewrapped(vault, keys, random), .keyring, .keyring, at: offset, keys, sealing)
        case .history: frame = indexObject(object, .history, .history, at: offset, keys, sealing)
        case .commit: return appendCommit(object, vault, keys, sealing)
        }
        let hash = Bytes32(hashing: frame)
        refs[object.id] = ObjectRef(offset: offset, length: frame.count, hash: hash)
        digest.update(hash.words)
        out += frame
    }

    private func record(_ object: Recipe.Object, _ keys: borrowing VaultKeys, _ sealing: Sealing) -> [UInt8] {
        var body = object.body + [UInt8](repeating: 0, count: max(0, Format.locatorSize - object.body.count))
        let item = Bytes16(Array(body[..<16])) ?? .zero
        let revision = body[16..<24].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let compartment = body[24..<28].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        body.removeFirst(Format.locatorSize)
        if object.flags & Recipe.Flag.padding == 0 { body.append(zeros: Padding.record(max(body.count, 1)) - body.count) }
        let identity = Sealing.RecordIdentity(item: item.words, revision: revision, compartment: compartment)
        let length = body.count + Format.recordOverhead
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            body.withUnsafeBytes { body in
                sealing.sealRecord(
                    body, identity, head: FrameHead(.record, length: length).encoded, key: FuzzKeys.compartment(compartment),
                    locatorKey: keys.locator, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: length))
            }
            count = length
        }
    }

    private func indexObject(
        _ object: Recipe.Object, _ kind: Sealing.Placed, _ type: FrameType, at offset: UInt64, _ keys: borrowing VaultKeys,
        _ sealing: Sealing
    ) -> [UInt8] {
        var body = object.flags & Recipe.Flag.references == 0 ? resolved(object.body) : object.body
        if object.flags & Recipe.Flag.padding == 0 {
            body.append(zeros: Padding.steppedFrame(body.count) - Format.sealOverhead - body.count)
        }
        return sealed(body, kind, type, length: body.count + Format.sealOverhead, at: offset, keys, sealing)
    }

    private func sealed(
        _ body: [UInt8], _ kind: Sealing.Placed, _ type: FrameType, length: Int, at offset: UInt64, _ keys: borrowing VaultKeys,
        _ sealing: Sealing
    ) -> [UInt8] {
        let size = body.count + Format.sealOverhead
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            body.withUnsafeBytes { body in
                sealing.seal(
                    body, as: kind, at: offset, head: FrameHead(type, length: length).encoded, key: keys.index,
                    into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: size))
            }
            count = size
        }
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

    // MARK: commits

    private mutating func appendCommit(_ object: Recipe.Object, _ vault: Bytes16, _ keys: borrowing VaultKeys, _ sealing: Sealing) {
        if object.flags & Recipe.Flag.alignment == 0 {
            let alignment = Format.commitAlignment
            out.append(zeros: (alignment - out.count % alignment) % alignment)
        }
        let offset = UInt64(out.count)
        var body = object.flags & Recipe.Flag.references == 0 ? resolved(object.body) : object.body
        if object.flags & Recipe.Flag.padding == 0, body.count < Format.commitBodySize {
            body.append(zeros: Format.commitBodySize - body.count)
        }
        complete(&body, object.flags, at: offset)
        let macs = 2 * Format.hashSize
        var frame = sealed(
            body, .commit, .commit, length: body.count + Format.sealOverhead + macs, at: offset, keys, sealing)
        let (reader, owner) = self.macs(frame, vault, keys)
        frame.append(reader)
        frame.append(object.flags & Recipe.Flag.macs == 0 ? owner : .zero)
        out += frame
        if let commit = attempt({ () throws(FormatError) in try Commit(body.span, at: offset) }) {
            chain = CommittedState(commit: commit, body: body, vault: vault).chain
        }
        previous = offset
        start = UInt64(out.count)
        digest = Blake2b()
        digest.update("vaultfmt-1 digest")
    }

    private mutating func complete(_ body: inout [UInt8], _ flags: UInt8, at offset: UInt64) {
        guard body.count >= Format.commitBodySize else { return }
        var parts: [(Int, [UInt8])] = []
        if flags & Recipe.Flag.place == 0 {
            var place: [UInt8] = []
            for value in [offset, start, previous] { place.append(u64: value) }
            parts.append((8, place))
        }
        if flags & Recipe.Flag.header == 0 { parts.append((192, headerHash.bytes)) }
        if flags & Recipe.Flag.chain == 0 { parts.append((224, chain.bytes)) }
        if flags & Recipe.Flag.digest == 0 { parts.append((256, Bytes32(words: digest.finish()).bytes)) }
        for (at, bytes) in parts { body.replaceSubrange(at..<at + bytes.count, with: bytes) }
    }

    private func macs(_ frame: [UInt8], _ vault: Bytes16, _ keys: borrowing VaultKeys) -> (Bytes32, Bytes32) {
        frame.withUnsafeBytes { frame in
            let reader = Bytes32(words: keys.reader.mac("vaultfmt-1 commit reader", frame, prefix: vault.bytes))
            switch keys.owner {
            case .some(let owner): return (reader, Bytes32(words: owner.mac.mac("vaultfmt-1 commit owner", frame, prefix: vault.bytes)))
            case .none: return (reader, .zero)
            }
        }
    }
}

/// The keys that groups and compartments of a sealed recipe have: known from their numbers.
enum FuzzKeys {
    static func group(_ number: UInt32) -> Secret { key("fuzzing group", number) }
    static func compartment(_ number: UInt32) -> Secret { key("fuzzing compartment", number) }

    private static func key(_ label: StaticString, _ number: UInt32) -> Secret {
        var bytes: [UInt8] = []
        bytes.append(u32: number)
        return Secret(bytes: RecipeSealer.vaultKey).derive(label, bytes)
    }

    static func device(_ vault: Bytes16) -> Secret { DeviceKey.derive(Secret(bytes: [UInt8](17...48)), vault: vault.bytes) }

    /// What a group's wrapped key is bound to (specification, section 5.3).
    static func bound(_ group: Keyring.Group, _ vault: Bytes16) -> [UInt8] {
        var out = label("vaultfmt-1 group", vault)
        out.append(u32: group.number)
        out += group.name.utf8
        return out
    }

    /// The same for a compartment's, outer or inner.
    static func bound(_ compartment: Keyring.Compartment, _ vault: Bytes16, isInner: Bool) -> [UInt8] {
        var out = label(isInner ? "vaultfmt-1 device compartment" : "vaultfmt-1 compartment", vault)
        out.append(u32: compartment.number)
        out.append(u32: compartment.group)
        out.append(compartment.accessibility)
        out.append(compartment.device)
        return out
    }

    private static func label(_ text: String, _ vault: Bytes16) -> [UInt8] {
        var out: [UInt8] = [UInt8(text.utf8.count)]
        out += text.utf8
        out.append(vault)
        return out
    }
}

extension Recipe.Object {
    /// A keyring that decodes, with keys wrapped rightly for what it says of groups and compartments.
    fileprivate func rewrapped(_ vault: Bytes16, _ keys: borrowing VaultKeys, _ random: Randomness) -> Recipe.Object {
        var padded = body
        padded.append(zeros: Padding.steppedFrame(body.count) - Format.sealOverhead - body.count)
        guard flags & Recipe.Flag.references == 0,
            var keyring = attempt({ () throws(FormatError) in try Keyring(padded.span, at: 0) })
        else { return self }
        for index in keyring.groups.indices {
            let group = keyring.groups[index]
            switch keys.owner {
            case .some(let owner):
                keyring.groups[index].wrapped = AEAD.wrap(
                    FuzzKeys.group(group.number), FuzzKeys.bound(group, vault), key: owner.keyring, random)
            case .none: break
            }
        }
        for index in keyring.compartments.indices {
            let one = keyring.compartments[index]
            var content = FuzzKeys.compartment(one.number)
            if one.isDeviceBound {
                content = Secret(
                    bytes: AEAD.wrap(content, FuzzKeys.bound(one, vault, isInner: true), key: FuzzKeys.device(vault), random))
            }
            keyring.compartments[index].wrapped = AEAD.wrap(
                content, FuzzKeys.bound(one, vault, isInner: false), key: FuzzKeys.group(one.group), random)
        }
        guard let encoded = attempt({ () throws(FormatError) in try keyring.encode() }) else { return self }
        var out = self
        out.body = Array(encoded[..<min(encoded.count, body.count)])
        return out
    }
}
