import VaultBytes
import VaultFmt
import VaultLocal

/// Reads KDBX files, versions 3.1, 4.0 and 4.1: KeePass 2, KeePassXC and similar programs.
struct KDBXImport: ~Copyable, EntrySource {
    private let file: KDBXFile
    private let includesRecycleBin: Bool

    /// Returns whether a file begins like KDBX or like the older format of KeePass 1.
    static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
        start.starts(with: KDBX.signature) || start.starts(with: KDBX.signatureOfKeePass1)
    }

    /// Decrypts the file with the key that the factors of `access` provide.
    init(_ reader: consuming SourceReader, _ access: SourceAccess) throws {
        let name = reader.name
        var bytes: [UInt8] = []
        let source = try reader.readAll(limit: KDBX.Limit.file)
        bytes = source.withUnsafeBytes { Array($0) }
        // An unreadable file is refused before any prompt.
        _ = try KDBXHeader(bytes)
        let keyFile = try access.factors.keyFile()
        file = try access.factors.withPassphrase(for: name) { passphrase in
            let key = try KDBXKey(passphrase: passphrase?.copy(), keyFile: keyFile?.copy())
            return try KDBXFile.open(
                bytes, key: key, limits: access.limits.derivation, mostRounds: access.limits.rounds,
                mostAttached: access.limits.memory)
        }
        includesRecycleBin = access.includesRecycleBin
    }

    /// Reads contents that are already decrypted, for tests.
    init(contents: consuming SecretBuffer) throws {
        try ForeignLibrary.gcrypt.load()
        try ForeignLibrary.expat.load()
        let header = KDBXHeader(cipher: .aes256, kdf: .aes(seed: [], rounds: 0), isCompressed: false)
        file = KDBXFile(header: header, contents: contents)
        includesRecycleBin = true
    }

    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws
        -> [Omission]
    {
        try KDBXReading.read(file, includesRecycleBin: includesRecycleBin, take)
    }
}

/// Creates entries from the contents of a KDBX file.
///
/// Entries that refer to fields of other entries are set aside until the end; the file is then read again to find those
/// fields. The whole uncompressed file is therefore never in memory.
enum KDBXReading {
    static func read(
        _ file: borrowing KDBXFile, includesRecycleBin: Bool,
        _ take: (consuming ImportedEntry) throws -> Void
    ) throws -> [Omission] {
        let waiting = WaitingEntries()
        var inBin = OmittedEntries()
        var repeats = KDBXRepeats(attached: file.mostAttached)
        var protectedNames = 0
        func converted(_ entry: KDBXEntry, _ binaries: KDBXBinaries) -> ImportedEntry {
            let converted = KDBXConversion(entry, binaries).entry()
            if entry.hasProtectedName(besides: converted.exact?.placed ?? []) { protectedNames += 1 }
            return converted
        }
        let ofGroups = try withoutActuallyEscaping(take) { take in
            try KDBXDocument.read(file) { entry, binaries in
                guard includesRecycleBin || !entry.isInRecycleBin else {
                    return inBin.add(entry.text(KDBXString.title), "entry \(entry.number)")
                }
                try repeats.take(entry)
                guard !KDBXReference.areIn(entry) else { return try waiting.add(entry, binaries) }
                try take(converted(entry, binaries))
            }
        }
        try waiting.resolve(in: file)
        for (entry, binaries) in waiting.entries {
            try take(converted(waiting.filled(entry, &repeats), binaries))
        }
        var losses = inBin.omission("entry", "entries", "in the recycle bin", isInRecycleBin: true)
        losses += ofGroups.filter { includesRecycleBin || !$0.isInRecycleBin }.map { .loss($0.text) }
        // The file is whole: KeePass and KeePassXC ignore what follows, too.
        if file.trailing > 0 {
            let bytes = file.trailing == 1 ? "1 byte" : "\(file.trailing) bytes"
            losses.append(.intended("\(bytes) after the end of the database, which are not part of it"))
        }
        if protectedNames > 0 {
            losses.append(
                .intended(
                    "the protection of titles, user names or addresses of \(protectedNames) "
                        + "\(protectedNames == 1 ? "entry" : "entries"), because items can be listed and found by them")
            )
        }
        for (count, what) in [
            (waiting.unresolved, "to fields of missing entries, or through too many entries"),
            (waiting.secretsKept, "from titles, user names and addresses, which are not secret, to passwords or notes"),
        ] where count > 0 {
            losses.append(.intended("\(count) references \(what); the references are kept as text"))
        }
        return losses
    }
}

