internal import Synchronization
package import VaultBytes
package import VaultCrypto

/// Reads pages of one file under one index key, and keeps the ones last used. Never changes but for its cache, so that
/// any number of threads can read through it.
package final class PageSource: Sendable {
    package let file: any FileHandle
    package let sealing: Sealing
    /// Where the first object of the file starts.
    package let bodyStart: UInt64
    private let key: Secret
    private let pages: Mutex<PageCache>

    package init(file: any FileHandle, sealing: Sealing, bodyStart: UInt64, indexKey: consuming Secret, cacheBytes: Int)
    {
        self.bodyStart = bodyStart
        self.file = file
        self.sealing = sealing
        key = indexKey
        pages = Mutex(PageCache(capacity: cacheBytes))
    }

    /// The page that a parent (or commit) names; checks its hash, its seal, its form and its level. The
    /// reference was checked.
    package func page(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        if let page = pages.withLock({ $0.find(ref) }), page.layout.level == level { return page }
        let page = try load(ref, level: level)
        pages.withLock { $0.insert(page, ref) }
        return page
    }

    /// The same, but nothing has to make room for it in the cache: for walks over everything.
    func inPassing(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        if let page = pages.withLock({ $0.find(ref) }), page.layout.level == level { return page }
        let page = try load(ref, level: level)
        pages.withLock { $0.insertIfRoom(page, ref) }
        return page
    }

    /// The same without looking at or filling the cache.
    package func load(_ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        try decode(try FrameReader.read(ref, .page, file), ref, level: level)
    }

    /// Puts a page into the cache that was written just now.
    func cache(_ page: Page, _ ref: ObjectRef) { pages.withLock { $0.insert(page, ref) } }

    /// A page from its frame, whose hash was checked.
    package func decode(_ frame: [UInt8], _ ref: ObjectRef, level: UInt8) throws(VaultError) -> Page {
        let body = try open(frame, .page, at: ref.offset)
        let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: ref.offset) }
        guard layout.level == level else {
            throw VaultError(.structureInvalid, "a page is of level \(layout.level), not \(level)", at: ref.offset)
        }
        return Page(bytes: body, layout: layout, offset: ref.offset, bodyStart: bodyStart)
    }

    /// Opens an index object that was read from `offset`.
    package func open(_ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64) throws(VaultError) -> [UInt8] {
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

    /// A page that was written just now.
    func written(_ body: [UInt8], _ layout: PageLayout, at offset: UInt64) -> Page {
        Page(bytes: body, layout: layout, offset: offset, bodyStart: bodyStart)
    }

    /// Forgets what it has cached.
    package func dropCache() { pages.withLock { $0.removeAll() } }
}

/// Pages by offset, at most so many bytes; the ones not used lately go first (second chance).
struct PageCache {
    private struct Slot {
        let page: Page
        let hash: Bytes32
        var wasUsed: Bool
    }

    private let capacity: Int
    private var used = 0
    private var slots: [UInt64: Slot] = [:]
    private var ring: [UInt64] = []
    private var hand = 0

    init(capacity: Int) { self.capacity = capacity }

    mutating func find(_ ref: ObjectRef) -> Page? {
        guard let index = slots.index(forKey: ref.offset), slots.values[index].hash == ref.hash else { return nil }
        slots.values[index].wasUsed = true
        return slots.values[index].page
    }

    mutating func insert(_ page: Page, _ ref: ObjectRef) {
        if let old = slots[ref.offset] {
            // Of a commit that was given up, or of this one.
            guard old.hash != ref.hash else { return }
            used += cost(page) - cost(old.page)
            slots[ref.offset] = Slot(page: page, hash: ref.hash, wasUsed: true)
            return
        }
        used += cost(page)
        slots[ref.offset] = Slot(page: page, hash: ref.hash, wasUsed: true)
        ring.append(ref.offset)
        while used > capacity, ring.count > 1 { evictOne() }
    }

    mutating func insertIfRoom(_ page: Page, _ ref: ObjectRef) {
        if used + cost(page) <= capacity { insert(page, ref) }
    }

    private mutating func evictOne() {
        while true {
            if hand >= ring.count { hand = 0 }
            let offset = ring[hand]
            if slots[offset]?.wasUsed == true {
                slots[offset]?.wasUsed = false
                hand += 1
                continue
            }
            if let slot = slots.removeValue(forKey: offset) { used -= cost(slot.page) }
            ring[hand] = ring[ring.count - 1]
            ring.removeLast()
            return
        }
    }

    mutating func removeAll() { self = PageCache(capacity: capacity) }

    /// Bytes, layout and a share of the tables.
    private func cost(_ page: Page) -> Int { page.bytes.count + page.count * 8 + 160 }
}
