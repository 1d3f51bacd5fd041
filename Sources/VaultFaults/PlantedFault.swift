#if PLANTED_FAULTS
    internal import Glibc
#endif

/// A bug put into the code on purpose, to prove that a conformance vector or a check of the harness catches it.
///
/// No product contains one: `isPlanted` is the constant `false` unless the package was built with
/// `VAULTFMT_PLANTED_FAULTS` in the environment, and even then nothing happens without `VAULTFMT_PLANT=NAME`.
package enum PlantedFault: String, CaseIterable, Sendable {
    /// The header's reader MAC is computed and not compared.
    case headerReaderMACUnchecked
    /// A commit is acknowledged before its bytes are synced.
    case commitNotSynced
    /// Secrets' memory is given back as it is.
    case wipeSkipped

    #if PLANTED_FAULTS
        private static let planted = getenv("VAULTFMT_PLANT").flatMap { PlantedFault(rawValue: String(cString: $0)) }

        package var isPlanted: Bool { PlantedFault.planted == self }
    #else
        @inlinable package var isPlanted: Bool { false }
    #endif
}
