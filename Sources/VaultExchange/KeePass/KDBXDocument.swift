import VaultBytes
import VaultFmt
import VaultLocal

/// Reads the contents of a KDBX file, and passes on each entry as soon as it is complete.
final class KDBXDocument: XMLHandler {
    /// The elements that the reader uses; all others are ignored.
    private enum Element: String {
        case file = "KeePassFile"
        case meta = "Meta"
        case headerHash = "HeaderHash"
        case recycleBinEnabled = "RecycleBinEnabled"
        case recycleBin = "RecycleBinUUID"
        case icon = "Icon"
        case binaries = "Binaries"
        case binary = "Binary"
        case root = "Root"
        case group = "Group"
        case entry = "Entry"
        case history = "History"
        case uuid = "UUID"
        case name = "Name"
        case iconID = "IconID"
        case customIcon = "CustomIconUUID"
        case tags = "Tags"
        case overrideURL = "OverrideURL"
        case autoType = "AutoType"
        case defaultSequence = "DefaultSequence"
        case times = "Times"
        case created = "CreationTime"
        case modified = "LastModificationTime"
        case expiry = "ExpiryTime"
        case expires = "Expires"
        case string = "String"
        case key = "Key"
        case value = "Value"
        case customData = "CustomData"
        case item = "Item"
        case notes = "Notes"
        case groupSequence = "DefaultAutoTypeSequence"
        case other = ""

        /// True if an entry has at most one such element.
        var isSingle: Bool {
            switch self {
            case .uuid, .iconID, .customIcon, .tags, .overrideURL, .defaultSequence, .created, .modified, .expiry,
                .expires:
                true
            default: false
            }
        }
    }

    private struct Open {
        let element: Element
        let isProtected: Bool
    }

    private struct Group {
        var uuid: [UInt8] = []
        var name = ""
        var isInRecycleBin = false
        /// The parts that no item can hold.
        var lost: [String] = []
        /// The memory that the group's name uses.
        var held = 0
    }

    /// A property of a group that no item can hold.
    struct GroupLoss {
        let text: String
        let isInRecycleBin: Bool
    }

    private let take: (consuming KDBXEntry) throws -> Void
    private let binaries: KDBXBinaries
    /// The attachments, by the numbers that entries use to refer to them.
    private var binaryPlaces: [String: KDBXBinaries.Place] = [:]
    private var stream: InnerStream
    private let headerHash: SharedSecret?

    private var path: [Open] = []
    private var groups: [Group] = []
    private var entries: [KDBXEntry] = []
    /// For each open entry, the elements read so far that an entry can have only once.
    private var singles: [Set<Element>] = []
    /// The numbers of keys and values read so far in the open field, attachment or custom data item.
    private var parts: (keys: Int, values: Int) = (0, 0)
    private var groupLosses: [GroupLoss] = []
    private var text = SecretBuffer(capacity: 4096)
    private var protected: SharedSecret?
    private var iconNames: [[UInt8]: String] = [:]
    private var iconID: [UInt8] = []
    private var hasRecycleBin = true
    private var recycleBin: [UInt8] = []
    private var key = ""
    private var value: (secret: SharedSecret, isProtected: Bool)?
    private var reference = ""
    private var inlineBinary: KDBXBinaries.Place?
    private var binaryID = ""
    private var isBinaryCompressed = false
    private var number = 0
    private let mostEntries: Int
    /// The memory used by the open entry with its earlier states, and by the text of the open element.
    private var held = 0
    private var textHeld = 0

    private init(
        _ stream: consuming InnerStream, _ binaries: KDBXBinaries, _ places: [KDBXBinaries.Place],
        headerHash: SharedSecret?, mostEntries: Int, _ take: @escaping (consuming KDBXEntry) throws -> Void
    ) {
        self.mostEntries = mostEntries
        self.stream = stream
        self.binaries = binaries
        self.headerHash = headerHash
        self.take = take
        for (index, place) in places.enumerated() { binaryPlaces[String(index)] = place }
    }

