import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// The other vaults of the repository. If only one side changed a file, git takes that side's version, even if it is an
/// older state, a link, or nothing.
extension SyncRound {
    /// The other vaults for which git must not use the other side's version.
    struct OtherVaults {
        /// The vaults that are merged here.
        var merged: [String] = []
        /// The vaults that stay as they are in HEAD.
        var kept: [String] = []
    }

    /// Compares the other vaults that the other side changed, without changing anything.
    /// - Throws: A failure that names the vault if the other side removed it or replaced it with something else.
    mutating func otherVaults(since bases: [String]) throws -> OtherVaults {
        // If one of several bases already has this side's version, this side has not changed it.
        let changes = try bases.map { Set(try changed($0, "HEAD", "AM")) }
        let ours = changes.dropFirst().reduce(changes.first ?? []) { $0.intersection($1) }
        let theirs = Set(try bases.flatMap { try changed($0, fetched, "ADMT") })
        try bases.forEach(requireNames)
        var found = OtherVaults()
        for name in theirs.sorted() where name != file.name && isVaultHere(name) {
            guard let here = try GitEntry(name, at: "HEAD", git), here.isFile,
                let theirs = try requireTheirs(name, since: bases), theirs.id != here.id
            else { continue }
            let status = try git.require(["status", "--porcelain", "--", GitFile.pathspec(name)], "compare it")
            guard status.text.isEmpty else {
                throw CommandFailure(
                    .usage, "\(TerminalText.quoted(name)) has changes that are not committed; sync it first")
            }
            if ours.contains(name) {
                found.merged.append(name)
                continue
            }
            switch try comparison(name, theirs) {
            case .continues: break
            case .older: found.kept.append(name)
            case .diverged: found.merged.append(name)
            case .unproven(let reason):
                areOthersProven = false
                let isOlder = try isInHistory(theirs, name)
                if isOlder { found.kept.append(name) }
                Terminal.warning(
                    "\(TerminalText.quoted(name)) was changed on the other side and "
                        + (isOlder ? "left as it is here, because theirs is older" : "taken without a comparison")
                        + " (\(reason)); unlock it before a sync, or sync it by itself")
            }
        }
        return found
    }

    /// Throws an error if the names of changed vaults are not UTF-8: such vaults are not compared, and git would use
    /// the other side's versions.
    private func requireNames(since base: String) throws {
        let arguments = ["diff", "--raw", "--no-renames", "--no-abbrev", "-z", base, fetched, "--"]
        let parts = try git.require(arguments, "compare commits").text.split(separator: "\0")
        for (entry, name) in zip(parts, parts.dropFirst()) where entry.hasPrefix(":") && name.contains("\u{FFFD}") {
            let fields = entry.split(separator: " ")
            guard fields.count == 5, fields[0] != ":000000" else { continue }
            let copy = lock.temporary("unnamed")
            defer { unlink(copy) }
            guard try write(["cat-file", "blob", String(fields[2])], to: copy), try Vault.isOne(at: copy) else {
                continue
            }
            throw CommandFailure(
                .usage,
                "the other side changed the vault \(TerminalText.quoted(String(name))), whose name is not UTF-8, so it cannot be compared; "
                    + "rename it with 'git mv' on both sides, or merge it with git")
        }
    }

    /// Returns whether the file in the tree is a vault. Attributes are ignored, because anyone who can push can set
    /// them.
    private func isVaultHere(_ name: String) -> Bool {
        var status = vault_status()
        let path = file.top + "/" + name
        guard vault_status_of(path, false, &status) == 0, status.mode & S_IFMT == S_IFREG else { return false }
        do throws(VaultError) {
            _ = try Vault.id(at: path)
            return true
        } catch {
            return error.code != .notAVault
        }
    }

    /// The relation between the other side's version of a vault and the local version.
    private enum Comparison {
        case continues
        case older
        case diverged
        /// The relation cannot be determined, for the given reason.
        case unproven(String)
    }

