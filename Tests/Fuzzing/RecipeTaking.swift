internal import Glibc
internal import TestSupport
package import VaultBytes

extension Recipe {
    /// Takes a sound vault apart that has a slot for this raw key; nil if there is anything in it that does not open.
    /// - `devices`: Secrets by ids of what the vault binds to devices; that of fuzzing is always known.
    package init?(taking bytes: [UInt8], rawKey: [UInt8], devices: [Bytes16: [UInt8]] = [:]) {
        let devices = FuzzKeys.devices.merging(devices) { $1 }
        guard let forge = attempt({ try Forge(bytes, .rawKey(rawKey), devices: devices) }),
            forge.tail.allSatisfy({ $0 == 0 })
        else { return nil }
        var taker = RecipeTaker()
        for object in forge.objects { guard taker.take(object) else { return nil } }
        taker.take(reserve: forge.tail)
        let region = bytes[..<(forge.header.length - Format.headerProofSize)]
        self.init(header: region.withoutZeros, objects: taker.objects)
    }
}

private struct RecipeTaker {
    private(set) var objects: [Recipe.Object] = []
    private var ids: [UInt64: UInt8] = [:]

    /// False for an object that did not open.
    mutating func take(_ object: ForgedObject) -> Bool {
        guard object.opaque == nil, let offset = object.origin, let made = recipe(object) else { return false }
        let id = UInt8(truncatingIfNeeded: objects.count)
        ids[offset] = id
        objects.append(Recipe.Object(kind: made.kind, flags: 0, id: id, body: made.body))
        return true
    }

    mutating func take(reserve: [UInt8]) {
        if !reserve.isEmpty { objects.append(Recipe.Object(kind: .raw, flags: 0, id: 0, body: reserve)) }
    }

    private func recipe(_ object: ForgedObject) -> (kind: Recipe.Kind, body: [UInt8])? {
        switch object.type {
        case .record: return record(object).map { (.record, $0) }
        case .page: return page(object.body).map { (.page, $0) }
        case .past: return past(object.body).map { (.past, $0) }
        case .keyring: return (.keyring, keyring(object.body))
        case .vector: return (.vector, vector(object.body))
        case .commit: return (.commit, commit(object.body)[...].withoutZeros)
        case .chunk: return nil
        }
    }

    /// Its name, and its content without padding.
    private func record(_ object: ForgedObject) -> [UInt8]? {
        guard let name = object.identity, let form = RecordLayout.form(object.body.span),
            let layout = attempt({ () throws(FormatError) in try RecordLayout(object.body.span, form, at: 0) })
        else { return nil }
        let end =
            switch layout.content {
            case .item(let secret, let attributes): attributes.last?.value.upperBound ?? secret.upperBound + 1
            case .attribute(_, _, let value): value.upperBound
            }
        return name.bytes + object.body[..<end]
    }

    private func page(_ body: [UInt8]) -> [UInt8]? {
        guard let layout = attempt({ () throws(FormatError) in try PageLayout(body.span, at: 0) }) else { return nil }
        var out = body
        for entry in layout.entries {
            let value = Array(body[entry.value])
            let key = body[layout.prefix] + body[entry.rest]
            let isItem = layout.isLeaf && key.first != Format.forgottenTag
            if isItem, let item = ForgedItem(value) {
                for ref in references(item) { refer(&out, ref, in: entry.value) }
            } else if !layout.isLeaf, let child = attempt({ try PageEntry(key: [], value: value).child() }) {
                refer(&out, child, in: entry.value)
            }
        }
        let end = layout.entries.map(\.value.upperBound).max() ?? layout.prefix.upperBound
        return Array(out[..<max(end, layout.prefix.upperBound)])
    }

    private func references(_ item: ForgedItem) -> [ObjectRef] {
        var all: [ObjectRef] = []
        _ = item.mapReferences {
            all.append($0)
            return $0
        }
        return all
    }

    private func past(_ body: [UInt8]) -> [UInt8]? {
        guard let past = attempt({ () throws(FormatError) in try Past(body.span, at: 0) }) else { return nil }
        var out = body
        for record in past.values.flatMap(\.records) { refer(&out, record.record, in: 0..<body.count) }
        return out[...].withoutZeros
    }

    /// A keyring refers to the vectors of hand-overs.
    private func keyring(_ body: [UInt8]) -> [UInt8] {
        var out = body
        if let keyring = attempt({ () throws(FormatError) in try Keyring(body.span, at: 0) }) {
            for one in keyring.handOvers { refer(&out, one.vector, in: 0..<body.count) }
        }
        return out[...].withoutZeros
    }

    /// A vector refers to its base, if it has one.
    private func vector(_ body: [UInt8]) -> [UInt8] {
        var out = body
        let frame = attempt { () throws(FormatError) in try VectorFrame(body.span, at: 0) }
        if let base = frame?.base { refer(&out, base, in: 0..<body.count) }
        return out[...].withoutZeros
    }

    /// Puts a placeholder where the hash of a narrow reference is.
    private func refer(_ body: inout [UInt8], _ ref: ObjectRef, in range: Range<Int>) {
        guard let id = ids[ref.offset] else { return }
        var encoded: [UInt8] = []
        ref.encode(into: &encoded)
        let hashStart = encoded.count - Format.hashSize
        guard let found = Self.place(of: encoded, in: body, range) else { return }
        let reference = Reference(
            id: id, offsetWidth: varintSize(ref.offset), lengthWidth: hashStart - varintSize(ref.offset))
        body.replaceSubrange(found + hashStart..<found + encoded.count, with: reference.placeholder)
    }

    /// The first place of some bytes. `firstRange(of:)` took nine tenths of what a vector with a long past took.
    private static func place(of bytes: [UInt8], in body: [UInt8], _ range: Range<Int>) -> Int? {
        body.withUnsafeBytes { body in
            guard let start = body.baseAddress, let first = bytes.first else { return nil }
            var place = range.lowerBound
            while place + bytes.count <= range.upperBound,
                let found = memchr(start + place, Int32(first), range.upperBound - bytes.count - place + 1)
            {
                guard memcmp(found, bytes, bytes.count) != 0 else { return UnsafeRawPointer(found) - start }
                place = UnsafeRawPointer(found) - start + 1
            }
            return nil
        }
    }

    private func varintSize(_ value: UInt64) -> Int {
        var out: [UInt8] = []
        out.append(varint: value)
        return out.count
    }

    /// Root, keyring and vector of a commit's core.
    private func commit(_ core: [UInt8]) -> [UInt8] {
        var out = core
        for start in [88, 136, 184] {
            let offset = core[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard offset != 0, let id = ids[offset] else { continue }
            out.replaceSubrange(
                start + 16..<start + 48, with: Reference(id: id, offsetWidth: 0, lengthWidth: 0).placeholder)
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