    /// Reads a file's contents.
    ///
    /// `take`: Called with each entry and the file's attachments.
    /// - Returns: The properties of groups that no item can hold.
    @discardableResult
    static func read(
        _ file: borrowing KDBXFile,
        _ take: @escaping (consuming KDBXEntry, KDBXBinaries) throws -> Void
    ) throws -> [GroupLoss] {
        let binaries = KDBXBinaries(most: file.mostAttached)
        let entry = { (entry: consuming KDBXEntry) throws in try take(entry, binaries) }
        guard file.header.major == 4 else {
            let stream = try InnerStream(file.header.innerStream, key: Secret(bytes: file.header.innerKey))
            let hash = file.header.bytes.span.withUnsafeBytes { ForeignHash.sha256($0) }
            let document = KDBXDocument(
                stream, binaries, [], headerHash: SharedSecret(hash), mostEntries: file.mostEntries, entry)
            try XMLReader.read(into: document) { feed in try file.unpacked(feed) }
            return document.groupLosses
        }
        // The data before the XML determines how the XML is read, so the XML reader is created after that data.
        let late = LateHandler()
        let mostEntries = file.mostEntries
        var inner = InnerHeaderReader(binaries)
        try XMLReader.read(into: late) { feed in
            try file.unpacked { chunk in
                let rest = try inner.take(chunk)
                guard inner.isComplete else { return }
                if late.handler == nil {
                    let stream = try InnerStream(inner.stream, key: inner.key)
                    late.handler = KDBXDocument(
                        stream, binaries, inner.list, headerHash: nil, mostEntries: mostEntries, entry)
                }
                if !rest.isEmpty { try feed(rest) }
            }
            guard inner.isComplete else {
                throw ExchangeError.damaged("the contents", "the inner header is truncated")
            }
        }
        return late.handler?.groupLosses ?? []
    }

    private final class LateHandler: XMLHandler {
        var handler: KDBXDocument?
        func start(_ name: String, _ attributes: XMLAttributes) throws {
            try handler?.start(name, attributes)
        }
        func text(_ bytes: UnsafeRawBufferPointer) throws { try handler?.text(bytes) }
        func end() throws { try handler?.end() }
    }

    // MARK: elements

    /// Returns whether such an element can contain entries. No program puts entries outside all groups, but an entry in
    /// such a place would not be lost.
    private static func holdsEntries(_ element: Element) -> Bool { [.group, .root, .history].contains(element) }

    private func parent(_ depth: Int = 1) -> Element? {
        path.count > depth ? path[path.count - 1 - depth].element : nil
    }

    func start(_ name: String, _ attributes: XMLAttributes) throws {
        if path.isEmpty, name != Element.file.rawValue {
            throw ExchangeError(.damaged, "this is not a KeePass document")
        }
        let element = Element(rawValue: name) ?? .other
        path.append(Open(element: element, isProtected: attributes["Protected"] == "True"))
        removeText()
        switch element {
        case .group where parent() == .root || parent() == .group:
            groups.append(Group(isInRecycleBin: groups.last?.isInRecycleBin ?? false))
        case .entry where parent().map(Self.holdsEntries) ?? false:
            try hold(0)
            entries.append(KDBXEntry())
            singles.append([])
        case .string, .item: (key, value, parts) = ("", nil, (0, 0))
        case .binary where parent() == .binaries:
            binaryID = attributes["ID"] ?? ""
            isBinaryCompressed = attributes["Compressed"] == "True"
        case .binary: (key, reference, inlineBinary, parts) = ("", "", nil, (0, 0))
        case .value where parent() == .binary:
            (reference, inlineBinary) = (attributes["Ref"] ?? "", nil)
            isBinaryCompressed = attributes["Compressed"] == "True"
        case .other where parent() == .entry && !Self.unused.contains(name):
            try problem("the element \(TerminalText.quoted(String(name.prefix(100)))) is unknown")
        case .icon: iconID = []
        default: break
        }
    }

