internal import VaultBytes

extension Store {
    /// Copies an incomplete generation to `FILE.incomplete-G` before it is cut off (section 7.3). The copy has that name only once it is whole and
    /// synced: after a crash in between, the next writer copies again.
    func keepAside(_ incomplete: CommittedState) throws(VaultError) {
        try Temporary.removeStale(beside: path, fileSystem)
        let temporary = Temporary.name(beside: path, random)
        let copy = try fileSystem.create(temporary)
        do throws(VaultError) {
            guard try copy.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            try copyTail(to: copy)
            try copy.sync()
            try nameAside(copy, temporary, incomplete.commit.generation)
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            throw error.code == .outcomeUnknown ? VaultError(.io, "an incomplete generation could not be kept: \(error.detail)") : error
        }
        try fileSystem.syncDirectory(of: path)
    }

    private func copyTail(to copy: any FileHandle) throws(VaultError) {
        let size = try file.size()
        var offset = state.commit.end
        while offset < size {
            let count = Int(min(size - offset, 1 << 20))
            try copy.write(try file.bytes(count, at: offset), at: offset - state.commit.end)
            offset += UInt64(count)
        }
    }

    /// The first name that is free, or that a copy of the same bytes has.
    private func nameAside(_ copy: any FileHandle, _ temporary: String, _ generation: UInt64) throws(VaultError) {
        var number = 1
        while true {
            let aside = "\(path).incomplete-\(generation)" + (number == 1 ? "" : "-\(number)")
            do throws(VaultError) {
                guard try fileSystem.identity(of: aside) != nil else {
                    return try fileSystem.rename(temporary, to: aside, replacing: false)
                }
                if try isCopy(aside, of: copy) { return try fileSystem.rename(temporary, to: aside, replacing: true) }
            } catch {
                guard error.code == .fileExists || error.code == .noSuchFile else { throw error }
            }
            number += 1
        }
    }

    private func isCopy(_ path: String, of other: any FileHandle) throws(VaultError) -> Bool {
        let file = try fileSystem.open(path, writable: false)
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
