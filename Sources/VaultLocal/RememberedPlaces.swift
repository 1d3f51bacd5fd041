internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// The files of remembered states: one for each vault, place and role, named `VAULT.PLACE.owner` or `VAULT.PLACE.scoped`
/// after the vault's id and a hash of the file's canonical path.
struct RememberedPlaces: Sendable {
    let files: PrivateFiles
    let folder: String

    private static let what = "remembered state"
    /// If the files of more than this number of a vault's remembered places are gone, the entries of those places are
    /// removed.
    private static let mostGone = 32

    static func role(_ isOwner: Bool) -> String { isOwner ? "owner" : "scoped" }

    func file(_ vault: VaultID, at path: String, isOwner: Bool) -> String {
        "\(folder)/\(vault)\(Self.ending(path, isOwner: isOwner))"
    }

    /// Returns the part of a file's name that represents a place and a role.
    private static func ending(_ path: String, isOwner: Bool) -> String {
        let place = Array(path.utf8).withUnsafeBytes { Blake2b.hash($0) }
        return ".\(Hex.encode(Array(place.bytes.prefix(16)))).\(role(isOwner))"
    }

    /// The place of a vault whose file was replaced by another vault: the file may have been moved or deleted.
    private static let nowhere = ""

    /// Reads the remembered state of a vault at a path; nil if there is none. Throws `memoryDamaged`, `io`.
    func read(_ vault: VaultID, at path: String, isOwner: Bool) throws(VaultError) -> RememberedState? {
        let file = file(vault, at: path, isOwner: isOwner)
        guard let state = try read(file) else { return nil }
        guard state.vault == vault, state.path.utf8.elementsEqual(path.utf8) else { throw Self.damaged(file) }
        return state
    }

    private func read(_ file: String) throws(VaultError) -> RememberedState? {
        guard let contents = try files.read(file, what: Self.what, limit: AnchorFile.longest) else { return nil }
        guard let state = AnchorFile.decode(contents.withUnsafeBytes { Array($0) }) else { throw Self.damaged(file) }
        return state
    }

    private static func damaged(_ file: String) -> VaultError {
        VaultError(.memoryDamaged, "the \(what) \(TerminalText.path(file)) is damaged")
    }

    /// Returns the newest remembered state of a vault, at any path; nil if there is none. Throws
    /// `memoryDamaged`, `io`.
    func newest(_ vault: VaultID, isOwner: Bool) throws(VaultError) -> RememberedState? {
        try all(vault, isOwner: isOwner).max { $0.isOlder(than: $1) }
    }

    /// Returns the remembered state of a different vault at a path; nil if there is none. Throws `memoryDamaged`, `io`.
    func other(than vault: VaultID, at path: String) throws(VaultError) -> RememberedState? {
        for isOwner in [true, false] {
            if let other = try others(than: vault, at: path, isOwner: isOwner).first { return other }
        }
        return nil
    }

    private func others(
        than vault: VaultID, at path: String, isOwner: Bool
    ) throws(VaultError) -> [RememberedState] {
        var states: [RememberedState] = []
        for file in try otherFiles(than: vault, at: path, isOwner: isOwner) {
            if let state = try read(file) { states.append(state) }
        }
        return states
    }

    private func otherFiles(than vault: VaultID, at path: String, isOwner: Bool) throws(VaultError) -> [String] {
        let ending = Self.ending(path, isOwner: isOwner)
        return try names().filter { $0.hasSuffix(ending) && !$0.hasPrefix("\(vault).") }.map { "\(folder)/\($0)" }
    }

    private func names() throws(VaultError) -> [String] {
        do throws(VaultError) { return try files.names(in: folder) } catch {
            // Without a folder, there are no remembered states. Another process may have created the folder since.
            guard error.code != .noSuchFile, files.exists(folder) else { return [] }
            throw error
        }
    }

    private func all(_ vault: VaultID, isOwner: Bool) throws(VaultError) -> [RememberedState] {
        let names = try names()
        let form = file(vault, at: "", isOwner: isOwner).utf8.count - folder.utf8.count - 1
        var states: [RememberedState] = []
        for name in names
        where name.utf8.count == form && name.hasPrefix("\(vault).") && name.hasSuffix(".\(Self.role(isOwner))") {
            // Another process may have removed the file in the meantime.
            if let state = try read("\(folder)/\(name)") { states.append(state) }
        }
        return states
    }

    /// Remembers a state. The caller holds the lock of the memory.
    func write(_ state: RememberedState, isOwner: Bool) throws(VaultError) {
        let file = file(state.vault, at: state.path, isOwner: isOwner)
        let isNew = try files.identity(file) == nil
        try files.sweep(folder)
        if isNew { try displace(from: state.path, by: state.vault) }
        try files.write(file, what: Self.what, Secret(bytes: AnchorFile.encode(state)))
        if isNew { tidy(state.vault, isOwner: isOwner) }
    }

    /// Removes this place from the entries of other vaults. The states of those vaults are still remembered, because
    /// their files may have been moved.
    private func displace(from path: String, by vault: VaultID) throws(VaultError) {
        guard path != Self.nowhere else { return }
        for isOwner in [true, false] {
            for file in try otherFiles(than: vault, at: path, isOwner: isOwner) {
                guard let state = try readUnlessDamaged(file) else { continue }
                let known = try read(state.vault, at: Self.nowhere, isOwner: isOwner)
                if known?.isOlder(than: state) ?? true {
                    let moved = RememberedState(
                        vault: state.vault, point: state.point, path: Self.nowhere, dropped: state.dropped)
                    try write(moved, isOwner: isOwner)
                }
                try remove(state.vault, at: path, isOwner: isOwner)
            }
        }
    }

    /// Reads the remembered state of a vault whose place now belongs to another vault. A damaged file is removed.
    private func readUnlessDamaged(_ file: String) throws(VaultError) -> RememberedState? {
        do throws(VaultError) { return try read(file) } catch {
            guard error.code == .memoryDamaged else { throw error }
            try files.remove(file)
            return nil
        }
    }

    func remove(_ vault: VaultID, at path: String, isOwner: Bool) throws(VaultError) {
        try files.remove(file(vault, at: path, isOwner: isOwner))
    }

    /// Removes the entries of places whose files no longer exist, if there are many such entries. The newest state is
    /// always kept.
    private func tidy(_ vault: VaultID, isOwner: Bool) {
        // Entries that cannot be removed only take up space.
        do throws(VaultError) {
            let all = try all(vault, isOwner: isOwner).sorted { $1.isOlder(than: $0) }
            var gone: [RememberedState] = []
            for state in all.dropFirst() where try files.identity(state.path) == nil { gone.append(state) }
            guard gone.count > Self.mostGone else { return }
            for state in gone { try remove(vault, at: state.path, isOwner: isOwner) }
        } catch {}
    }
}

extension RememberedState {
    /// Orders states of a vault by the newest change that they include.
    fileprivate func isOlder(than other: RememberedState) -> Bool {
        (point.vector.clock, point.generation) < (other.point.vector.clock, other.point.generation)
    }
}
