internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// Why a vault, or a value, is not read.
struct Refusal: Error {
    /// Nil for a value whose key the reader does not have, which is no failure.
    let verdict: Verdict?

    init(_ verdict: Verdict) { self.verdict = verdict }

    private init() { verdict = nil }

    static let noKey = Refusal()

    /// As a dump has it.
    var reason: String { verdict?.rawValue ?? "no-key" }

    static func unless(_ condition: Bool, _ verdict: Verdict = .structureInvalid) throws(Refusal) {
        guard condition else { throw Refusal(verdict) }
    }

    /// A decoder's error as a refusal.
    static func of<T>(_ body: () throws(FormatError) -> T) throws(Refusal) -> T {
        do throws(FormatError) { return try body() } catch { throw Refusal(Verdict(error)) }
    }
}

/// Reads a whole vault in memory as sections 1 to 7.2 say: what vectors state, from neither the library nor the
/// reference.
///
/// Layouts are VaultBytes' and primitives VaultCrypto's; every order of checks is its own.
struct SpecReader {
    let file: [UInt8]
    let header: Header
    let headerHash: Bytes32
    /// Keys of an owner, or of the holder of a scoped slot.
    let index: [UInt8]
    let owner: ForgeKeys?
    let publicKey: Bytes32
    /// Group keys that a scoped slot grants.
    let grants: [UInt64: [UInt8]]
    let grantedNumbers: [UInt64]
    let devices: [Bytes16: [UInt8]]
    private(set) var state: SpecState
    private(set) var keyring: Keyring

    var bodyStart: UInt64 { header.bodyStart }
    var vault: Bytes16 { header.id }

    /// Opens a vault (section 7.1).
    init(_ file: [UInt8], _ request: ReadRequest) throws(Refusal) {
        self.file = file
        (header, headerHash) = try SpecReader.header(file)
        let factors = try SpecFactors(request)
        let (slot, payload) = try factors.open(header)
        if slot.kind == .full {
            let keys = ForgeKeys(vault: header.id, vaultKey: payload, epoch: header.epoch)
            (owner, index, publicKey, grants, grantedNumbers) = (keys, keys.index, keys.publicKey, [:], [])
        } else {
            let layout = try Refusal.of { () throws(FormatError) in try ScopedPayloadLayout(payload.span) }
            owner = nil
            index = Array(payload[ScopedPayloadLayout.indexKey])
            publicKey = Bytes32(Array(payload[ScopedPayloadLayout.ownerPublicKey])) ?? .zero
            grantedNumbers = layout.groups
            grants = SpecReader.keys(layout, payload)
        }
        var devices: [Bytes16: [UInt8]] = [:]
        if let device = request.device, let id = Bytes16(device.id) { devices[id] = device.secret }
        self.devices = devices
        //
        let bytes = Array(file[..<header.length])
        let stated = try Refusal.of { () throws(FormatError) in try Header.proof(bytes.span) }
        try Refusal.unless(
            Plain.mac(index, "vaultfmt-1 header", headerHash.bytes) == stated.mac.bytes, .authenticationFailed)
        if let owner = request.owner { try Refusal.unless(owner == publicKey.bytes, .foreign) }
        state = SpecState(bodyStart: header.bodyStart)
        keyring = Keyring(keeping: .init(count: 0, dot: StoredDot(1, 1)), vaultKey: StoredDot(1, 1))
        try state.find(self)
        keyring = try readKeyring()
    }

    private static func keys(_ layout: ScopedPayloadLayout, _ payload: [UInt8]) -> [UInt64: [UInt8]] {
        var out: [UInt64: [UInt8]] = [:]
        for (index, number) in layout.groups.enumerated() {
            let at = ScopedPayloadLayout.grant(index) + 8
            out[number] = Array(payload[at..<at + 32])
        }
        return out
    }

    ///
    private static func header(_ file: [UInt8]) throws(Refusal) -> (Header, Bytes32) {
        let length = try Refusal.of { () throws(FormatError) in try Header.length(file.span) }
        try Refusal.unless(file.count >= 2 * length + 1024, .headerInvalid)
        let bytes = Array(file[..<length])
        let stated = try Refusal.of { () throws(FormatError) in try Header.proof(bytes.span) }
        let hash = Plain.hash(Plain.label("vaultfmt-1 header") + bytes[..<(length - 64)])
        try Refusal.unless(hash == stated.hash, .headerInvalid)
        return (try Refusal.of { () throws(FormatError) in try Header(bytes.span) }, hash)
    }

    // MARK: frames

