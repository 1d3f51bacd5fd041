import VaultConsole
import VaultFmt

/// The headers from which a command learns which factors a vault needs.
package enum SlotSource {
    /// The file's header, which alone decides how the vault opens.
    case header
    /// The headers that salvage tries: the file's header and its copy, either of which may be damaged.
    case salvage

    /// Reads the slots without a key. Nothing is authenticated.
    /// - Throws: The library's error if the header cannot be read; for `salvage`, a failure that does not advise a
    ///   salvage.
    func slots(at path: String) throws -> [SlotInfo] {
        switch self {
        case .header: return try Vault.slots(at: path)
        case .salvage:
            do throws(VaultError) { return try Vault.slots(salvaging: path) } catch {
                throw CommandFailure(salvaging: error)
            }
        }
    }
}