/// Entries that refer to other entries.
private final class WaitingEntries {
    private(set) var entries: [(KDBXEntry, KDBXBinaries)] = []
    private(set) var unresolved = 0
    /// The number of references to secrets that would have become public.
    private(set) var secretsKept = 0
    private var targets: [KDBXReference: SharedSecret] = [:]
    private var resolved: [KDBXReference: SharedSecret] = [:]
    private var beingResolved: Set<KDBXReference> = []
    /// For each known reference, true if it leads to a secret.
    private var secretness: [KDBXReference: Bool] = [:]

    /// The maximum length of a chain of references.
    private static let longestChain = 10
    /// The maximum length of a value with its references resolved, in bytes.
    private static let longestValue = 65_536

    func add(_ entry: KDBXEntry, _ binaries: KDBXBinaries) throws {
        try binaries.memory.take(entry.size)
        entries.append((entry, binaries))
    }

    /// Reads the file repeatedly until every reference is found or known to be missing.
    func resolve(in file: borrowing KDBXFile) throws {
        var open = Set(entries.flatMap { KDBXReference.all(in: $0.0) })
        var searched: Set<KDBXReference> = []
        for _ in 0..<Self.longestChain where !open.isEmpty {
            var search = KDBXSearch(open)
            try KDBXDocument.read(file) { entry, _ in search.look(at: entry) }
            searched.formUnion(open)
            targets.merge(search.found) { first, _ in first }
            open = Set(search.found.values.flatMap { KDBXReference.all(in: $0) }).subtracting(searched)
        }
    }

    /// Returns an entry and its earlier states with their references resolved.
    func filled(_ entry: KDBXEntry, _ repeats: inout KDBXRepeats) throws -> KDBXEntry {
        var entry = entry
        for field in entry.strings.indices {
            let string = entry.strings[field]
            let secrets = KDBXReference.all(in: string.value).count { leadsToSecret($0) }
            if secrets > 0, KDBXString.isPublic(string.name) {
                secretsKept += secrets
                continue
            }
            if secrets > 0 { entry.strings[field].isProtected = true }
            entry.strings[field].value = filled(string.value)
            try repeats.take(entry.strings[field].value.count)
        }
        entry.history = try entry.history.map { try filled($0, &repeats) }
        return entry
    }

    /// Returns whether a reference leads to a password or to notes, directly or through further references.
    private func leadsToSecret(_ reference: KDBXReference) -> Bool {
        if let known = secretness[reference] { return known }
        var seen: Set = [reference]
        var next = [reference]
        var isFound = false
        while !isFound, let one = next.popLast() {
            isFound = one.isToSecret || secretness[one] ?? false
            guard !isFound, let target = targets[one] else { continue }
            next += KDBXReference.all(in: target).filter { seen.insert($0).inserted }
        }
        secretness[reference] = isFound
        return isFound
    }

    /// Returns a value with its references resolved.
    private func filled(_ value: SharedSecret) -> SharedSecret {
        let places = KDBXReference.places(in: value)
        guard !places.isEmpty else { return value }
        return value.withBytes { bytes in
            var out = SecretBuffer(capacity: bytes.count + 64)
            var at = 0
            for (range, reference) in places {
                out.append(UnsafeRawBufferPointer(rebasing: bytes[at..<range.lowerBound]))
                if out.count <= Self.longestValue, let target = target(reference) {
                    out.append(target.secret)
                } else {
                    unresolved += 1
                    out.append(UnsafeRawBufferPointer(rebasing: bytes[range]))
                }
                at = range.upperBound
            }
            out.append(UnsafeRawBufferPointer(rebasing: bytes[at...]))
            return SharedSecret(out.secret())
        }
    }

    /// Returns the value that a reference points to, following further references, or nil if the value is not found or
    /// the reference leads back to itself.
    private func target(_ reference: KDBXReference) -> SharedSecret? {
        if let known = resolved[reference] { return known }
        guard let target = targets[reference], beingResolved.count < Self.longestChain,
            beingResolved.insert(reference).inserted
        else { return nil }
        let value = filled(target)
        beingResolved.remove(reference)
        resolved[reference] = value
        return value
    }
}

/// Searches the entries for the targets of references and uses the first match.
private struct KDBXSearch {
    private var wanted: [UInt8: [String: [KDBXReference]]] = [:]
    private(set) var found: [KDBXReference: SharedSecret] = [:]

