internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultForge
internal import VaultStore

extension Recipe {
    /// Takes a sound vault apart that has a slot for this raw key; nil if there is anything in it that does not open.
    package init?(taking bytes: [UInt8], rawKey: [UInt8]) {
        guard bytes.count >= 16, let length = attempt({ () throws(FormatError) in try Header.regionLength(bytes.span) }),
            length <= bytes.count
        else { return nil }
        let region = Array(bytes[..<length])
        guard let header = attempt({ () throws(FormatError) in try Header(region.span) }) else { return nil }
        let factors = FuzzFactors(rawKey: rawKey)
        let slot: OpenedSlot
        do throws(VaultError) { slot = try SlotOpener.open(header, region, factors.keys(), Reading.limits) } catch { return nil }
        guard slot.keys.isOwner else { return nil }
        var taker = RecipeTaker(bytes: bytes, header: header)
        guard taker.run(slot.keys) else { return nil }
        self.init(header: region.dropLast(Format.headerMACSize).withoutZeros, objects: taker.objects)
    }
}

private struct RecipeTaker {
    let bytes: [UInt8]
    let header: Header
    private(set) var objects: [Recipe.Object] = []
    private var ids: [UInt64: UInt8] = [:]
    /// Compartments' wrapped keys, from all keyrings, the later ones over the earlier ones.
    private var keys: [UInt32: SecretBox] = [:]
    private let sealing: Sealing

    init(bytes: [UInt8], header: Header) {
        self.bytes = bytes
        self.header = header
        sealing = Sealing(vault: header.id.words, random: .fixed("0"))
    }

    /// Keyrings first, since records come before them.
    mutating func run(_ keys: borrowing VaultKeys) -> Bool {
        guard let frames = frames() else { return false }
        for (head, range) in frames where head.type == .keyring {
            guard let body = open(range, .keyring, keys), takeKeys(body, keys) else { return false }
        }
        for (head, range) in frames {
            guard let object = object(head, range, keys) else { return false }
            ids[UInt64(range.lowerBound)] = object.id
            objects.append(object)
        }
        return true
    }

    private func frames() -> [(FrameHead, Range<Int>)]? {
        var all: [(FrameHead, Range<Int>)] = []
        var position = header.length
        while position < bytes.count {
            if bytes[position] == 0 {
                position = (position / Format.commitAlignment + 1) * Format.commitAlignment
                continue
            }
            guard bytes.count - position >= Format.frameHeadSize else { return nil }
            let start = Array(bytes[position..<position + Format.frameHeadSize])
            guard let head = attempt({ () throws(FormatError) in try FrameHead(start.span, at: 0) }), head.length <= bytes.count - position
            else { return nil }
            all.append((head, position..<position + head.length))
            position += head.length
        }
        return all
    }

    private func open(_ range: Range<Int>, _ kind: Sealing.Placed, _ keys: borrowing VaultKeys) -> [UInt8]? {
        let frame = Array(bytes[range])
        var body = [UInt8](repeating: 0, count: frame.count - Format.sealOverhead)
        let isOpen: Void? = frame.withUnsafeBytes { frame in
            body.withUnsafeMutableBytes { body in
                attempt { () throws(CryptoError) in
                    try sealing.open(frame, as: kind, at: UInt64(range.lowerBound), key: keys.index, into: body)
                }
            }
        }
        return isOpen == nil ? nil : body
    }

    private mutating func takeKeys(_ body: [UInt8], _ keys: borrowing VaultKeys) -> Bool {
        guard let keyring = attempt({ () throws(FormatError) in try Keyring(body.span, at: 0) }) else { return false }
        var groups: [UInt32: SecretBox] = [:]
        for group in keyring.groups {
            switch keys.owner {
            case .some(let owner):
                groups[group.number] = unwrapped(group.wrapped, FuzzKeys.bound(group, header.id), owner.keyring)
            case .none: return false
            }
        }
        for one in keyring.compartments {
            guard let group = groups[one.group] else { return false }
            guard var key = unwrapped(one.wrapped, FuzzKeys.bound(one, header.id, isInner: false), group.secret) else { return false }
            if one.isDeviceBound {
                let inner = key.secret.withUnsafeBytes { Array($0) }
                guard let opened = unwrapped(inner, FuzzKeys.bound(one, header.id, isInner: true), FuzzKeys.device(header.id)) else {
                    continue
                }
                key = opened
            }
            self.keys[one.number] = key
        }
        return true
    }

