package import VaultFmt
import VaultLocal

/// Writes items as KDBX 4.1 (KeePass 2, KeePassXC). Values that these programs understand go into their own fields, and
/// each entry's custom data records where each attribute is stored, so that importing the file recreates equal items.
package struct KDBXExport: ~Copyable {
    private let vault: Vault
    private let writer: KDBXWriter
    /// The items, grouped by folder path, each with the numbers of the attachments of all its states, oldest first.
    private var folders: [String: [(key: ItemKey, binaries: [Int])]] = [:]
    private var uuids: Set<[UInt8]> = []
    /// Earlier values that can be opened only on another device, and damaged values.
    package private(set) var leftOut: LeftOutValues

    /// `key`: the key that opens the file. `warn`: called with one line for each item whose values are omitted.
    package init(
        _ output: Output, of vault: Vault, key: borrowing KDBXKey, cost: KDFCost,
        warn: @escaping (String) -> Void
    ) throws {
        self.vault = vault
        leftOut = LeftOutValues(report: warn)
        let argon2 = KDBXArgon2(
            isID: true, version: 0x13, passes: UInt64(cost.passes), memoryBytes: UInt64(cost.memoryKiB) << 10,
            lanes: UInt64(cost.lanes), salt: .random(32))
        writer = try KDBXWriter(output, key: key, kdf: .argon2(argon2), limits: ReaderLimits())
    }

    /// Prepares an item and writes its attachments, which come first in the file. Must be called once for each item.
    ///
    /// An attachment that consecutive states have in common is written once: an import limits their total size.
    package mutating func prepare(_ opened: borrowing OpenedItem) throws {
        let item = opened.item
        var numbers: [Int] = []
        var written: [String: (secret: SharedSecret, isProtected: Bool, number: Int)] = [:]
        var refused = 0
        let damaged = DamagedParts(of: item)
        defer {
            leftOut.add(refused, of: item)
            leftOut.add(damaged)
        }
        for state in try states(of: opened, without: damaged, refused: { _ in refused += 1 }) {
            for (name, secret, isProtected) in state.binaries {
                if let last = written[name], last.isProtected == isProtected, last.secret.equals(secret) {
                    numbers.append(last.number)
                    continue
                }
                let number = try writer.add(binary: secret.secret, isProtected: isProtected)
                written[name] = (secret, isProtected, number)
                numbers.append(number)
            }
        }
        folders[KDBXItemState.folder(item.attributes) ?? "", default: []].append((item.key, numbers))
    }

    /// Writes the rest of the file after all items have been prepared.
    ///
    /// `progress`: called for each item.
    package mutating func finish(name: String, progress: (Int) throws -> Void) throws {
        try writer.begin(name: name)
        var root = Folder()
        for path in folders.keys { root.add(FolderPath.names(path), path) }
        var count = 0
        try write(root, path: [], name: name, &count, progress)
        try writer.finish()
    }

    /// The tree of folders.
    private struct Folder {
        var children: [String: Folder] = [:]
        /// The original texts of the `folder` attributes for this folder; some differ from the path that the export
        /// would write.
        var paths: [String] = []

        mutating func add(_ names: [String], _ path: String) {
            guard let name = names.first else { return paths.append(path) }
            children[name, default: Folder()].add(Array(names.dropFirst()), path)
        }
    }

    private mutating func write(
        _ folder: Folder, path: [String], name: String, _ count: inout Int, _ progress: (Int) throws -> Void
    ) throws {
        try writer.beginGroup(uuid(group: path), name: KDBXText.isPlain(name) ? name : "folder")
        for text in folder.paths.sorted() {
            for (key, binaries) in folders[text] ?? [] {
                try write(key, path, binaries)
                count += 1
                try progress(count)
            }
        }
        for (name, child) in folder.children.sorted(by: { $0.key < $1.key }) {
            try write(child, path: path + [name], name: name, &count, progress)
        }
        try writer.endGroup()
    }

    private mutating func write(_ key: ItemKey, _ path: [String], _ binaries: [Int]) throws {
        guard let opened = try vault.get(key) else { return }
        // What is left out was reported when the item was prepared.
        var states = try states(of: opened, without: DamagedParts(of: opened.item)) { _ in }
        let uuid = uuid(of: opened.item)
        var numbers = binaries[...]
        for index in states.indices {
            states[index].entry.uuid = uuid
            for binary in states[index].binaries {
                guard let number = numbers.popFirst() else { continue }
                states[index].entry.binaries.append((binary.name, number))
            }
        }
        guard let last = states.popLast() else { return }
        try writer.write(last.entry, history: states.map(\.entry))
    }

    /// Returns the identifier that the entry had in its source or, failing that, the item's own identifier.
    private mutating func uuid(of item: Item) -> [UInt8] {
        let text = item.attributes.string(AttributeName.origin) ?? ""
        let origin = text.hasPrefix("keepass:") ? ItemID(hex: String(text.dropFirst(8))) : nil
        let uuid = Self.bytes(origin ?? item.id)
        return uuids.insert(uuid).inserted ? uuid : Self.bytes(item.id)
    }

    private static func bytes(_ id: ItemID) -> [UInt8] {
        let digits = id.description.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// Returns an identifier that is always the same for the same folder in the same vault.
    private func uuid(group path: [String]) -> [UInt8] {
        let text = vault.id.description + "\n" + FolderPath.text(path)
        return Array(ForeignHash.sha256(Secret(text: text)).withUnsafeBytes { Array($0) }.prefix(16))
    }

    /// Returns the states of an item, oldest first, with the current state last.
    private func states(
        of opened: borrowing OpenedItem, without damaged: DamagedParts, refused: (EarlierValue) -> Void
    ) throws -> [KDBXItemState] {
        let item = opened.item
        let vault = vault
        let userName = TwinName.userName(item.key, item.attributes) ?? ""
        var states: [KDBXItemState] = []
        for state in try EarlierState.all(of: opened, in: vault, without: damaged, refused: refused) {
            states.append(
                try KDBXItemState(
                    key: item.key, userName: userName, accessibility: item.accessibility, secret: state.secret,
                    attributes: state.attributes, created: item.created, modified: state.modified ?? state.replaced,
                    replaced: state.replaced, group: state.group
                ) { _ in nil })
        }
        var attributes = item.attributes
        attributes.stateDate(ofSecretOf: item, lastChange: item.modified)
        states.append(
            try KDBXItemState(
                key: item.key, userName: userName, accessibility: item.accessibility,
                secret: SharedSecret(opened.secret.copy()), attributes: attributes, created: item.created,
                modified: item.modified, replaced: nil
            ) { name in
                try damaged.reading { () throws(VaultError) -> Secret? in try vault.attribute(name, of: item) }
            })
        return states
    }
}

/// Converts one state of an item to an entry, deciding where each attribute goes.
struct KDBXItemState {
    var entry: KDBXNewEntry
    /// The values that become attachments.
    private(set) var binaries: [(name: String, secret: SharedSecret, isProtected: Bool)] = []
    private var placements: [KDBXPlacement] = []
    private var taken: Set<String>
    private let isPresent: Bool

    /// Returns the path of the groups that contain an item, or nil if groups cannot express its folder.
    static func folder(_ attributes: Attributes) -> String? {
        guard let attribute = attributes.attribute(AttributeName.folder),
            attribute.flags.isDisjoint(with: [.sealed, .concealed]),
            let text = attributes.string(AttributeName.folder), isFolder(text)
        else { return nil }
        return text
    }

    private static func isFolder(_ text: String) -> Bool {
        guard KDBXText.isPlain(text), (1...4096).contains(text.utf8.count) else { return false }
        let names = FolderPath.names(text)
        return names.count < 100 && FolderPath.text(names).utf8.elementsEqual(text.utf8)
    }

    /// Names that have a meaning in other programs; only attributes with the same meaning may use them.
    private static let reserved: Set<String> = [
        KDBXString.title, KDBXString.userName, KDBXString.password, KDBXString.url, KDBXString.notes, KDBXString.otp,
        "TOTP Seed", "TOTP Settings",
    ]

    init(
        key: ItemKey, userName: String, accessibility: Accessibility, secret: SharedSecret, attributes: Attributes,
        created: Int64, modified: Int64, replaced: Int64?, group: String? = nil, _ read: (String) throws -> Secret?
    ) throws {
        entry = KDBXNewEntry(uuid: [], created: created, modified: modified)
        taken = Self.reserved
        isPresent = replaced == nil
        var values: [(attribute: Attribute, value: SharedSecret)] = []
        for attribute in attributes.all {
            guard let value = try attribute.secret ?? read(attribute.name) else { continue }
            values.append((attribute, SharedSecret(value)))
        }
        func string(_ name: String, _ text: String, isProtected: Bool = false) {
            let plain = KDBXText.isLiteral(text) ? text : ""
            entry.strings.append(KDBXString(name: name, value: SharedSecret(text: plain), isProtected: isProtected))
        }
        string(KDBXString.userName, userName)
        if secret.withBytes({ KDBXText.isLiteral($0) }) {
            entry.strings.append(KDBXString(name: KDBXString.password, value: secret, isProtected: true))
        } else {
            let name = binary("secret", secret, isProtected: true)
            entry.customData.append((KDBX.ownPrefix + KDBXPlacement.Key.secret, KDBXPlacement.encoded(name)))
        }
        for (attribute, value) in values { place(attribute, value) }
        if !placements.contains(where: { $0.place == .string(KDBXString.title) }) {
            string(KDBXString.title, KDBXNames.title(key))
        }
        if !placements.contains(where: { $0.place == .addresses }) { string(KDBXString.url, KDBXNames.address(key)) }
        if !placements.contains(where: { $0.place == .string(KDBXString.notes) }) { string(KDBXString.notes, "") }
        note(key, accessibility, replaced, group)
    }

    /// Records in the entry's custom data what is needed to restore the item.
    private mutating func note(
        _ key: ItemKey, _ accessibility: Accessibility, _ replaced: Int64?, _ group: String?
    ) {
        func note(_ name: String, _ value: String) { entry.customData.append((KDBX.ownPrefix + name, value)) }
        note(KDBXPlacement.Key.item, KDBXBase64.text(key.bytes))
        note(KDBXPlacement.Key.accessibility, accessibility.name)
        note(KDBXPlacement.Key.created, String(entry.created))
        note(KDBXPlacement.Key.modified, String(entry.modified))
        if let replaced { note(KDBXPlacement.Key.replaced, String(replaced)) }
        if let group, !group.utf8.elementsEqual(key.group.utf8) {
            note(KDBXPlacement.Key.group, KDBXPlacement.encoded(group))
        }
        if !placements.isEmpty { note(KDBXPlacement.Key.attributes, KDBXPlacement.text(placements)) }
    }

    private mutating func place(_ attribute: Attribute, _ value: SharedSecret) {
        let isPlain = value.count > 0 && value.withBytes { KDBXText.isPlain($0) }
        let isLiteral = isPlain && value.withBytes { KDBXText.isLiteral($0) }
        let hasPlace = isLiteral || isPlain && Self.outsideFields.contains(attribute.name)
        let place = (hasPlace ? ownPlace(attribute, value) : nil) ?? generalPlace(attribute, value, isPlain: isLiteral)
        placements.append(KDBXPlacement(name: attribute.name, flags: attribute.flags.rawValue, place: place))
    }

    /// Attributes that are stored outside fields, where references remain unchanged.
    private static let outsideFields: Set<String> = [AttributeName.tags, AttributeName.folder, AttributeName.autoType]

    /// Returns the place where other programs expect an attribute; nil if they expect no such attribute, or if its
    /// value could not be restored exactly from that place.
    private mutating func ownPlace(_ attribute: Attribute, _ value: SharedSecret) -> KDBXPlacement.Place? {
        func string(_ name: String, isProtected: Bool) -> KDBXPlacement.Place {
            entry.strings.append(KDBXString(name: name, value: value, isProtected: isProtected))
            return .string(name)
        }
        let isProtected = attribute.flags.contains(.sealed) || attribute.flags.contains(.concealed)
        switch attribute.name {
        case AttributeName.label: return string(KDBXString.title, isProtected: isProtected)
        case AttributeName.notes: return string(KDBXString.notes, isProtected: isProtected)
        case AttributeName.oneTimePassword where value.withBytes { $0.starts(with: Array("otpauth:".utf8)) }:
            return string(KDBXString.otp, isProtected: isProtected)
        default: break
        }
        guard !isProtected, let text = value.text else { return nil }
        switch attribute.name {
        case AttributeName.address:
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            guard !lines.contains(where: \.isEmpty), lines.count <= 100 else { return nil }
            for (index, line) in lines.enumerated() {
                let name = index == 0 ? KDBXString.url : index == 1 ? "KP2A_URL" : "KP2A_URL_\(index - 1)"
                taken.insert(name)
                entry.strings.append(KDBXString(name: name, value: SharedSecret(text: line), isProtected: false))
            }
            return .addresses
        case AttributeName.tags:
            let tags = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            guard KDBXTags.list(tags.joined(separator: ";")) == tags else { return nil }
            entry.tags = tags
            return .tags
        case AttributeName.folder:
            // Earlier states belong to the same group as the current state.
            guard isPresent, Self.isFolder(text) else { return nil }
            return .folder
        case AttributeName.expires:
            guard let time = KDBXTime.milliseconds(text.replacing(".000Z", with: "Z")), time % 1000 == 0,
                Timestamp.text(time) == text
            else { return nil }
            entry.expiry = time
            return .expiry
        case AttributeName.icon:
            guard let number = Int(text), (1...68).contains(number), String(number) == text else { return nil }
            entry.icon = number
            return .icon
        case AttributeName.autoType:
            entry.autoType = text
            return .autoType
        default: return nil
        }
    }

    private mutating func generalPlace(
        _ attribute: Attribute, _ value: SharedSecret, isPlain: Bool
    ) -> KDBXPlacement.Place {
        guard isPlain, !attribute.flags.contains(.binary), value.count <= 1 << 20 else {
            let prefix = AttributeName.filePrefix
            let name =
                attribute.name.hasPrefix(prefix) ? String(attribute.name.dropFirst(prefix.count)) : attribute.name
            return .binary(binary(name, value, isProtected: attribute.flags.contains(.sealed)))
        }
        let name = free(attribute.name)
        let isProtected = attribute.flags.contains(.sealed) || attribute.flags.contains(.concealed)
        entry.strings.append(KDBXString(name: name, value: value, isProtected: isProtected))
        return .string(name)
    }

    private mutating func binary(_ name: String, _ value: SharedSecret, isProtected: Bool) -> String {
        let name = free(name)
        binaries.append((name, value, isProtected))
        return name
    }

    /// Returns a name for a field or attachment that is unique in this entry.
    private mutating func free(_ name: String) -> String {
        let plain =
            KDBXText.isPlain(name) && name.trimmed.count == name.count && !name.hasPrefix("KP2A_URL")
            && !name.hasPrefix("TimeOtp-") && !name.hasPrefix("HmacOtp-")
        let base = plain && !name.isEmpty ? name : "attribute"
        var free = base
        var number = 2
        while !taken.insert(free).inserted {
            free = "\(base) (\(number))"
            number += 1
        }
        return free
    }
}
