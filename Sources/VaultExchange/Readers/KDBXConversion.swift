import VaultBytes
import VaultFmt

/// Converts a KeePass entry to the common form.
struct KDBXConversion {
    private let source: KDBXEntry
    private let binaries: KDBXBinaries
    private let attachments = Attachments()

    /// The attachments copied so far, which are kept because earlier states share most of them.
    private final class Attachments {
        var copied: [KDBXBinaries.Place: SharedSecret] = [:]
    }

    init(_ entry: KDBXEntry, _ binaries: KDBXBinaries) {
        source = entry
        self.binaries = binaries
    }

    func entry() -> ImportedEntry {
        var entry = state(source, isEarlier: false)
        var states = source.history.map { state($0, isEarlier: true) }
        for index in states.indices {
            for loss in states[index].losses { entry.lose("in an earlier state, \(loss)") }
            let next = index + 1 < states.count ? states[index + 1] : entry
            let replaced = source.history[index].own("replaced").flatMap { Int64($0) }
            states[index].folder = entry.folder
            entry.history.append(
                ImportedEntry.Earlier(
                    entry: states[index], replaced: replaced ?? next.modified ?? states[index].modified ?? 0))
        }
        return entry
    }

    /// Converts one state of the entry, without its history.
    private func state(_ source: KDBXEntry, isEarlier: Bool) -> ImportedEntry {
        var entry = ImportedEntry(place: "entry \(self.source.number)")
        if self.source.uuid.count == 16 { entry.origin = "keepass:" + Hex.encode(self.source.uuid) }
        entry.title = source.text(KDBXString.title)
        for problem in source.problems { entry.lose(problem) }
        entry.userName = source.text(KDBXString.userName)
        entry.password = source[KDBXString.password]
        if let notes = source[KDBXString.notes], notes.count > 0 { entry.notes = notes }
        // KeePassXC and Keepass2Android use these names for further addresses.
        let further = source.strings.filter { $0.name.hasPrefix(Self.furtherAddress) }
        let addresses = [source.text(KDBXString.url)] + further.map { $0.value.text ?? "" }
        entry.addresses = addresses.filter { !$0.isEmpty }
        entry.folder = self.source.folder
        entry.tags = KDBXTags.list(source.tags)
        entry.created = source.own("created").flatMap { Int64($0) } ?? source.created
        entry.modified = Self.exactly(source.own("modified"), source.modified)
        // Our export records times that KeePass's format cannot express.
        if source.hasBadCreation, entry.created == nil { entry.lose("its creation time cannot be read") }
        if source.hasBadModification, entry.modified == nil {
            entry.lose("its modification time cannot be read")
        }
        if source.expires {
            entry.expires = source.expiry.flatMap { Timestamp.range.contains($0) ? $0 : nil }
            if entry.expires == nil { entry.lose("it expires, but its expiry time cannot be read") }
        }
        let icon = source.customIcon.isEmpty ? (source.icon == 0 ? "" : String(source.icon)) : source.customIcon
        for (name, value) in [
            (AttributeName.icon, icon), ("override-url", source.overrideURL), (AttributeName.autoType, source.autoType),
        ] where !value.isEmpty { entry.properties.append((name, value)) }
        let otp = OneTimePassword.found(in: source)
        entry.oneTimePassword = otp?.address
        if otp == nil { entry.codeProblem = OneTimePassword.problem(in: source) }
        putFields(of: source, used: Set(Self.standard + further.map(\.name) + (otp?.fields ?? [])), &entry)
        for (name, place) in source.binaries {
            let value = attachments.copied[place] ?? SharedSecret(binaries.secret(place))
            attachments.copied[place] = value
            entry.attachments.append((name, value))
        }
        entry.exact = KDBXOwnData.item(in: source, as: entry, binaries, isEarlier: isEarlier)
        if entry.exact == nil, source.own(KDBXPlacement.Key.item) != nil {
            entry.lose("its vaultfmt data is damaged; imported like another program's entry")
        }
        return entry
    }

    /// Adds the fields that have no meaning here, including those whose name the entry has already used, and other
    /// programs' custom data.
    private func putFields(of source: KDBXEntry, used: Set<String>, _ entry: inout ImportedEntry) {
        var seen: Set<String> = []
        for string in source.strings {
            let isFirst = seen.insert(string.name).inserted
            let isSecret = Self.secret.contains(string.name) || OneTimePassword.isField(string.name)
            let isAddress = string.name.hasPrefix(Self.furtherAddress)
            // Titles, names and addresses must be text; other values are invalid.
            let isRead = Self.secret.contains(string.name) || string.value.text != nil
            guard !(used.contains(string.name) && isRead && (isFirst || isAddress)) else { continue }
            entry.fields.append(
                ImportedEntry.Field(
                    name: string.name, value: string.value,
                    isConcealed: string.isProtected || isSecret || SecretName.isSecret(string.name),
                    isFurther: !isFirst))
        }
        for (key, value) in source.customData
        where !key.hasPrefix(KDBX.ownPrefix) && key != KDBX.changeOfCustomData {
            entry.fields.append(
                ImportedEntry.Field(name: key, value: SharedSecret(text: value), isConcealed: true, isFurther: true))
        }
    }

    private static let furtherAddress = KDBXString.furtherAddress
    private static let secret = [KDBXString.password, KDBXString.notes]
    private static let standard = [
        KDBXString.title, KDBXString.userName, KDBXString.password, KDBXString.url, KDBXString.notes,
    ]

    /// Returns whether an entry, or a state of an entry, that our export wrote has been changed since.
    static func isChanged(_ source: KDBXEntry) -> Bool {
        guard let noted = source.own(KDBXPlacement.Key.modified).flatMap({ Int64($0) }) else { return true }
        return exactly(String(noted), source.modified) != noted
    }

    /// Returns the time in milliseconds recorded by our export, unless the entry has been changed since.
    private static func exactly(_ noted: String?, _ written: Int64?) -> Int64? {
        guard let noted = noted.flatMap({ Int64($0) }) else { return written }
        guard let written else { return noted }
        return KDBXTime.seconds(noted) == KDBXTime.seconds(written) ? noted : written
    }
}
