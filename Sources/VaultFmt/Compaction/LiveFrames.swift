internal import VaultBytes
internal import VaultStore

/// Counts each frame reachable from a tree once (section 5.6). It reads all pages and pasts, but no secrets.
struct LiveFrames {
    private let source: PageSource
    private let check: EntryCheck
    private let pastKey: SecretBox
    private var seen: Set<UInt64> = []
    /// The total length of the frames.
    private(set) var bytes: UInt64 = 0

    init(_ source: PageSource, _ reading: some RecordReading) throws(VaultError) {
        self.source = source
        check = reading.entryCheck
        pastKey = try reading.pastKey()
    }

    mutating func count(_ root: Commit.Root?) throws(VaultError) {
        var walk = TreeWalk(root)
        while let next = walk.next() {
            // A page that is referenced twice is visited only once.
            guard add(try next.ref()) else { continue }
            let page = try source.load(next)
            guard page.layout.isLeaf else {
                walk.enter(page, next)
                continue
            }
            for index in 0..<page.count where !page.isForgotten(index) { try countItem(page, index) }
        }
    }

    private mutating func countItem(_ page: Page, _ index: Int) throws(VaultError) {
        let item = try ItemCodec.decode(page, index)
        var past: Past?
        if let frame = item.entry.past {
            try page.check(frame, .past)
            past = try source.past(frame, of: item, try item.listed(in: page), check, key: pastKey.secret)
            add(frame)
        }
        for place in LiveItem(item, past).places { add(place.record) }
    }

    /// Counts a frame; returns false if it was already counted.
    @discardableResult
    private mutating func add(_ ref: ObjectRef) -> Bool {
        guard seen.insert(ref.offset).inserted else { return false }
        bytes += UInt64(ref.length)
        return true
    }
}