    /// The elements of an entry that the documentation names as not imported.
    private static let unused: Set<String> = [
        "ForegroundColor", "BackgroundColor", "QualityCheck", "PreviousParentGroup",
    ]

    func text(_ bytes: UnsafeRawBufferPointer) throws {
        // The text of an attachment is counted when it is decoded.
        let isAttachment = path.last?.element == .binary || path.last?.element == .value && parent() == .binary
        if !isAttachment {
            try binaries.memory.take(bytes.count)
            textHeld += bytes.count
        }
        text.append(bytes)
    }

    private func removeText() {
        text.removeAll()
        binaries.memory.release(textHeld)
        textHeld = 0
    }

    /// Counts a part of the open entry.
    private func hold(_ count: Int) throws {
        try binaries.memory.take(count + KDBXMemory.head)
        held += count + KDBXMemory.head
    }

    func end() throws {
        guard let open = path.last else { return }
        protected = open.isProtected ? SharedSecret(try unprotected()) : nil
        try end(open)
        path.removeLast()
        removeText()
    }

    private func end(_ open: Open) throws {
        try note(open.element)
        switch (open.element, parent()) {
        case (.headerHash, .meta): try checkHeader()
        case (.recycleBinEnabled, .meta): hasRecycleBin = plainText() != "False"
        case (.recycleBin, .meta): recycleBin = identifier()
        case (.uuid, .icon): iconID = identifier()
        case (.name, .icon):
            try binaries.memory.take(text.count + KDBXMemory.head)
            iconNames[iconID] = plainText()
        case (.binary, .binaries):
            try binaries.memory.take(KDBXMemory.head)
            binaryPlaces[binaryID] = try storedBinary()
        case (.value, .binary) where parent(2) == .entry && reference.isEmpty: inlineBinary = try storedBinary()
        case (.uuid, .group) where !groups.isEmpty:
            groups[groups.count - 1].uuid = identifier()
            if hasRecycleBin, !recycleBin.isEmpty, groups.last?.uuid == recycleBin {
                groups[groups.count - 1].isInRecycleBin = true
            }
        case (.name, .group):
            guard !groups.isEmpty else { return }
            try binaries.memory.take(text.count)
            groups[groups.count - 1].held += text.count
            groups[groups.count - 1].name = plainText()
        case (.notes, .group), (.tags, .group), (.groupSequence, .group): try lose(open.element)
        case (.item, .customData) where parent(2) == .group: try loseCustomData()
        case (.expires, .times) where parent(2) == .group: if plainText() == "True" { try lose(.expiry) }
        case (.group, .root), (.group, .group): try endGroup()
        case (.entry, .group), (.entry, .root), (.entry, .history): try endEntry()
        case (_, .entry):
            // Tags and similar texts have a few bytes unless the file is malicious; values have already been counted.
            try hold(text.count)
            try endField(open.element)
        case (_, .times) where parent(2) == .entry: try endTime(open.element)
        case (.defaultSequence, .autoType) where parent(2) == .entry: change { $0.autoType = plainText() }
        case (.key, .string), (.key, .item), (.key, .binary): key = plainText()
        case (.value, .string), (.value, .item):
            try hold(text.count)
            value = (protected ?? SharedSecret(text.secret()), open.isProtected)
        case (.item, .customData) where parent(2) == .entry:
            guard let value, value.secret.text != nil else {
                return try problem("an item of its custom data is not text")
            }
            change { $0.customData.append((key, value.secret.text ?? "")) }
        default: break
        }
    }