    private func unwrapped(_ wrapped: [UInt8], _ bound: [UInt8], _ key: borrowing Secret) -> SecretBox? {
        do throws(CryptoError) { return SecretBox(try AEAD.unwrap(wrapped, bound, key: key)) } catch { return nil }
    }

    // MARK: objects

    private func object(_ head: FrameHead, _ range: Range<Int>, _ keys: borrowing VaultKeys) -> Recipe.Object? {
        let id = UInt8(truncatingIfNeeded: objects.count)
        func made(_ kind: Recipe.Kind, _ body: [UInt8]?) -> Recipe.Object? {
            body.map { Recipe.Object(kind: kind, flags: 0, id: id, body: $0) }
        }
        switch head.type {
        case .record: return made(.record, record(range, keys))
        case .page: return made(.page, page(range, keys))
        case .keyring: return made(.keyring, open(range, .keyring, keys)?[...].withoutZeros)
        case .history: return made(.history, open(range, .history, keys)?[...].withoutZeros)
        case .commit:
            let frame = range.lowerBound..<range.lowerBound + Format.commitMACStart
            return made(.commit, open(frame, .commit, keys).map { commit($0)[...].withoutZeros })
        }
    }

    private func record(_ range: Range<Int>, _ keys: borrowing VaultKeys) -> [UInt8]? {
        let frame = Array(bytes[range])
        let identity = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: keys.locator) }
        guard let key = self.keys[identity.compartment] else { return nil }
        var body = [UInt8](repeating: 0, count: frame.count - Format.recordOverhead)
        let isOpen: Void? = frame.withUnsafeBytes { frame in
            body.withUnsafeMutableBytes { body in
                attempt { () throws(CryptoError) in try sealing.openRecord(frame, identity, key: key.secret, into: body) }
            }
        }
        guard isOpen != nil, let layout = attempt({ () throws(FormatError) in try RecordLayout(body.span, at: 0) }) else { return nil }
        var out: [UInt8] = []
        out.append(Bytes16(high: identity.item.0.bigEndian, low: identity.item.1.bigEndian))
        out.append(u64: identity.revision)
        out.append(u32: identity.compartment)
        return out + body[..<layout.attributes.upperBound]
    }

    private func page(_ range: Range<Int>, _ keys: borrowing VaultKeys) -> [UInt8]? {
        guard let body = open(range, .page, keys),
            let layout = attempt({ () throws(FormatError) in try PageLayout(body.span, at: UInt64(range.lowerBound)) })
        else { return nil }
        var out = body
        let prefix = body[layout.prefix]
        for entry in layout.entries {
            let isTombstone = layout.isLeaf && (prefix + body[entry.rest]).first == Format.tombstoneTag
            if !isTombstone { refer(&out, entry.value) }
        }
        let end = layout.entries.map(\.value.upperBound).max() ?? layout.prefix.upperBound
        return Array(out[..<max(end, layout.prefix.upperBound)])
    }

    /// Puts a placeholder where a varint offset and a varint length are followed by a hash.
    private func refer(_ body: inout [UInt8], _ value: Range<Int>) {
        var cursor = Cursor(over: value, of: Cursor(body.span, at: 0, else: .structureInvalid))
        guard let offset = attempt({ () throws(FormatError) in try cursor.varint(body.span) }) else { return }
        let middle = cursor.position
        guard attempt({ () throws(FormatError) in try cursor.varint(body.span) }) != nil, let id = ids[offset],
            value.upperBound - cursor.position >= Format.hashSize
        else { return }
        let reference = Reference(id: id, offsetWidth: middle - value.lowerBound, lengthWidth: cursor.position - middle)
        body.replaceSubrange(cursor.position..<cursor.position + Format.hashSize, with: reference.placeholder)
    }

    /// Root, keyring and history of a commit's body.
    private func commit(_ body: [UInt8]) -> [UInt8] {
        var out = body
        for start in [48, 96, 144] {
            let offset = body[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard offset != 0, let id = ids[offset] else { continue }
            out.replaceSubrange(start + 16..<start + 48, with: Reference(id: id, offsetWidth: 0, lengthWidth: 0).placeholder)
        }
        return out
    }
}

extension Collection<UInt8> where Self: BidirectionalCollection {
    /// Without the zeros at the end.
    fileprivate var withoutZeros: [UInt8] {
        var all = Array(self)
        while all.last == 0 { all.removeLast() }
        return all
    }
}
