internal import VaultBytes
package import VaultCrypto

/// Files on their way to replace another: `.NAME.vaultfmt-XXXXXXXX` beside it.
package enum Temporary {
    package static func name(beside path: String, _ random: Randomness) -> String {
        let (directory, name) = RealFileSystem.split(path)
        let file = ".\(name).vaultfmt-\(Hex.encode(random.bytes(4)))"
        return directory == "/" ? "/" + file : directory + "/" + file
    }

    /// Whether it is a name that `name(beside:)` gives for a file of this name, or for one that has such a name itself.
    private static func isTemporary(_ sibling: String, of name: String) -> Bool {
        var rest = sibling[...]
        while rest.hasPrefix("."), rest.dropLast(8).hasSuffix(".vaultfmt-") {
            rest = rest.dropFirst().dropLast(8 + ".vaultfmt-".count)
            if rest == name { return true }
        }
        return false
    }

    /// Removes what an interrupted replacement left; one whose writer lives is locked.
    package static func removeStale(beside path: String, _ fileSystem: any FileSystem) throws(VaultError) {
        let (directory, name) = RealFileSystem.split(path)
        for sibling in try fileSystem.siblings(of: path) where isTemporary(sibling, of: name) {
            let stale = directory == "/" ? "/" + sibling : directory + "/" + sibling
            do throws(VaultError) {
                let file = try fileSystem.openOwn(stale, writable: true)
                // A second name of the vault itself, where one was made without RENAME_NOREPLACE: its lock says
                // nothing.
                let (own, vault) = (try file.identity(), try fileSystem.identity(of: path))
                let isSecondName = vault.map(own.isSameFile) ?? false
                let isAbandoned = try isSecondName ? true : file.lock()
                if isAbandoned { try fileSystem.remove(stale) }
            } catch {
                // Another process may have removed it just now; one that cannot be removed harms nobody.
            }
        }
    }
}
