internal import Glibc

/// The owner, group, mode and extended attributes (including access control lists) of files.
package enum FileAttributes {
    /// Copies attributes to an open file from the file that it will replace.
    ///
    /// Throws `cannotReplace` if an attribute cannot be set, or `io`.
    package static func copy(
        from old: Int32, _ oldPath: String, to new: Int32, _ newPath: String
    ) throws(VaultError) {
        let (theirs, ours) = (try status(old, oldPath), try status(new, newPath))
        if theirs.st_uid != ours.st_uid || theirs.st_gid != ours.st_gid {
            guard fchown(new, theirs.st_uid, theirs.st_gid) == 0 else {
                throw VaultError(
                    .cannotReplace, "\(oldPath) has an owner or group that cannot be set on a new file")
            }
        }
        guard fchmod(new, theirs.st_mode & 0o7777) == 0 else {
            throw SystemCall.error(errno, "set the mode of", newPath)
        }
        try ExtendedAttributes.copy(from: old, to: new, path: oldPath)
    }

    private static func status(_ descriptor: Int32, _ path: String) throws(VaultError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "examine", path) }
        return status
    }
}
