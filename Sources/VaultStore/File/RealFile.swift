internal import CVaultShim
internal import Glibc
internal import Synchronization

/// A file descriptor, closed when its last user releases it.
final class RealFile: FileHandle {
    private let descriptor: Int32
    private let path: String
    private let process = OwnProcess()
    private let hasFailedSync = Atomic<Bool>(false)

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    // Close it in a child process too: the lock belongs to the open file description, which the parent still holds.
    deinit { close(descriptor) }

    /// Refuses use in a child process: the lock, the length and the cached data belong to the parent, which would not
    /// notice changes made by a child.
    private func requireProcess() throws(VaultError) { try process.require() }

    func requireRegular() throws(VaultError) {
        guard try status().st_mode & S_IFMT == S_IFREG else {
            throw VaultError(.notAVault, "\(path) is not a regular file")
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try requireProcess()
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + off_t(done))
            if count > 0 {
                done += count
            } else if count == 0 {
                throw VaultError(.structureInvalid, "the file ends within an object", at: offset + UInt64(done))
            } else if errno != EINTR {
                throw SystemCall.error(errno, "read", path)
            }
        }
    }

    func readAvailable(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(VaultError) -> Int {
        try requireProcess()
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + off_t(done))
            if count > 0 {
                done += count
            } else if count == 0 {
                break
            } else if errno != EINTR {
                throw SystemCall.error(errno, "read", path)
            }
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(VaultError) {
        try requireProcess()
        var done = 0
        while done < bytes.count {
            let count = vault_write_at(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, Int64(offset) + Int64(done))
            if count >= 0 {
                done += Int(count)
            } else if count != Int64(-EINTR) {
                throw SystemCall.error(Int32(-count), "write", path)
            }
        }
    }

    func sync() throws(VaultError) {
        try requireProcess()
        // The system reports a failure only once; if a later sync succeeds, the data of the failed one may still be
        // lost.
        guard !hasFailedSync.load(ordering: .relaxed) else {
            throw VaultError(
                .outcomeUnknown, "syncing \(path) failed before; it is unknown whether the last change was saved")
        }
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else {
                let number = errno
                hasFailedSync.store(true, ordering: .relaxed)
                throw VaultError(
                    .outcomeUnknown,
                    "syncing \(path) failed: \(SystemCall.text(number)); it is unknown whether the last change was saved"
                )
            }
        }
    }

    func truncate(to size: UInt64) throws(VaultError) {
        try requireProcess()
        while ftruncate(descriptor, off_t(size)) != 0 {
            guard errno == EINTR else { throw SystemCall.error(errno, "truncate", path) }
        }
    }

    func size() throws(VaultError) -> UInt64 { try stat().size }

    func times() throws(VaultError) -> FileTimes? {
        var (modified, changed): (Int64, Int64) = (0, 0)
        guard vault_times(descriptor, &modified, &changed) == 0 else { return nil }
        return FileTimes(modified: modified, changed: changed)
    }

    func identity() throws(VaultError) -> FileIdentity { FileIdentity(try stat()) }

    private func stat() throws(VaultError) -> vault_file {
        var file = vault_file()
        let result = vault_stat(descriptor, nil, &file)
        guard result == 0 else { throw SystemCall.error(-result, "check", path) }
        return file
    }

    private func status() throws(VaultError) -> Glibc.stat {
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "check", path) }
        return status
    }

    func permissions() throws(VaultError) -> UInt32? { try status().st_mode & 0o7777 }

    func lock() throws(VaultError) -> Bool {
        try requireProcess()
        let result = vault_lock_exclusive(descriptor)
        if result == 0 { return true }
        if result == -EAGAIN || result == -EACCES || result == -EINTR { return false }
        throw SystemCall.error(-result, "lock", path)
    }

    func unlock() {
        if process.isThis { _ = vault_unlock(descriptor) }
    }

    func isLockedByAnother() throws(VaultError) -> Bool {
        let result = vault_lock_is_held(descriptor)
        guard result >= 0 else { throw SystemCall.error(-result, "query the lock on", path) }
        return result == 1
    }

    func lockHolder() -> String? {
        do throws(VaultError) { return LockHolder.find(inode: try identity().inode) } catch { return nil }
    }

    func copy(from other: any FileHandle, _ range: Range<UInt64>) throws(VaultError) {
        var offset = range.lowerBound
        if let source = other as? RealFile {
            while offset < range.upperBound {
                let count = vault_copy_file_range(
                    source.descriptor, Int64(offset), descriptor, Int64(offset),
                    Int(min(range.upperBound - offset, 1 << 30)))
                if count > 0 { offset += UInt64(count) } else if count != Int64(-EINTR) { break }
            }
        }
        // If the file system cannot copy the range, or copies only part of it, the rest is copied through memory.
        while offset < range.upperBound {
            let count = Int(min(range.upperBound - offset, 1 << 20))
            try write(try other.bytes(count, at: offset), at: offset)
            offset += UInt64(count)
        }
    }

    func adopt(attributesOf other: any FileHandle) throws(VaultError) {
        guard let other = other as? RealFile else { return }
        try FileAttributes.copy(from: other.descriptor, other.path, to: descriptor, path)
    }
}