    /// Handles the end of an element directly inside an entry.
    private func endField(_ element: Element) throws {
        switch element {
        case .uuid: change { $0.uuid = identifier() }
        case .iconID:
            let text = plainText()
            if Int(text) == nil, !text.isEmpty { try problem("the number of its icon cannot be read") }
            change { $0.icon = Int(text) ?? 0 }
        case .customIcon:
            let id = identifier()
            if id.isEmpty, !text.isEmpty { try problem("the identifier of its icon cannot be read") }
            if id.contains(where: { $0 != 0 }) { change { $0.customIcon = iconNames[id] ?? Hex.encode(id) } }
        case .tags: change { $0.tags = plainText() }
        case .overrideURL: change { $0.overrideURL = plainText() }
        case .string:
            guard let value else {
                return try key.isEmpty ? () : problem("the field \(quotedKey) has no value")
            }
            change { $0.strings.append(KDBXString(name: key, value: value.secret, isProtected: value.isProtected)) }
        case .binary:
            // An attachment stored in the entry itself has no reference.
            let name = key
            if let place = reference.isEmpty ? inlineBinary : binaryPlaces[reference] {
                change { $0.binaries.append((name, place)) }
            } else {
                try problem("the file has no contents for the attachment \(quotedKey)")
            }
        default: break
        }
    }

    private func endTime(_ element: Element) throws {
        switch element {
        case .created:
            let time = time()
            let isBad = time == nil && !text.isEmpty
            change { ($0.created, $0.hasBadCreation) = (time, isBad) }
        case .modified:
            let time = time()
            let isBad = time == nil && !text.isEmpty
            change { ($0.modified, $0.hasBadModification) = (time, isBad) }
        // Programs also write an expiry time for entries that do not expire.
        case .expiry: change { $0.expiry = time() }
        case .expires:
            let text = plainText()
            if !["True", "False", ""].contains(text) { try problem("its expiry flag cannot be read") }
            change { $0.expires = text == "True" }
        default: break
        }
    }

    /// The last key, for messages.
    private var quotedKey: String { TerminalText.quoted(String(key.prefix(100))) }

    /// Records that a part of the current entry could not be read.
    private func problem(_ what: String) throws {
        try hold(what.utf8.count)
        change { $0.problems.append(what) }
    }

    /// Records that an element was read. If the element duplicates an earlier one, the earlier element is reported as
    /// omitted.
    private func note(_ element: Element) throws {
        guard !entries.isEmpty else { return }
        if element.isSingle, isInEntry, !singles[singles.count - 1].insert(element).inserted {
            try problem("the first \(element.rawValue), because it occurs twice")
        }
        switch (element, parent()) {
        case (.key, .string), (.key, .item), (.key, .binary): parts.keys += 1
        case (.value, .string), (.value, .item), (.value, .binary): parts.values += 1
        case (.string, .entry), (.binary, .entry), (.item, .customData):
            if parts.keys > 1 || parts.values > 1 {
                try problem("the first key or value of \(quotedKey), because it occurs twice")
            }
        default: break
        }
    }

    /// True if the open element belongs to an entry itself, to its times, or to its auto-type settings.
    private var isInEntry: Bool {
        parent() == .entry || parent(2) == .entry && (parent() == .times || parent() == .autoType)
    }

    private func change<E: Error>(_ body: (inout KDBXEntry) throws(E) -> Void) throws(E) {
        guard !entries.isEmpty else { return }
        try body(&entries[entries.count - 1])
    }

    /// Records a property of a group that no item can hold.
    private func lose(_ element: Element) throws {
        guard !groups.isEmpty, !text.isEmpty else { return }
        let what =
            switch element {
            case .notes: "the notes"
            case .tags: "the tags"
            case .groupSequence: "the auto-type sequence"
            default: "the expiry time"
            }
        try binaries.memory.take(KDBXMemory.head)
        groups[groups.count - 1].lost.append(what)
    }

    /// Records that another program's data about a group is lost. The time at which the data was last changed, which
    /// programs store with it, is ignored.
    private func loseCustomData() throws {
        guard !groups.isEmpty, key != KDBX.changeOfCustomData, !key.hasPrefix(KDBX.ownPrefix) else { return }
        try binaries.memory.take(KDBXMemory.head)
        groups[groups.count - 1].lost.append("the custom data \(quotedKey)")
    }

