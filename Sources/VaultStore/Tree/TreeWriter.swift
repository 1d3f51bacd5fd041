package import VaultBytes
package import VaultCrypto

/// Changes to the tree: keys in strictly ascending order, each with its new value, or nil for a removal.
package protocol TreeChanges {
    var count: Int { get }
    func key(_ index: Int) -> [UInt8]
    func value(_ index: Int) -> [UInt8]?
}

/// Applies changes to a tree by writing new pages along the paths to them; the old pages are not overwritten.
package struct TreeWriter: ~Copyable {
    /// A page of the new tree: it is already in the file, or it has not been sealed yet.
    private enum Output {
        case written(ObjectRef)
        case open(PageBuilder)
    }

    private struct Child {
        let key: [UInt8]
        var output: Output
    }

    private let source: PageSource
    private let appender: Appender
    private let key: Secret
    package private(set) var bytesAdded: UInt64 = 0
    package private(set) var bytesRemoved: UInt64 = 0
    /// True if the pages written are likely to be read again soon.
    private var cachesPages = false
    private static let fewChanges = 16

    package init(source: PageSource, appender: Appender, indexKey: consuming Secret) {
        self.source = source
        self.appender = appender
        key = indexKey
    }

    /// Applies the changes and returns the new root.
    package mutating func apply(_ changes: some TreeChanges, to root: Commit.Root?) throws(VaultError) -> Commit.Root? {
        guard changes.count > 0 else { return root }
        cachesPages = changes.count <= Self.fewChanges
        if let root, changes.count == 1, let value = changes.value(0),
            let ref = try replaceValue(root, changes.key(0), value)
        {
            return Commit.Root(ref: ref, level: root.level)
        }
        var level = root?.level ?? 0
        var children: [Child]
        if let root {
            children = try update(root.ref, level, key: [], changes, 0..<changes.count, isLast: true)
        } else {
            children = try merge(nil, key: [], changes, 0..<changes.count, isLast: true)
        }
        while children.count > 1 {
            level = try TreeLevel.checked(Int(level) + 1)
            children = try group(children, level: level, isAppending: false)
        }
        guard let top = children.first else { return nil }
        return try collapse(top.output, level)
    }

    /// Replaces a root that has only one child with that child.
    private mutating func collapse(_ top: Output, _ level: UInt8) throws(VaultError) -> Commit.Root? {
        guard case .open(let page) = top, page.level > 0, page.count == 1, let only = page.entries.first else {
            return Commit.Root(ref: try seal(top), level: level)
        }
        var ref = try decodedChild(only.value)
        var level = level - 1
        while level > 0 {
            let child = try read(ref, level)
            guard child.count == 1 else { break }
            bytesRemoved += UInt64(ref.length)
            ref = try child.child(0)
            level -= 1
        }
        return Commit.Root(ref: ref, level: level)
    }

    private func decodedChild(_ value: [UInt8]) throws(VaultError) -> ObjectRef {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        return try decoding { () throws(FormatError) in try ObjectRef(value.span, &cursor) }
    }

    /// Returns a page of the old tree, or one that was just sealed and may not be in the file yet.
    private func read(_ ref: ObjectRef, _ level: UInt8) throws(VaultError) -> Page {
        guard ref.offset >= appender.start else { return try source.page(ref, level: level) }
        return try source.decode(try appender.frame(ref), ref, level: level)
    }

    private mutating func seal(_ output: Output) throws(VaultError) -> ObjectRef {
        switch output {
        case .written(let ref): return ref
        case .open(let page):
            let body = page.encode()
            let ref = try appender.append(body, as: .page, .page, key: key)
            bytesAdded += UInt64(ref.length)
            if cachesPages {
                let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: ref.offset) }
                source.cache(source.written(body, layout, at: ref.offset), ref)
            }
            return ref
        }
    }

    // MARK: replacing one value in one leaf

    /// A page on the path to a key, and the entry that leads to the next page.
    private struct Step {
        let page: Page
        let ref: ObjectRef
        let index: Int
    }

    /// Rewrites the pages on the path to a key, changing only the key's value and the references. Returns nil and
    /// changes nothing if the key is new or a page would have to be split or merged.
    private mutating func replaceValue(_ root: Commit.Root, _ key: [UInt8], _ value: [UInt8]) throws(VaultError)
        -> ObjectRef?
    {
        guard let path = try path(from: root, to: key), hasRoom(path, for: value.count) else { return nil }
        var value = value
        var ref = root.ref
        for step in path.reversed() {
            ref = try write(step.page, step.ref, step.index, value)
            value = PageBuilder.child(ref)
        }
        return ref
    }

    /// Returns the pages from the root to the leaf that contains the key, or nil if no leaf contains it.
    private func path(from root: Commit.Root, to key: [UInt8]) throws(VaultError) -> [Step]? {
        var path: [Step] = []
        path.reserveCapacity(Int(root.level) + 1)
        var page = try source.page(root.ref, level: root.level)
        var ref = root.ref
        while !page.layout.isLeaf {
            let index = page.childIndex(for: key)
            path.append(Step(page: page, ref: ref, index: index))
            ref = try page.child(index)
            page = try source.page(ref, level: page.layout.level - 1)
        }
        let (index, isEqual) = page.lowerBound(key)
        guard isEqual else { return nil }
        path.append(Step(page: page, ref: ref, index: index))
        return path
    }

    /// Returns whether the path can be rewritten with a value of this length without splitting or merging a page. The
    /// answer must be exact before anything is written, because pages are written one at a time. The root has no
    /// neighbor to merge with.
    private func hasRoom(_ path: [Step], for size: Int) -> Bool {
        var size = size
        var position = appender.position
        for (depth, step) in path.enumerated().reversed() {
            let length = step.page.layout.frameLength(replacing: step.index, withBytes: size)
            guard length <= Format.pageTarget, depth == 0 || length > Format.pageTarget / 4 else { return false }
            size = ObjectRef.size(offset: position, length: length)
            position += UInt64(length)
        }
        return true
    }

    private mutating func write(_ page: Page, _ ref: ObjectRef, _ index: Int, _ value: [UInt8]) throws(VaultError)
        -> ObjectRef
    {
        let new = page.replacing(index, with: value, at: appender.position)
        let newRef = try appender.append(new.bytes, as: .page, .page, key: key)
        source.cache(new, newRef)
        bytesAdded += UInt64(newRef.length)
        bytesRemoved += UInt64(ref.length)
        return newRef
    }

    // MARK: one page and its descendants

    private mutating func update(
        _ ref: ObjectRef, _ level: UInt8, key: [UInt8], _ changes: some TreeChanges, _ range: Range<Int>, isLast: Bool
    ) throws(VaultError) -> [Child] {
        let page = try source.page(ref, level: level)
        bytesRemoved += UInt64(ref.length)
        if page.layout.isLeaf { return try merge(page, key: key, changes, range, isLast: isLast) }
        var children: [Child] = []
        var from = range.lowerBound
        for index in 0..<page.count {
            let childKey = index == 0 ? key : page.key(index)
            let isLastChild = index + 1 == page.count
            let stop =
                isLastChild ? range.upperBound : firstIndex(of: page.key(index + 1), changes, from..<range.upperBound)
            let child = try page.child(index)
            if from == stop {
                children.append(Child(key: childKey, output: .written(child)))
            } else {
                children += try update(
                    child, level - 1, key: childKey, changes, from..<stop, isLast: isLast && isLastChild)
            }
            from = stop
        }
        let isAppending = isLast && children.count > page.count
        return try group(try joinSmall(children, level: level - 1), level: level, isAppending: isAppending)
    }

    /// Returns the index of the first change whose key is not less than `key`.
    private func firstIndex(of key: [UInt8], _ changes: some TreeChanges, _ range: Range<Int>) -> Int {
        var low = range.lowerBound
        var high = range.upperBound
        while low < high {
            let middle = (low + high) / 2
            if ByteOrder.isLess(changes.key(middle), key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Merges a leaf's entries with the changes in its range into new leaves.
    private mutating func merge(
        _ page: Page?, key: [UInt8], _ changes: some TreeChanges, _ range: Range<Int>, isLast: Bool
    ) throws(VaultError) -> [Child] {
        var out = Pages(level: 0, key: key)
        var index = 0
        let count = page?.count ?? 0
        var wasAppended = false
        for change in range {
            let changeKey = changes.key(change)
            wasAppended = true
            while index < count, let page {
                let order = page.compareKey(index, changeKey)
                if order > 0 {
                    wasAppended = false
                    break
                }
                if order < 0 { try add(page.key(index), page.value(index), &out) }
                index += 1
                if order == 0 { break }
            }
            if let value = changes.value(change) { try add(changeKey, value, &out) }
        }
        while index < count, let page {
            try add(page.key(index), page.value(index), &out)
            index += 1
        }
        return out.finish(isAppending: isLast && wasAppended)
    }

    /// Groups child pages into new inner pages.
    private mutating func group(_ children: [Child], level: UInt8, isAppending: Bool) throws(VaultError) -> [Child] {
        var out = Pages(level: level, key: children.first?.key ?? [])
        for child in children { try add(child.key, PageBuilder.child(try seal(child.output)), &out) }
        return out.finish(isAppending: isAppending)
    }

    private mutating func add(_ key: [UInt8], _ value: [UInt8], _ out: inout Pages) throws(VaultError) {
        if let (separator, page) = out.paginator.append(key, value) {
            out.append(separator, .written(try seal(.open(page))))
        }
    }

    /// The pages that replace one page.
    private struct Pages {
        var paginator: Paginator
        private var children: [Child] = []
        private let key: [UInt8]

        init(level: UInt8, key: [UInt8]) {
            paginator = Paginator(level: level)
            self.key = key
        }

        /// The first page keeps its separator in the parent.
        mutating func append(_ separator: [UInt8], _ output: Output) {
            children.append(Child(key: children.isEmpty ? key : separator, output: output))
        }

        mutating func finish(isAppending: Bool) -> [Child] {
            paginator.isAppending = isAppending
            for (separator, page) in paginator.finish() { append(separator, .open(page)) }
            return children
        }
    }

    // MARK: small pages

    /// Merges with a neighbor each page that removals have left nearly empty.
    private mutating func joinSmall(_ children: [Child], level: UInt8) throws(VaultError) -> [Child] {
        var out: [Child] = []
        for child in children {
            if let last = out.last, isSmall(last.output) || isSmall(child.output),
                let joined = try joined(last.output, child.output, separator: child.key, level)
            {
                out[out.count - 1].output = .open(joined)
            } else {
                out.append(child)
            }
        }
        return out
    }

    private func isSmall(_ output: Output) -> Bool {
        guard case .open(let page) = output else { return false }
        return page.frameLength <= Format.pageTarget / 4
    }

    private mutating func joined(_ left: Output, _ right: Output, separator: [UInt8], _ level: UInt8) throws(VaultError)
        -> PageBuilder?
    {
        var page = try entries(left, level)
        for (index, entry) in (try entries(right, level)).entries.enumerated() {
            // The first child of an inner page receives the key that separated the two pages.
            let key = level > 0 && index == 0 ? separator : entry.key
            guard page.accepts(key, entry.value) else { return nil }
            page.append(key, entry.value)
        }
        for output in [left, right] {
            if case .written(let ref) = output { bytesRemoved += UInt64(ref.length) }
        }
        return page
    }

    private func entries(_ output: Output, _ level: UInt8) throws(VaultError) -> PageBuilder {
        switch output {
        case .open(let page): return page
        case .written(let ref):
            let page = try read(ref, level)
            var builder = PageBuilder(level: level)
            for index in 0..<page.count { builder.append(page.key(index), page.value(index)) }
            return builder
        }
    }
}
