internal import VaultBytes
internal import VaultStore

/// Counts the frames that a tree reaches, each once (section 5.6); reads all pages and earlier values, and no secret.
struct LiveFrames {
    private let source: PageSource
    private let check: EntryCheck
    private var seen: Set<UInt64> = []
    /// How long they are together.
    private(set) var bytes: UInt64 = 0

    init(_ source: PageSource, _ check: EntryCheck) {
        self.source = source
        self.check = check
    }

    mutating func count(_ root: Commit.Root?) throws(VaultError) {
        if let root { try count(root.ref, root.level) }
    }

    private mutating func count(_ ref: ObjectRef, _ level: UInt8) throws(VaultError) {
        let page = try source.load(ref, level: level)
        add(ref)
        for index in 0..<page.count {
            if level > 0 {
                try count(try page.child(index), level - 1)
            } else if !page.isTombstone(index) {
                try countItem(page, index)
            }
        }
    }

    private mutating func countItem(_ page: Page, _ index: Int) throws(VaultError) {
        let item = try ItemCodec.decode(page, index)
        var versions: Versions?
        if let frame = item.entry.versions?.frame {
            try page.check(frame, .versions)
            versions = try source.versions(frame, of: item, check)
            add(frame)
        }
        for place in LiveItem(item, versions).places { add(place.ref) }
    }

    private mutating func add(_ ref: ObjectRef) {
        if seen.insert(ref.offset).inserted { bytes += UInt64(ref.length) }
    }
}
