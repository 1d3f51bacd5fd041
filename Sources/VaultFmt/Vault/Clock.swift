internal import VaultStore

/// The machine's time as the format can hold it: a revision has 47 bits for milliseconds (specification, section 1).
enum Clock {
    /// The machine's time as the beginning of a revision, which is at least 1. A clock before 1970 counts as 1970.
    static func revision(_ fileSystem: any FileSystem) throws(VaultError) -> UInt64 {
        let now = UInt64(clamping: fileSystem.now())
        guard now < 1 << 47 else {
            throw VaultError(
                .io, "the machine's clock shows a time that no vault can hold (\(now) ms after 1970): set it")
        }
        return max(now << 16, 1)
    }
}
