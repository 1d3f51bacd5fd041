import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The folder `VAULT.merged`, next to the vault, for conflict copies whose contents the vault now contains completely.
enum MovedAside {
    /// Moves a copy, keeping its name or adding a number.
    /// - Returns: Its new path.
    static func move(_ copy: String, of vault: String) throws -> String {
        let folder = vault + ".merged"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure(system: errno, "cannot create the folder \(TerminalText.path(folder))")
        }
        let opened = try openOwn(folder)
        defer { close(opened) }
        let name = String(copy[(copy.lastIndex(of: "/").map { copy.index(after: $0) } ?? copy.startIndex)...])
        for number in 1...1000 {
            let target = "/" + name + (number == 1 ? "" : ".\(number)")
            // The copy is moved through the folder's descriptor, because the folder's name could be replaced with a
            // link at any moment.
            let result = vault_rename_noreplace(copy, "/proc/self/fd/\(opened)" + target)
            if result == -EEXIST { continue }
            guard result == 0 else {
                throw CommandFailure(system: -result, "cannot move \(TerminalText.path(copy)) to \(folder)")
            }
            for changed in [folder, UserFiles.parent(of: vault)] { _ = vault_sync_directory(changed) }
            return folder + target
        }
        throw CommandFailure(
            .outputExists, "\(TerminalText.path(folder)) has too many copies with that name; empty it")
    }

    /// Opens the folder, which must be a folder, not a link, and belong to this user: anyone with write access to the
    /// vault's folder could plant a link to another place.
    private static func openOwn(_ folder: String) throws -> Int32 {
        let descriptor = vault_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
        guard descriptor >= 0 else {
            throw descriptor == -ENOTDIR || descriptor == -ELOOP
                ? CommandFailure(.usage, "\(TerminalText.path(folder)) is not a folder; remove it")
                : CommandFailure(system: -descriptor, "cannot open the folder \(TerminalText.path(folder))")
        }
        var status = vault_status()
        guard vault_status_of_open(descriptor, &status) == 0, status.owner == geteuid() else {
            close(descriptor)
            throw CommandFailure(.usage, "\(TerminalText.path(folder)) belongs to another user; remove it")
        }
        return descriptor
    }
}