    init(_ references: Set<KDBXReference>) {
        for reference in references {
            wanted[reference.searched, default: [:]][reference.text, default: []].append(reference)
        }
    }

    mutating func look(at entry: KDBXEntry) {
        for (letter, texts) in wanted {
            for text in KDBXReference.texts(letter, of: entry) {
                for reference in texts[text] ?? [] where found[reference] == nil {
                    found[reference] = reference.value(in: entry)
                }
            }
        }
    }
}

/// A reference to a field of another entry: `{REF:P@I:46C9B1FFBD4ABC4BBB260C6190BAD20C}`.
struct KDBXReference: Hashable {
    /// The letter of the wanted field.
    let wanted: UInt8
    /// The letter of the searched field.
    let searched: UInt8
    /// The text that the searched field must contain.
    let text: String

    /// True if the wanted field is a secret.
    var isToSecret: Bool { wanted == UInt8(ascii: "P") || wanted == UInt8(ascii: "N") }

    /// Returns whether any field of an entry contains a reference.
    static func areIn(_ entry: KDBXEntry) -> Bool {
        entry.strings.contains { isIn($0.value) } || entry.history.contains { areIn($0) }
    }

    private static func isIn(_ value: SharedSecret) -> Bool {
        value.withBytes { bytes in
            guard bytes.count >= 12 else { return false }
            return bytes.indices.dropLast(11).contains { bytes[$0] == 0x7B && KDBXText.isReference(bytes, at: $0) }
        }
    }

    /// Returns all references in an entry and its earlier states.
    static func all(in entry: KDBXEntry) -> [KDBXReference] {
        entry.strings.flatMap { all(in: $0.value) } + entry.history.flatMap { all(in: $0) }
    }

    static func all(in value: SharedSecret) -> [KDBXReference] { places(in: value).map(\.1) }

    /// Returns the references in a value, with their positions.
    static func places(in value: SharedSecret) -> [(Range<Int>, KDBXReference)] {
        value.withBytes { bytes in
            var found: [(Range<Int>, KDBXReference)] = []
            var at = 0
            while at < bytes.count {
                guard bytes[at] == 0x7B, KDBXText.isReference(bytes, at: at),
                    let end = bytes[at..<min(at + 512, bytes.count)].firstIndex(of: 0x7D),
                    let reference = KDBXReference(bytes[(at + KDBXText.reference.count)..<end])
                else {
                    at += 1
                    continue
                }
                found.append((at..<end + 1, reference))
                at = end + 1
            }
            return found
        }
    }

    /// - Parameter part: "P@I:46C9…", between the braces.
    private init?(_ part: Slice<UnsafeRawBufferPointer>) {
        let bytes = Array(part)
        guard bytes.count > 4, bytes[1] == UInt8(ascii: "@"), bytes[3] == UInt8(ascii: ":") else { return nil }
        wanted = bytes[0] & 0xDF
        searched = bytes[2] & 0xDF
        guard Self.letters.contains(wanted), Self.letters.contains(searched) || searched == UInt8(ascii: "O") else {
            return nil
        }
        let text = String(decoding: bytes[4...], as: UTF8.self)
        self.text = searched == UInt8(ascii: "I") ? text.lowercased() : text
    }

    private static let letters = Array("TUPANI".utf8)

    private static func field(_ letter: UInt8) -> String? {
        switch letter {
        case UInt8(ascii: "T"): KDBXString.title
        case UInt8(ascii: "U"): KDBXString.userName
        case UInt8(ascii: "P"): KDBXString.password
        case UInt8(ascii: "A"): KDBXString.url
        case UInt8(ascii: "N"): KDBXString.notes
        default: nil
        }
    }

    private static let standard: Set<String> = [
        KDBXString.title, KDBXString.userName, KDBXString.password, KDBXString.url, KDBXString.notes,
    ]

    /// Returns the texts of the searched field in an entry.
    static func texts(_ letter: UInt8, of entry: KDBXEntry) -> [String] {
        if letter == UInt8(ascii: "I") { return [Hex.encode(entry.uuid)] }
        if let name = field(letter) { return [entry.text(name)] }
        return entry.strings.filter { !standard.contains($0.name) }.compactMap(\.value.text)
    }

    /// Returns the wanted value from the entry to which the reference points.
    func value(in entry: KDBXEntry) -> SharedSecret {
        guard let name = Self.field(wanted) else {
            return SharedSecret(text: Hex.encode(entry.uuid).uppercased())
        }
        return entry[name] ?? SharedSecret(Secret(count: 0))
    }
}
