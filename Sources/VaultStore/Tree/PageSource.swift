package import VaultBytes
package import VaultCrypto

/// Reads pages of one file under one index key, and caches the most recently used ones. Only the cache changes, so any
/// number of threads can use the same source.
package final class PageSource: Sendable {
    package let file: any FileHandle
    package let sealing: Sealing
    /// The offset of the first object in the file.
    package let bodyStart: UInt64
    private let key: Secret
    private let pages: Guarded<PageCache>

    package init(file: any FileHandle, sealing: Sealing, bodyStart: UInt64, indexKey: consuming Secret, cacheBytes: Int)
    {
        self.bodyStart = bodyStart
        self.file = file
        self.sealing = sealing
        key = indexKey
        pages = Guarded(PageCache(capacity: cacheBytes))
    }

    /// Returns the page that a parent or commit refers to, after checking its hash, seal, form and level. The
    /// caller has checked the reference.
    package func page(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        if let page = pages.withLock({ $0.find(ref) }), page.layout.level == level { return page }
        let page = try load(ref, level: level)
        pages.withLock { $0.insert(page, ref) }
        return page
    }

    /// Returns a page without evicting others from the cache; used for walks over the whole tree.
    func inPassing(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        if let page = pages.withLock({ $0.find(ref) }), page.layout.level == level { return page }
        let page = try load(ref, level: level)
        pages.withLock { $0.insertIfRoom(page, ref) }
        return page
    }

    /// Returns a page without using the cache.
    package func load(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        try decode(try FrameReader.read(ref, .page, file), ref, level: level)
    }

    /// Adds a page that was just written to the cache.
    func cache(_ page: Page, _ ref: ObjectRef) { pages.withLock { $0.insert(page, ref) } }

    /// Decodes a page from its frame, whose hash has already been checked.
    package func decode(_ frame: [UInt8], _ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        let body = try open(frame, .page, at: ref.offset)
        let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: ref.offset) }
        guard layout.level == level else {
            throw VaultError(.structureInvalid, "a page has level \(layout.level), not \(level)", at: ref.offset)
        }
        return Page(bytes: body, layout: layout, offset: ref.offset, bodyStart: bodyStart)
    }

    /// Opens an index object that was read at `offset`.
    package func open(_ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64) throws(VaultError) -> [UInt8] {
        try open(frame, kind, at: offset, key: key)
    }

    /// Opens an object under a key other than the index key, such as a past.
    package func open(
        _ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64, key: borrowing Secret
    ) throws(VaultError) -> [UInt8] {
        var failure: CryptoError?
        let size = frame.count - Format.sealOverhead
        let body = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try sealing.open(
                        frame, as: kind, at: offset, key: key,
                        into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: size))
                    count = size
                } catch { failure = error }
            }
        }
        if let failure { throw VaultError(crypto: failure, "a \(kind)", at: offset) }
        return body
    }

    /// Returns a page that was just written.
    func written(_ body: [UInt8], _ layout: PageLayout, at offset: UInt64) -> Page {
        Page(bytes: body, layout: layout, offset: offset, bodyStart: bodyStart)
    }

    /// Empties the cache.
    package func dropCache() { pages.withLock { $0.removeAll() } }
}

/// A cache of pages by offset, with a maximum total size; pages not used recently are evicted first (second chance).
struct PageCache {
    private struct Slot {
        let offset: UInt64
        var page: Page
        var hash: Bytes32
        var wasUsed: Bool
    }

    private let capacity: Int
    private var used = 0
    private var slots: [Slot] = []
    /// The index in `slots` of the page at each offset. The pages themselves are in an array because a dictionary
    /// returns copies of its values: each lookup would update reference counts and move sixty bytes.
    private var places: [UInt64: Int] = [:]
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func find(_ ref: ObjectRef) -> Page? {
        guard let place = places[ref.offset], slots[place].hash == ref.hash else { return nil }
        slots[place].wasUsed = true
        return slots[place].page
    }

    mutating func insert(_ page: Page, _ ref: ObjectRef) {
        if let place = places[ref.offset] {
            // The cached page is either a page of an abandoned commit or the same page.
            guard slots[place].hash != ref.hash else { return }
            used += cost(page) - cost(slots[place].page)
            slots[place].page = page
            slots[place].hash = ref.hash
            slots[place].wasUsed = true
            return
        }
        used += cost(page)
        places[ref.offset] = slots.count
        slots.append(Slot(offset: ref.offset, page: page, hash: ref.hash, wasUsed: true))
        while used > capacity, slots.count > 1 { evictOne() }
    }

    mutating func insertIfRoom(_ page: Page, _ ref: ObjectRef) {
        if used + cost(page) <= capacity { insert(page, ref) }
    }

    private mutating func evictOne() {
        if hand >= slots.count { hand = 0 }
        while slots[hand].wasUsed {
            slots[hand].wasUsed = false
            hand = hand + 1 < slots.count ? hand + 1 : 0
        }
        used -= cost(slots[hand].page)
        places[slots[hand].offset] = nil
        let last = slots.removeLast()
        guard hand < slots.count else { return }
        slots[hand] = last
        places[last.offset] = hand
    }

    mutating func removeAll() { self = PageCache(capacity: capacity) }

    /// The memory used by the page's bytes and layout, plus a share of the memory used by the tables.
    private func cost(_ page: Page) -> Int { page.bytes.count + page.count * 8 + 160 }
}
