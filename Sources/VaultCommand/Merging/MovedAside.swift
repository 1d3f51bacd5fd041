import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// The folder `VAULT.merged`, next to the vault, for conflict copies that the vault now contains completely.
enum MovedAside {
    /// Moves a copy, keeping its name or adding a number.
    /// - Returns: Its new path.
    static func move(_ copy: String, of vault: String) throws -> String {
        let folder = vault + ".merged"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure(system: errno, "cannot create the folder \(TerminalText.quoted(folder))")
        }
        let name = String(copy[(copy.lastIndex(of: "/").map { copy.index(after: $0) } ?? copy.startIndex)...])
        for number in 1...1000 {
            let target = folder + "/" + name + (number == 1 ? "" : ".\(number)")
            let result = vault_rename_noreplace(copy, target)
            if result == -EEXIST { continue }
            guard result == 0 else {
                throw CommandFailure(system: -result, "cannot move \(TerminalText.quoted(copy)) to \(folder)")
            }
            for changed in [folder, UserFiles.parent(of: vault)] { _ = vault_sync_directory(changed) }
            return target
        }
        throw CommandFailure(
            .outputExists, "\(TerminalText.quoted(folder)) has too many copies with that name; empty it")
    }
}
