internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// The progress of this machine's replica id files, recorded in a file that disk snapshots do not contain: the file is
/// in memory, and disappears after a reboot or after the user's last session (section 7.5).
///
/// If a file system is restored from a snapshot while the machine runs, the old replica id files return with the same
/// inodes and times. Without a witness, ids would be continued from that point, although they have advanced since.
///
/// The file is a table of fixed size for all of a user's vaults. The table is neither secret nor complete: if two
/// replica id files share a place in it, only the later one is recorded, and errors in reading or writing the table are
/// ignored.
struct ReplicaWitness: Sendable {
    /// The progress of one replica id file.
    struct Entry: Equatable {
        let device: UInt64
        let inode: UInt64
        /// The number of its entries.
        let count: UInt64
        /// The greatest revision that the machine had made.
        let greatest: UInt64
    }

    let path: String
    let fileSystem: any FileSystem

    /// The number of places in the table.
    private static let places: UInt64 = 256
    /// The bytes of an entry.
    private static let entrySize = 64

    /// Opens the table, creating it if necessary; nil if that is not possible.
    func open() -> Table? {
        do throws(VaultError) {
            if let table = try existing() { return table }
            do throws(VaultError) {
                // Allocate the whole table at once: later changes must not need further memory.
                let size = Int(Self.places) * Self.entrySize
                try fileSystem.create(path).write([UInt8](repeating: 0, count: size), at: 0)
            } catch {
                // Another process created the file first.
                guard error.code == .fileExists else { throw error }
            }
            return try existing()
        } catch { return nil }
    }

    private func existing() throws(VaultError) -> Table? {
        // The folder is writable for all users, but other users cannot replace this user's file there.
        guard let owner = fileSystem.owner(of: path) else { return nil }
        guard owner == geteuid() else { throw VaultError(.io, "\(path) belongs to another user") }
        return Table(file: try fileSystem.openOwn(path, writable: true))
    }

    /// The open table.
    struct Table {
        fileprivate let file: any FileHandle

        /// Returns the entry for the replica id file at a path; nil if there is none.
        func entry(of memory: String) -> Entry? {
            let (key, offset) = Self.place(of: memory)
            do throws(VaultError) {
                let bytes = try file.bytes(ReplicaWitness.entrySize, at: offset)
                let span = bytes.span
                var cursor = Cursor(span, at: 0, else: .structureInvalid)
                do throws(FormatError) {
                    let entry = Entry(
                        device: try cursor.u64(span), inode: try cursor.u64(span), count: try cursor.u64(span),
                        greatest: try cursor.u64(span))
                    return Self.encode(entry, key) == bytes ? entry : nil
                } catch { return nil }
            } catch { return nil }
        }

        /// Records the progress of the replica id file at a path.
        func note(_ entry: Entry, of memory: String) {
            let (key, offset) = Self.place(of: memory)
            do throws(VaultError) { try file.write(Self.encode(entry, key), at: offset) } catch {}
        }

        /// Returns a hash of the path of a replica id file, and the offset of the file's entry in the table.
        private static func place(of memory: String) -> (key: Bytes32, offset: UInt64) {
            var hash = Blake2b()
            hash.update("vaultfmt witness")
            hash.update(Array(memory.utf8))
            let key = hash.finish()
            return (key, key.words.0 % ReplicaWitness.places * UInt64(ReplicaWitness.entrySize))
        }

        /// Returns the 64 bytes of an entry; the hash at their end differs for each path and version.
        private static func encode(_ entry: Entry, _ key: Bytes32) -> [UInt8] {
            var out: [UInt8] = []
            for number in [entry.device, entry.inode, entry.count, entry.greatest] { out.append(u64: number) }
            var hash = Blake2b()
            hash.update(key)
            hash.update(out)
            out.append(hash.finish())
            return out
        }
    }
}