    /// Compares the other side's version of a vault with the local version, which this side has not changed.
    private func comparison(_ name: String, _ theirs: GitEntry) throws -> Comparison {
        let (copy, path) = (lock.temporary("theirs"), file.top + "/" + name)
        defer { unlink(copy) }
        return try Self.naming(name, copy) {
            try extract(theirs, name, to: copy)
            let id: VaultID
            do throws(VaultError) { id = try Vault.id(at: path) } catch {
                return .unproven(CommandFailure(error).message)
            }
            try Self.require(id, at: copy)
            // No factor is tried on a vault that this machine has never opened, because anyone who can push can add a
            // vault.
            guard try AccessOptions.isRemembered(path, ThisMachine.current()) else {
                return try isInHistory(theirs, name) ? .older : .continues
            }
            var silent = access
            silent.noInput = true
            let here: Vault
            do { here = try open(name, silent) } catch {
                return try isBeginning(copy, of: path) ? .older : .unproven(CommandFailure(error).message)
            }
            var options = MergeOptions()
            options.onlyCompares = true
            do {
                let merger = CopyMerger(path: path, access: silent, options: options)
                let report = try merger.merge(copy, called: Self.whose(name), into: here)?.report
                switch report?.outcome {
                case .same, .theirs: return .continues
                case .ours: return .older
                default: return .diverged
                }
            } catch let failure as CommandFailure where failure.status == .noAccess {
                return .unproven(failure.message)
            }
        }
    }

    /// Returns whether a file consists only of another file's first bytes, which proves without the vault's key that
    /// the file is an earlier state.
    private func isBeginning(_ one: String, of other: String) throws -> Bool {
        let descriptors: [Int32] = [vault_open(one, O_RDONLY, 0), vault_open(other, O_RDONLY, 0)]
        defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
        for (descriptor, path) in zip(descriptors, [one, other]) where descriptor < 0 {
            throw CommandFailure(system: -descriptor, "cannot read \(TerminalText.path(path))")
        }
        // Zeros at the end are reserved space, which later states overwrite.
        var (at, lastByte) = (0, -1)
        var difference: Int?
        while true {
            let piece = try read(descriptors[0], 1 << 16, one)
            guard !piece.isEmpty else { return difference.map { $0 > lastByte } ?? true }
            let others = try read(descriptors[1], piece.count, other)
            if let last = piece.lastIndex(where: { $0 != 0 }) { lastByte = at + last }
            if difference == nil, piece != others {
                let first = piece.indices.first { $0 >= others.count || piece[$0] != others[$0] }
                difference = at + (first ?? 0)
            }
            at += piece.count
        }
    }

    /// Reads the given number of bytes, or fewer at the end of the file.
    private func read(_ descriptor: Int32, _ count: Int, _ path: String) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress.map { $0 + done }, count - done)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw CommandFailure(system: errno, "cannot read \(TerminalText.path(path))") }
            if got == 0 { break }
            done += got
        }
        return Array(bytes.prefix(done))
    }

    /// Opens another vault in the repository. If that vault is kept unlocked, its key is tried first, because the
    /// factors belong to the vault that is synced; if neither the key nor the factors open the other vault, the other
    /// side's factors are tried.
    func open(_ name: String, _ access: AccessOptions, writable: Bool = false) throws -> Vault {
        let path = file.top + "/" + name
        if let kept = try access.openUnlocked(path, writable: writable, despiteFactors: true) { return kept }
        do { return try access.open(path, writable: writable) } catch let failure as CommandFailure
            where failure.status == .noAccess
        {
            guard let otherFactors else { throw failure }
            do { return try access.open(path, with: otherFactors.read(), writable: writable) } catch let other
                as CommandFailure where other.status == .noAccess
            {
                throw failure
            }
        }
    }

    /// Opens another vault that both sides have changed, for merging.
    func openChanged(_ name: String) throws -> Vault {
        do { return try open(name, access, writable: true) } catch let failure as CommandFailure
            where failure.status == .noAccess
        {
            let path = file.top + "/" + name
            throw CommandFailure(
                failure.status,
                "\(TerminalText.quoted(name)), which both sides have changed, has other factors: \(failure.message); unlock it "
                    + "('vaultfmt unlock \(TerminalText.word(path))'), or give them with --other-passphrase-file, --other-key-file or --other-raw-key-file",
                code: failure.code)
        }
    }

    /// Returns whether a local commit already had this version of a file.
    private func isInHistory(_ entry: GitEntry, _ name: String) throws -> Bool {
        let arguments = ["log", "--full-history", "-m", "--raw", "--no-abbrev", "--no-renames", "--format=", "HEAD"]
        return try git.require(arguments + ["--", GitFile.pathspec(name)], "read the history").text.contains(entry.id)
    }
}
