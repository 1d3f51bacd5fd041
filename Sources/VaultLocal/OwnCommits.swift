internal import VaultBytes
internal import VaultStore

/// The last commits that this machine made to a vault, stored in `ID.made` next to the remembered states. `undo` can
/// revert these commits without confirmation, and recognises its own commits among them.
///
/// The file is a ring buffer of 256 places, each written in one call and never synced; if an entry is lost or torn,
/// `undo` merely asks for confirmation. The file is not trusted for any other purpose.
struct OwnCommits {
    /// One commit.
    struct Entry: Equatable {
        var generation: UInt64
        var chain: Bytes32
        /// For an undo or a redo, the generation whose items were restored; 0 for any other change.
        var target: UInt64 = 0
        /// For an undo or a redo, the generation of the last other change, which a redo cannot go beyond.
        var origin: UInt64 = 0
    }

    let files: PrivateFiles
    let path: String

    private static let places: UInt64 = 256
    private static let size = 64

    /// Returns the entry of a state; nil if this machine did not make the state, or has made too many later ones.
    func entry(_ generation: UInt64, _ chain: Bytes32) -> Entry? {
        do throws(VaultError) {
            let file = try files.openOwn(path, writable: false)
            let bytes = try file.bytes(Self.size, at: Self.place(of: generation))
            let entry = try decoding { () throws(FormatError) in try Self.decode(bytes) }
            return entry.generation == generation && entry.chain == chain ? entry : nil
        } catch {
            // The place in the file was never written, or its content is damaged.
            return nil
        }
    }

    /// Records a commit.
    func note(_ entry: Entry) throws(VaultError) {
        let file: any FileHandle
        do throws(VaultError) { file = try files.openOwn(path, writable: true) } catch {
            guard error.code == .noSuchFile else { throw error }
            do throws(VaultError) { file = try files.createOwn(path) } catch {
                // Another process created the file first, and its commit takes precedence.
                guard error.code == .fileExists else { throw error }
                return
            }
        }
        try file.write(Self.encode(entry), at: Self.place(of: entry.generation))
    }

    private static func place(of generation: UInt64) -> UInt64 { (generation % places) * UInt64(size) }

    private static func encode(_ entry: Entry) -> [UInt8] {
        var out: [UInt8] = []
        for number in [entry.generation, entry.target, entry.origin, 0] { out.append(u64: number) }
        out.append(entry.chain)
        return out
    }

    private static func decode(_ bytes: [UInt8]) throws(FormatError) -> Entry {
        let span = bytes.span
        var cursor = Cursor(span, at: 0, else: .structureInvalid)
        let (generation, target, origin) = (try cursor.u64(span), try cursor.u64(span), try cursor.u64(span))
        _ = try cursor.u64(span)
        return Entry(generation: generation, chain: try cursor.bytes32(span), target: target, origin: origin)
    }
}
