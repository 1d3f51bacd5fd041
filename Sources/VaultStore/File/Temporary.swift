internal import VaultBytes
package import VaultCrypto

/// The names of files that are being written to replace other files: `.NAME.vaultfmt-XXXXXXXX` in the same directory.
package enum Temporary {
    /// Creates a new file with such a name and locks it; the lock shows other processes that its writer is still
    /// running.
    package static func create(
        beside path: String, _ fileSystem: any FileSystem, _ random: Randomness
    ) throws(VaultError) -> (file: any FileHandle, path: String) {
        for _ in 0..<100 {
            let temporary = name(beside: path, random)
            let file = try fileSystem.create(temporary)
            do throws(VaultError) {
                // Before the file was locked, another process may have removed it, mistaking it for a dead writer's
                // file.
                guard try file.lock(), let named = try fileSystem.identity(of: temporary),
                    try named.isSameFile(as: file.identity())
                else {
                    continue
                }
                return (file, temporary)
            } catch {
                do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
                throw error
            }
        }
        throw VaultError(.busy, "other processes keep removing the temporary files next to \(path)")
    }

    package static func name(beside path: String, _ random: Randomness) -> String {
        let (directory, name) = RealFileSystem.split(path)
        let file = ".\(name).vaultfmt-\(Hex.encode(random.bytes(4)))"
        return directory == "/" ? "/" + file : directory + "/" + file
    }

    /// Returns whether `name(beside:)` created this name for the file called `name` or for one of that file's temporary
    /// files.
    private static func isTemporary(_ sibling: String, of name: String) -> Bool {
        var rest = sibling[...]
        while rest.hasPrefix("."), rest.utf8.suffix(8).allSatisfy(isDigit), rest.dropLast(8).hasSuffix(".vaultfmt-") {
            rest = rest.dropFirst().dropLast(8 + ".vaultfmt-".count)
            if rest == name { return true }
        }
        return false
    }

    /// Returns whether a byte is a digit that `name(beside:)` uses. Files with other names belong to users.
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) }

    /// Removes files left by an interrupted replacement. A locked file is not removed, because its writer is still
    /// running.
    package static func removeStale(beside path: String, _ fileSystem: any FileSystem) throws(VaultError) {
        let (directory, name) = RealFileSystem.split(path)
        for sibling in try fileSystem.siblings(of: path) where isTemporary(sibling, of: name) {
            let stale = directory == "/" ? "/" + sibling : directory + "/" + sibling
            do throws(VaultError) {
                let file = try fileSystem.openOwn(stale, writable: true)
                // This may be a second name for the vault itself, left behind because RENAME_NOREPLACE is not
                // available; in that case, its lock proves nothing.
                let (own, vault) = (try file.identity(), try fileSystem.identity(of: path))
                let isSecondName = vault.map(own.isSameFile) ?? false
                let isAbandoned = try isSecondName ? true : file.lock()
                if isAbandoned { try fileSystem.remove(stale) }
            } catch {
                // Another process may just have removed it; a file that cannot be removed does no harm.
            }
        }
    }
}
