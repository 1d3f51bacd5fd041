internal import VaultExchange
package import VaultFmt

/// Import and export in memory, for tests and fuzzing.
package enum Interchange {
    /// An item of a source, as it would be imported.
    package struct Item: Equatable, Sendable {
        package let key: ItemKey
        package let secret: [UInt8]
        package let attributes: Attributes
        package let accessibility: Accessibility
        package let created: Int64?
        package let modified: Int64?
        /// Its earlier values, oldest first.
        package let earlier: [Earlier]
    }

    /// An earlier value of an item.
    package struct Earlier: Equatable, Sendable {
        package let secret: [UInt8]
        package let replaced: Int64
    }

    /// The passphrase that is tried on encrypted sources in memory.
    package static let testPassphrase = "source passphrase"

    /// The name of a pseudo-format: the contents of a KDBX 4 file before compression and encryption.
    package static let kdbxContents = "kdbx-contents"

    /// Reads a source that is in memory.
    ///
    /// `format`: a value of `--format`; nil detects it from the contents, as the command does. `refused`: receives the
    /// message if the source is refused, in which case nil is returned. `passphrase`: the passphrase to try on
    /// encrypted sources.
    package static func items(
        in source: [UInt8], format: String?, passphrase: String = testPassphrase, isCheap: Bool = false,
        refused: (String) -> Void
    ) -> [Item]? {
        read(source, format: format, passphrase: passphrase, isCheap: isCheap, refused: refused)?.items
    }

    /// Returns what is left out, in the reader's words; nil if the source is refused.
    package static func omissions(in source: [UInt8], format: String?, refused: (String) -> Void) -> [String]? {
        read(source, format: format, passphrase: testPassphrase, isCheap: false, refused: refused)?.omissions
    }

    private static func read(
        _ source: [UInt8], format: String?, passphrase: String, isCheap: Bool, refused: (String) -> Void
    ) -> (items: [Item], omissions: [String])? {
        var buffer = SecretBuffer(capacity: source.count)
        buffer.append(contentsOf: source)
        var access = SourceAccess(KnownPassphrase(text: passphrase))
        if isCheap { cheapen(&access) }
        do {
            if format == kdbxContents {
                var contents = try SourceFormat.openKDBXContents(buffer)
                return try items(of: &contents)
            }
            var reader = SourceReader(buffer, at: 0)
            var source = try self.format(format, &reader).open(reader, access)
            return try items(of: &source)
        } catch {
            refused(ExchangeError(error).message)
            return nil
        }
    }

    /// Imports a source that is in memory into a vault, as the command does.
    ///
    /// `policy`: a value of `--on-duplicate`.
    package static func importItems(
        in source: [UInt8], into vault: Vault, policy: String = "fail", isCheap: Bool = false
    ) throws(VaultError) {
        do {
            var buffer = SecretBuffer(capacity: source.count)
            buffer.append(contentsOf: source)
            var access = SourceAccess(KnownPassphrase(text: testPassphrase))
            if isCheap { cheapen(&access) }
            var reader = SourceReader(buffer, at: 0)
            var source = try format(nil, &reader).open(reader, access)
            var session = ImportSession(policy: DuplicatePolicy(rawValue: policy) ?? .fail)
            try session.run(&source, into: vault, counted: { _ in }) { session in
                guard session.tally.duplicates == 0 else { throw VaultError(.duplicateItem, "items exist already") }
            }
        } catch { throw VaultError(.invalidArgument, ExchangeError(error).message) }
    }

    /// Writes the KDBX export of a vault to a descriptor, with the lowest key derivation cost.
    package static func writeKDBX(of vault: Vault, to descriptor: Int32) throws(VaultError) {
        do {
            let output = Output(descriptor: descriptor, name: "the export")
            let key = try KDBXKey(passphrase: Secret(text: testPassphrase), keyFile: nil)
            var kdbx = try KDBXExport(output, of: vault, key: key, cost: .testing) { _ in }
            var items = try vault.items()
            while let item = try items.next() { try kdbx.prepare(try vault.open(item)) }
            try kdbx.finish(name: "test") { _ in }
        } catch { throw VaultError(.io, ExchangeError(error).message) }
    }

    private static func cheapen(_ access: inout SourceAccess) {
        (access.limits.derivation.memoryKiB, access.limits.derivation.totalKiBPasses) = (1024, 4096)
        (access.limits.rounds, access.limits.bcryptRounds) = (10_000, 0)
    }

    private static func format(_ name: String?, _ reader: inout SourceReader) throws -> SourceFormat {
        if let name, let format = SourceFormat(rawValue: name) { return format }
        return try SourceFormat(detecting: &reader)
    }

    private static func items(
        of source: inout some ImportSource & ~Copyable
    ) throws -> (items: [Item], omissions: [String]) {
        var all: [Item] = []
        let omissions = try source.read { record in
            all.append(
                Item(
                    key: record.key, secret: record.secret.withUnsafeBytes { Array($0) }, attributes: record.attributes,
                    accessibility: record.accessibility, created: record.created, modified: record.modified,
                    earlier: record.earlier.map { earlier in
                        Earlier(
                            secret: earlier.secret.withBytes { Array($0) }, replaced: earlier.value.replaced)
                    }))
        }
        return (all, omissions.map(\.text))
    }

    /// Writes the JSON export of a vault to a descriptor.
    package static func writeJSON(of vault: Vault, to descriptor: Int32) throws(VaultError) {
        do {
            let output = Output(descriptor: descriptor, name: "the export")
            var json = JSONExport(output, of: vault) { _ in }
            try json.begin()
            var items = try vault.items()
            while let item = try items.next() {
                try json.write(try vault.open(item))
            }
            try json.end()
            try output.flush()
        } catch { throw VaultError(.io, ExchangeError(error).message) }
    }
}

/// A passphrase that is known; no key file, and no OpenSSH key opens.
private struct KnownPassphrase: SourceFactors {
    let text: String

    func withPassphrase<R: ~Copyable>(
        for source: String, _ open: (borrowing Secret?) throws -> R
    ) throws -> R {
        try open(Secret(text: text))
    }

    func keyFile() throws -> Secret? { nil }

    func decryptedOpenSSH(
        _ key: borrowing Secret, _ passphrase: borrowing Secret, limit: Int, _ place: String
    ) throws -> Secret? { nil }
}
