import CVaultShim

/// The memory that an import takes. It is checked before anything is read, because Swift ends the program if one of its
/// own allocations fails.
package enum SourceMemory {
    /// The memory of every import.
    package static let base = 16 << 20
    /// How many times the bytes of a source that is read whole can be in memory at once, in whatever form: seven times
    /// for a list with a single field.
    package static let times = 8
    /// The same for a part of a source that is decoded by Foundation.
    static let timesDecoded = 12
    /// The memory of a value that is decoded by Foundation, in addition to its bytes.
    package static let value = 384
    /// The memory of an entry until the end of its transaction: 370 bytes were measured for short ones, and a table that
    /// grows is in memory twice.
    package static let entry = 768

    /// Throws unless the process can get this much more memory.
    package static func require(_ count: Int, for name: String) throws {
        guard vault_memory_has(count) == 0 else { return }
        throw ExchangeError(
            .io,
            "there is too little memory to import \(name), which takes up to \(count >> 20) MiB; free some, or raise the limit "
                + "('ulimit -v')")
    }
}