    /// The bytes that a reference names; nothing is opened yet.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(Refusal) -> [UInt8] {
        try Refusal.of { () throws(FormatError) in try ref.check(type, from: bodyStart, before: referrer) }
        try Refusal.unless(ref.end <= UInt64(file.count), .authenticationFailed)
        let frame = Array(file[Int(ref.offset)..<Int(ref.end)])
        try Refusal.unless(Plain.hash(frame) == ref.hash, .authenticationFailed)
        let head = try Refusal.of { () throws(FormatError) in try FrameHead(frame.span, at: ref.offset) }
        try Refusal.unless(head.type == type && head.length == ref.length)
        return frame
    }

    /// What a frame that is sealed under the index key, or another one, opens to.
    func body(
        _ ref: ObjectRef, _ type: FrameType, before referrer: UInt64, key: [UInt8]? = nil
    ) throws(Refusal) -> [UInt8] {
        let frame = try frame(ref, type, before: referrer)
        let bound = Bindings.placed(type, vault, at: ref.offset, length: frame.count)
        guard let body = Plain.open(Array(frame[8...]), key: key ?? index, bound: bound) else {
            throw Refusal(.authenticationFailed)
        }
        return body
    }

    private func readKeyring() throws(Refusal) -> Keyring {
        let commit = state.commit
        let body = try body(commit.keyring, .keyring, before: commit.offset)
        let ring = try Refusal.of { () throws(FormatError) in try Keyring(body.span, at: commit.keyring.offset) }
        // as far as the keyring alone does not show it.
        try Refusal.unless(ring.slots.map(\.id) == header.slots.map(\.id).sorted())
        for slot in header.slots where slot.kind == .full {
            try Refusal.unless(ring.slots.contains { $0.id == slot.id && $0.grants.isEmpty })
        }
        try check(ring.dots)
        return ring
    }

    ///
    func check(_ dots: [StoredDot]) throws(Refusal) {
        let commit = state.commit
        for dot in dots { try Refusal.unless(dot.isPossible(clock: commit.clock, floor: commit.floor)) }
    }

    // MARK: vectors

    /// The state's vector, with of the keyring.
    func vector() throws(Refusal) -> Vector {
        let commit = state.commit
        var vector = try vector(commit.vector, floor: commit.floor, before: commit.offset)
        if let own = commit.own {
            guard let row = vector.row(of: own.id) else { throw Refusal(.structureInvalid) }
            try Refusal.unless(!row.isSplit && row.revision <= own.revision)
            vector.include(own.id, own.revision)
        }
        try Refusal.unless(vector.clock == commit.clock)
        for dot in keyring.dots { try Refusal.unless(vector.dot(dot) != nil) }
        return vector
    }

    func vector(of handOver: HandOver) throws(Refusal) -> Vector {
        try vector(handOver.vector, floor: handOver.floor, before: state.commit.keyring.offset)
    }

    private func vector(_ ref: ObjectRef, floor: UInt64, before referrer: UInt64) throws(Refusal) -> Vector {
        let frame = try vectorFrame(ref, before: referrer)
        var base: VectorFrame?
        if let whole = frame.base { base = try vectorFrame(whole, before: ref.offset) }
        return try Refusal.of { () throws(FormatError) in try frame.vector(on: base, floor: floor, at: ref.offset) }
    }

    private func vectorFrame(_ ref: ObjectRef, before referrer: UInt64) throws(Refusal) -> VectorFrame {
        let body = try body(ref, .vector, before: referrer)
        return try Refusal.of { () throws(FormatError) in try VectorFrame(body.span, at: ref.offset) }
    }

    // MARK: keys of values

    /// The key of a compartment, or why there is none.
    func compartmentKey(_ number: UInt64) throws(Refusal) -> [UInt8]? {
        guard let info = keyring.compartments.first(where: { $0.number == number }) else {
            throw Refusal(.structureInvalid)
        }
        guard let group = try groupKey(info.group) else { return nil }
        guard let outer = Plain.open(info.wrapped, key: group, bound: Bindings.compartment(vault, info)) else {
            throw Refusal(.authenticationFailed)
        }
        guard info.isDeviceBound else { return outer }
        guard let secret = devices[info.device],
            let key = Plain.open(
                outer, key: Plain.mac(secret, "vaultfmt-1 device", vault.bytes),
                bound: Bindings.deviceCompartment(vault, info))
        else { throw Refusal(.deviceBound) }
        return key
    }

    /// Nil for a group that was not granted.
    private func groupKey(_ number: UInt64) throws(Refusal) -> [UInt8]? {
        guard let owner else { return grants[number] }
        guard number != Keyring.ownersGroup else { return owner.earlier }
        guard let group = keyring.groups.first(where: { $0.number == number }) else { throw Refusal(.structureInvalid) }
        let bound = Bindings.group(vault, number, Array(group.name.utf8))
        guard let key = Plain.open(group.wrapped, key: owner.keyring, bound: bound) else {
            throw Refusal(.authenticationFailed)
        }
        return key
    }
}
