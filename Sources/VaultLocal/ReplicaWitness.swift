internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// The last states of this machine's memories of replica ids, in a file that no snapshot of a disk contains: it is in
/// memory, and is gone after a reboot or after the user's last session (section 7.5).
///
/// A file system that is put back to a snapshot while the machine runs has the memory of ids as it was then, with its
/// inode and its times. Without a witness, ids that have advanced since then would be continued from that point.
///
/// The file is a table of fixed size for all of a user's vaults. It is neither secret nor complete: of two memories
/// with the same place in the table, the later one stays, and whatever cannot be read or written proves nothing.
struct ReplicaWitness: Sendable {
    /// How far a memory had come.
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

    /// The number of memories that have a place in the table.
    private static let places: UInt64 = 256
    /// The bytes of an entry.
    private static let entrySize = 64

    /// Opens the table, which is made if there is none; nil if that is not possible.
    func open() -> Table? {
        do throws(VaultError) {
            if let table = try existing() { return table }
            do throws(VaultError) {
                // All of it at once, so that later changes need no further memory.
                let size = Int(Self.places) * Self.entrySize
                try fileSystem.create(path).write([UInt8](repeating: 0, count: size), at: 0)
            } catch {
                // Another process was faster.
                guard error.code == .fileExists else { throw error }
            }
            return try existing()
        } catch { return nil }
    }

    private func existing() throws(VaultError) -> Table? {
        // The folder belongs to everybody; nobody can replace a file there that belongs to this user.
        guard let owner = fileSystem.owner(of: path) else { return nil }
        guard owner == geteuid() else { throw VaultError(.io, "\(path) belongs to another user") }
        return Table(file: try fileSystem.openOwn(path, writable: true))
    }

    /// The open table.
    struct Table {
        fileprivate let file: any FileHandle

        /// Returns what is known about the memory at a path; nil if nothing is known.
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

        /// Notes how far the memory at a path has come.
        func note(_ entry: Entry, of memory: String) {
            let (key, offset) = Self.place(of: memory)
            do throws(VaultError) { try file.write(Self.encode(entry, key), at: offset) } catch {}
        }

        /// Returns a hash of a memory's path, and the offset of its place.
        private static func place(of memory: String) -> (key: Bytes32, offset: UInt64) {
            var hash = Blake2b()
            hash.update("vaultfmt witness")
            hash.update(Array(memory.utf8))
            let key = hash.finish()
            return (key, key.words.0 % ReplicaWitness.places * UInt64(ReplicaWitness.entrySize))
        }

        /// Returns the 64 bytes of an entry; the hash at their end is different in every memory and version.
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