    private func endGroup() throws {
        guard let group = groups.last else { return }
        if !group.lost.isEmpty, groupLosses.count < Self.mostGroupLosses {
            let path = FolderPath.text(groups.count == 1 ? [group.name] : groups.dropFirst().map(\.name))
            try binaries.memory.take(KDBXMemory.head + path.utf8.count)
            groupLosses.append(
                GroupLoss(
                    text: "\(group.lost.joined(separator: ", ")) of the group \(TerminalText.quoted(path))",
                    isInRecycleBin: group.isInRecycleBin))
        }
        groups.removeLast()
        binaries.memory.release(group.held)
    }

    /// The maximum number of groups whose losses are named.
    private static let mostGroupLosses = 1000

    private func endEntry() throws {
        guard var entry = entries.popLast() else { return }
        singles.removeLast()
        guard entries.isEmpty else {
            if !entry.history.isEmpty { entry.problems.append("it has earlier states of its own") }
            return change { $0.history.append(entry) }
        }
        number += 1
        guard number <= mostEntries else {
            throw ExchangeError(
                .overLimit,
                "it has more than \(mostEntries) entries, too many for a file of its size",
                .allowMemory)
        }
        entry.number = number
        entry.folder = groups.dropFirst().map(\.name)
        entry.isInRecycleBin = groups.last?.isInRecycleBin ?? false
        entry.size = held
        try take(entry)
        binaries.memory.release(held)
        held = 0
    }

    // MARK: values

    private func plainText() -> String {
        if let protected { return protected.text ?? "" }
        return text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func identifier() -> [UInt8] {
        text.withUnsafeBytes { decodedBase64($0) }?.withUnsafeBytes { Array($0) } ?? []
    }

    private func unprotected() throws -> Secret {
        guard var value = text.withUnsafeBytes({ decodedBase64($0) }) else {
            throw ExchangeError(.damaged, "a protected value is not Base64")
        }
        try stream.apply(&value)
        return value
    }

    /// Returns milliseconds since 1970, or nil for an empty or invalid time.
    private func time() -> Int64? {
        let written = plainText()
        if written.contains("-") { return KDBXTime.milliseconds(written) }
        let bytes = identifier()
        guard bytes.count == 8 else { return nil }
        let seconds = Int64(bitPattern: bytes.littleEndian)
        let (since1970, overflow) = seconds.subtractingReportingOverflow(KDBX.secondsBefore1970)
        let (milliseconds, isTooLarge) = since1970.multipliedReportingOverflow(by: 1000)
        guard !overflow, !isTooLarge, abs(since1970) < 1 << 48 else { return nil }
        return milliseconds
    }

    /// Version 3 does not authenticate its header in any other way.
    private func checkHeader() throws {
        guard let headerHash, !text.isEmpty else { return }
        guard let hash = text.withUnsafeBytes({ decodedBase64($0) }), hash.equals(headerHash.secret) else {
            throw ExchangeError(.damaged, "the header does not match its hash: it was changed")
        }
    }

    /// Stores an attachment from a version 3 file.
    private func storedBinary() throws -> KDBXBinaries.Place {
        let value: Secret
        if let protected {
            value = protected.secret.copy()
        } else {
            guard let decoded = text.withUnsafeBytes({ decodedBase64($0) }) else {
                throw ExchangeError(.damaged, "an attachment is not Base64")
            }
            value = decoded
        }
        binaries.begin()
        // KeePass writes an empty attachment without any compressed data, although it marks the attachment as
        // compressed.
        if isBinaryCompressed, value.count > 0 {
            try ForeignLibrary.zlib.load()
            var inflater = try Inflater()
            try value.withUnsafeBytes { bytes in
                try inflater.unpack(bytes, "an attachment") { chunk in try binaries.append(chunk) }
            }
            guard inflater.isAtEnd else { throw ExchangeError(.damaged, "an attachment is truncated") }
        } else {
            try value.withUnsafeBytes { try binaries.append($0) }
        }
        return binaries.end()
    }
}
