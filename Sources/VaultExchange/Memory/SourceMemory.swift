import CVaultShim

/// The memory that an import needs. It is checked before anything is read, because Swift terminates the program if an
/// allocation fails.
package enum SourceMemory {
    /// The memory that every import needs.
    package static let base = 16 << 20
    /// The maximum number of copies of a source's bytes in memory, in any form, if the source is read whole: a list
    /// with a single field needs seven.
    package static let times = 8
    /// The corresponding maximum for a part of a source that Foundation decodes.
    static let timesDecoded = 12
    /// The memory of a value that Foundation decodes, in addition to its bytes.
    package static let value = 384
    /// The memory that an entry needs until the end of its transaction: 370 bytes were measured for short entries, and
    /// a growing table is in memory twice.
    package static let entry = 768

    /// Throws an error unless the process can allocate the given amount of additional memory.
    package static func require(_ count: Int, for name: String) throws {
        guard vault_memory_has(count) == 0 else { return }
        throw ExchangeError(
            .io,
            "there is too little memory to import \(name), which takes up to \(count >> 20) MiB; free some, or raise the limit "
                + "('ulimit -v')")
    }
}
