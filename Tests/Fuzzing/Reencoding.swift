internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultForge
internal import VaultStore

/// What decodes must re-encode to the same bytes (specification, section 1): for the header, and for the body of every object that opens.
enum Reencoding {
    /// Checks all of a file that `factors` open. What does not decode is none of its business.
    static func check(_ bytes: [UInt8], _ factors: borrowing FactorKeys, _ limits: ReaderLimits) throws(Mismatch) {
        guard bytes.count >= 16, let length = attempt({ () throws(FormatError) in try Header.regionLength(bytes.span) }),
            length <= bytes.count
        else { return }
        let region = Array(bytes[..<length])
        guard let header = attempt({ () throws(FormatError) in try Header(region.span) }) else { return }
        var copy = header
        guard let encoded = attempt({ () throws(FormatError) in try copy.encodeWithoutMACs() }), copy.encode(without: encoded) == region
        else { throw Mismatch("a header that decodes has another encoding") }
        let slot: OpenedSlot
        do throws(VaultError) { slot = try SlotOpener.open(header, region, factors, limits) } catch { return }
        let sealing = Sealing(vault: header.id.words, random: .fixed("0"))
        var position = length
        while position < bytes.count {
            guard let (head, next) = frame(bytes, position) else { return }
            if let head {
                try check(Array(bytes[position..<next]), head.type, at: UInt64(position), slot.keys.index, sealing)
            }
            position = next
        }
    }

    /// The frame at a position and where the next one starts; without a frame, the padding before a commit.
    private static func frame(_ bytes: [UInt8], _ position: Int) -> (FrameHead?, Int)? {
        guard bytes.count - position >= Format.frameHeadSize else { return nil }
        let start = Array(bytes[position..<position + Format.frameHeadSize])
        if let head = attempt({ () throws(FormatError) in try FrameHead(start.span, at: UInt64(position)) }) {
            return head.length <= bytes.count - position ? (head, position + head.length) : nil
        }
        return bytes[position] == 0 ? (nil, (position / Format.commitAlignment + 1) * Format.commitAlignment) : nil
    }

    private static func check(
        _ frame: [UInt8], _ type: FrameType, at offset: UInt64, _ key: borrowing Secret, _ sealing: Sealing
    ) throws(Mismatch) {
        switch type {
        case .record: return
        case .page:
            guard let body = open(frame, .page, at: offset, key, sealing) else { return }
            try checkPage(body, at: offset)
        case .keyring:
            guard let body = open(frame, .keyring, at: offset, key, sealing) else { return }
            guard let keyring = attempt({ () throws(FormatError) in try Keyring(body.span, at: offset) }) else { return }
            let encoded = attempt { () throws(FormatError) in try keyring.encode() }
            try Mismatch.require(encoded == body, "a keyring that decodes has another encoding")
        case .history:
            guard let body = open(frame, .history, at: offset, key, sealing) else { return }
            guard let history = attempt({ () throws(FormatError) in try History(body.span, at: offset) }) else { return }
            try Mismatch.require(history.encode() == body, "a history that decodes has another encoding")
        case .commit:
            guard let body = open(Array(frame[..<Format.commitMACStart]), .commit, at: offset, key, sealing) else { return }
            guard let commit = attempt({ () throws(FormatError) in try Commit(body.span, at: offset) }) else { return }
            try Mismatch.require(commit.encode() == body, "a commit that decodes has another encoding")
        }
    }

    private static func open(
        _ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64, _ key: borrowing Secret, _ sealing: Sealing
    ) -> [UInt8]? {
        var isOpen = false
        let size = frame.count - Format.sealOverhead
        let body = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try sealing.open(
                        frame, as: kind, at: offset, key: key, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: size))
                    isOpen = true
                } catch { isOpen = false }
            }
            count = size
        }
        return isOpen ? body : nil
    }

    private static func checkPage(_ body: [UInt8], at offset: UInt64) throws(Mismatch) {
        guard let layout = attempt({ () throws(FormatError) in try PageLayout(body.span, at: offset) }) else { return }
        let prefix = Array(body[layout.prefix])
        var builder = PageBuilder(level: layout.level)
        for entry in layout.entries {
            let key = prefix + body[entry.rest]
            builder.append(key, Array(body[entry.value]))
            if layout.isLeaf { try checkEntry(key, Array(body[entry.value]), at: offset) }
        }
        try Mismatch.require(builder.encode() == body, "a page that decodes has another encoding")
    }

    private static func checkEntry(_ key: [UInt8], _ value: [UInt8], at offset: UInt64) throws(Mismatch) {
        if let item = attempt({ () throws(VaultError) in try ItemKey(key) }) { try check(item) }
        if key.first == Format.tombstoneTag {
            var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
            if let tombstone = attempt({ () throws(FormatError) in try TombstoneEntry(value.span, &cursor) }) {
                try Mismatch.require(tombstone.encode() == value, "a tombstone that decodes has another encoding")
            }
            return
        }
        let encoded = attempt { () throws(FormatError) in
            var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
            var out: [UInt8] = []
            try ItemEntry(value.span, &cursor, page: offset).encode(into: &out)
            out.append(varint: UInt64(try cursor.count(value.span, most: Format.Limit.attributes, "large attributes")))
            AttributeList.encode(try AttributeList.decode(value.span, &cursor, .inPage), into: &out)
            try cursor.finish()
            return out
        }
        if let encoded { try Mismatch.require(encoded == value, "an item's entry that decodes has another encoding") }
    }

    /// A key is its fields and nothing else.
    static func check(_ key: ItemKey) throws(Mismatch) {
        let again = attempt { () throws(VaultError) in
            try ItemKey(key.fields, group: key.group, synchronizable: key.synchronizable)
        }
        try Mismatch.require(again?.bytes == key.bytes, "an item key that decodes has another encoding")
    }

    /// The same for the body of a record that was opened.
    static func check(record body: [UInt8]) throws(Mismatch) {
        guard let layout = attempt({ () throws(FormatError) in try RecordLayout(body.span, at: 0) }) else { return }
        let list = attempt { () throws(FormatError) in
            var cursor = Cursor(over: layout.attributes, of: Cursor(body.span, at: 0, else: .structureInvalid))
            return try AttributeList.decode(body.span, &cursor, .inRecord)
        }
        guard let list else { return }
        var out: [UInt8] = []
        out.append(varint: UInt64(layout.key.count))
        out += body[layout.key]
        out.append(varint: UInt64(layout.secret.count))
        out += body[layout.secret]
        AttributeList.encode(list, into: &out)
        out += [UInt8](repeating: 0, count: Padding.record(out.count) - out.count)
        try Mismatch.require(out == body, "a record that decodes has another encoding")
    }
}

/// The result, or nil where it throws.
func attempt<R, E: Error>(_ body: () throws(E) -> R) -> R? {
    do throws(E) { return try body() } catch { return nil }
}
