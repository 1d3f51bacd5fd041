internal import VaultBytes

extension Store {
    /// Copies what follows the newest state to `FILE.incomplete-G` or `FILE.damaged-G` before it is cut off.
    /// The copy gets that name only once it is complete and synced: after a crash in between, the next writer copies
    /// again.
    ///
    /// - Parameter end: Where what is kept ends; the end of the file if nil.
    /// - Returns: The copy's path.
    @discardableResult
    func keepAside(_ name: String, to end: UInt64?) throws(VaultError) -> String {
        let size = try file.size()
        let end = min(end ?? size, size)
        let bytes = end - min(end, state.commit.end)
        // As much as the vault has itself, or what a small one may get in one change: somebody who can extend the file
        // must not fill the disk.
        let most = max(state.commit.end, Self.longestAside)
        guard bytes <= most else {
            let what = "\(bytes) bytes follow generation \(state.commit.generation), more than are kept aside"
            throw VaultError(.limitExceeded, "\(what): copy the file, and salvage that", at: state.commit.end)
        }
        try Temporary.removeStale(beside: path, fileSystem)
        let temporary = Temporary.name(beside: path, random)
        let directory = try fileSystem.directory(of: path)
        let copy = try fileSystem.create(temporary)
        do throws(VaultError) {
            guard try copy.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            try copyTail(to: copy, end)
            try copy.sync()
            let kept = try nameAside(copy, temporary, name)
            try directory.sync()
            return kept
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            guard error.code == .outcomeUnknown else { throw error }
            throw VaultError(.io, "what follows the newest state could not be kept: \(error.detail)")
        }
    }

    private static let longestAside: UInt64 = 64 << 20

    private func copyTail(to copy: any FileHandle, _ end: UInt64) throws(VaultError) {
        var offset = state.commit.end
        while offset < end {
            let count = Int(min(end - offset, 1 << 20))
            try copy.write(try file.bytes(count, at: offset), at: offset - state.commit.end)
            offset += UInt64(count)
        }
    }

    /// The first name that is free, or that a copy of the same bytes has.
    private func nameAside(_ copy: any FileHandle, _ temporary: String, _ name: String) throws(VaultError) -> String {
        var number = 1
        while true {
            let aside = "\(path).\(name)" + (number == 1 ? "" : "-\(number)")
            do throws(VaultError) {
                guard try fileSystem.identity(of: aside) != nil else {
                    try fileSystem.rename(temporary, to: aside, replacing: false)
                    return aside
                }
                if try isCopy(aside, of: copy) {
                    try fileSystem.rename(temporary, to: aside, replacing: true)
                    return aside
                }
            } catch {
                guard error.code == .fileExists || error.code == .noSuchFile else { throw error }
            }
            number += 1
        }
    }

    private func isCopy(_ path: String, of other: any FileHandle) throws(VaultError) -> Bool {
        let file = try fileSystem.openOwn(path, writable: false)
        let size = try file.size()
        guard try other.size() == size else { return false }
        var offset: UInt64 = 0
        while offset < size {
            let count = Int(min(size - offset, 1 << 20))
            let (left, right) = (try file.bytes(count, at: offset), try other.bytes(count, at: offset))
            guard left == right else { return false }
            offset += UInt64(count)
        }
        return true
    }
}
