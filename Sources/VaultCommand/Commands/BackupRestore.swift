import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// Restores a backup: replaces the vault's file with a copy of the backup, and keeps the replaced file under another
/// name.
struct BackupRestore {
    private let backup: String
    private let path: String
    private let access: AccessOptions
    private let isConfirmed: Bool

    init(_ backup: String, to vault: VaultOptions, isConfirmed: Bool) throws {
        self.backup = backup
        path = try Self.resolved(try vault.path)
        access = vault.access
        self.isConfirmed = isConfirmed
    }

    func run() throws {
        guard try UserFiles.exists(backup) else {
            throw CommandFailure(
                .noSuchFile, "the backup \(TerminalText.path(backup)) does not exist; check the path")
        }
        guard try Self.resolved(backup) != path else {
            throw CommandFailure(
                .usage, "\(TerminalText.path(backup)) is the vault itself; specify the path of a backup of it")
        }
        // The backup is older than the state that this machine remembers of the vault.
        let opened = try access.open(backup, anchors: .ignore)
        guard opened.access == .owner else {
            throw CommandFailure(
                .noAccess, "a read-only slot cannot replace the vault with a backup; open the backup with a full slot")
        }
        let isThere = try UserFiles.exists(path)
        if isThere { try requireSameVault(opened) }
        try requireOwners(of: opened)
        let items = try requireSound(opened)
        try nameSlots(of: opened, isThere: isThere)
        let kept = isThere ? try nameForToday() : nil
        guard try isConfirmed || isWanted(opened, items, kept) else {
            throw CommandFailure.declined("nothing was restored")
        }
        let isTodayKnown = isThere && isKnown(opened)
        try replace(with: opened, keeping: kept)
        do {
            try accept(opened, at: path)
            if let kept, isTodayKnown { try accept(opened, at: kept) }
        } catch {
            if let kept { Terminal.note("the replaced file is now \(TerminalText.path(kept))") }
            throw error
        }
        let what =
            "\(TerminalText.path(path)) is at generation \(opened.state.generation) again, with \(MergeText.count(items))"
        guard let kept else { return Terminal.note(what) }
        let remedy = isTodayKnown ? "" : " after 'vaultfmt anchor \(TerminalText.word(kept)) --accept'"
        Terminal.note("\(what); the replaced file is now \(TerminalText.path(kept)); use --vault to open it\(remedy)")
    }

    /// Returns the path with symbolic links resolved, so that a link to the vault remains a link.
    private static func resolved(_ path: String) throws -> String {
        guard let real = realpath(path, nil) else {
            guard errno == ENOENT else {
                throw CommandFailure(system: errno, "cannot look up \(TerminalText.path(path))")
            }
            return path
        }
        defer { free(real) }
        return String(cString: real)
    }

    // MARK: checking

    /// Throws an error for a backup of another vault. If the vault's header can no longer be read, the vault is
    /// replaced without this check, because restoring it is the purpose of a backup.
    private func requireSameVault(_ opened: Vault) throws {
        if let writer = try Machine.writer(of: path) {
            throw CommandFailure(
                .busy, "\(TerminalText.path(path)) is being changed by \(TerminalText.escaped(writer)); try again")
        }
        let id: VaultID
        do throws(VaultError) { id = try Vault.id(at: path) } catch {
            // Any part of a damaged header, such as the version, may be unreadable.
            let unreadable: Set<VaultError.Code> = [
                .notAVault, .headerInvalid, .structureInvalid, .unsupportedVersion, .io,
            ]
            guard unreadable.contains(error.code) else { throw error }
            return
        }
        guard id != opened.id else { return }
        throw CommandFailure(
            .usage,
            "\(TerminalText.path(backup)) is a backup of another vault (\(opened.id)), not of \(TerminalText.path(path)) (\(id)); "
                + "to open that vault, use --vault \(TerminalText.path(backup))")
    }

    /// Requires that a backup has the same owners as the vault. The backup can be older than the state that this
    /// machine remembers: someone with a factor from before a rotation could have changed it, and anyone can create a
    /// vault with this id for a public recipient.
    private func requireOwners(of opened: Vault) throws {
        let machine = try ThisMachine.current()
        do throws(VaultError) { try machine.checkBackup(opened, for: path) } catch {
            switch error.code {
            case .memoryDamaged: return
            case .foreignOwner:
                throw CommandFailure(
                    .damaged,
                    "the backup \(TerminalText.path(backup)) belongs to other owners, unknown to this machine, or is a backup of another vault: "
                        + "\(error.detail); if it is yours and you want its keys to be valid again, move the vault's file away, copy the backup "
                        + "to its place, and run 'vaultfmt anchor --accept' there", code: error.code)
            default: throw error
            }
        }
    }

    /// Requires that every object in a backup authenticates, and returns the number of items.
    private func requireSound(_ opened: Vault) throws -> Int {
        let report = try Progress.during("verifying") { try opened.verify() }
        let problems = report.problems.filter { !$0.isInterruption }
        if let problem = problems.first {
            throw CommandFailure(
                .damaged,
                "the backup \(TerminalText.path(backup)) is damaged: \(TerminalText.singleLine(problem.description)); try another one"
            )
        }
        return Int(clamping: report.items)
    }

    /// Warns about the slots that will open the vault again after the restore, because the current vault lacks them or
    /// has them with other keys, factors or groups.
    private func nameSlots(of opened: Vault, isThere: Bool) throws {
        let today: [SlotID: [UInt8]]
        let then: [SlotID: [UInt8]]
        do throws(VaultError) {
            guard isThere else { return try warnOfSlots(of: opened) }
            (today, then) = (try Vault.slotContents(at: path), try Vault.slotContents(at: backup))
        } catch {
            return try warnOfSlots(of: opened)
        }
        for slot in try opened.slots() where today[slot.id] != then[slot.id] {
            let what =
                today[slot.id] == nil
                ? "a removed slot opens the vault again"
                : "a slot changed since the backup opens the vault again with its earlier factors and groups"
            Terminal.warning("\(what): \(SlotText.short(slot))")
        }
    }

    /// Warns about all slots in a backup, because a missing or damaged file does not show which of them have been
    /// removed or changed since.
    private func warnOfSlots(of opened: Vault) throws(VaultError) {
        let slots = try opened.slots().map { SlotText.short($0) }.joined(separator: ", ")
        Terminal.warning(
            "every slot of the backup opens the vault again, even if it has been removed or changed since: \(slots)")
    }

    private func isWanted(_ opened: Vault, _ items: Int, _ kept: String?) throws -> Bool {
        if access.noInput {
            throw CommandFailure(
                .usage, "--from asks for confirmation, but --no-input forbids prompting; use --yes")
        }
        let keeps = kept.map { "; the current file is kept as \(TerminalText.path($0))" } ?? ""
        return try Prompt.confirm(
            "Replace \(TerminalText.path(path)) with \(TerminalText.path(backup)) (generation \(opened.state.generation), \(MergeText.count(items)))\(keeps)?",
            instead: "use --yes")
    }

    // MARK: replacing

    /// Returns an unused name next to the vault.
    private func nameForToday() throws -> String {
        for number in 1...1000 {
            let name = path + ".before-restore" + (number == 1 ? "" : "-\(number)")
            if try !UserFiles.exists(name) { return name }
        }
        throw CommandFailure(
            .outputExists,
            "there are already 1000 files named \(TerminalText.path(path + ".before-restore-N")); move some away")
    }

    /// Replaces the vault's contents in a single step, after giving the vault's current file a second name. No other
    /// process can change or replace the file in the meantime.
    private func replace(with opened: Vault, keeping kept: String?) throws {
        // A vault that has appeared in the meantime is not replaced.
        let new = try NewFile(path, what: "vault", replaces: kept != nil, isNamed: true)
        try copy(to: new.descriptor)
        try requireCopied(opened, to: new.temporary)
        guard let kept else { return try new.finish() }
        let today = try lockToday()
        defer { close(today) }
        // The file keeps its permissions, so access to it does not change.
        try Machine.copyAttributes(from: today, path, to: new.descriptor, path)
        // The new file is synced before the old file is given a second name: syncing can take a long time, and other
        // programs cannot rewrite a vault that has two names.
        try new.sync()
        try keepToday(as: kept)
        do { try new.finish(isPrivate: false) } catch {
            putBack(kept, today)
            throw error
        }
    }

    /// Throws an error if a copy differs from the verified backup, because the backup may have been replaced since.
    private func requireCopied(_ opened: Vault, to copy: String?) throws {
        guard let copied = try copy.flatMap({ try access.openCopy($0, of: opened) }), copied.state == opened.state
        else {
            throw CommandFailure(
                .busy, "the backup \(TerminalText.path(backup)) was changed while it was being restored; try again")
        }
        _ = try requireSound(copied)
    }

    /// Opens and locks the vault's file, as writers do.
    private func lockToday() throws -> Int32 {
        let today = vault_open(path, O_RDWR, 0)
        guard today >= 0 else {
            throw CommandFailure(system: -today, "cannot open \(TerminalText.path(path)) to replace it")
        }
        // The previous holder of the lock may have replaced the file.
        guard vault_lock_exclusive(today) == 0, isVault(today) else {
            close(today)
            throw CommandFailure(.busy, "\(TerminalText.path(path)) is being changed by another process; try again")
        }
        return today
    }

    /// Returns whether an open file is the file at the vault's path.
    private func isVault(_ descriptor: Int32) -> Bool {
        var (own, found) = (vault_status(), vault_status())
        return vault_status_of_open(descriptor, &own) == 0 && vault_status_of(path, false, &found) == 0
            && own.number == found.number && own.device == found.device
    }

    private func keepToday(as kept: String) throws {
        if link(path, kept) == 0 { return }
        // Some file systems do not support second names.
        let result = vault_rename_noreplace(path, kept)
        guard result == 0 else {
            throw CommandFailure(system: -result, "cannot keep the current file as \(TerminalText.path(kept))")
        }
    }

    /// After a failure, removes the second name, but only if the vault's file still has its first name.
    private func putBack(_ kept: String, _ today: Int32) {
        if isVault(today) {
            unlink(kept)
        } else if vault_rename_noreplace(kept, path) != 0 {
            Terminal.note("the vault's file is now \(TerminalText.path(kept))")
        }
    }

    private func copy(to target: Int32) throws {
        let source = vault_open(backup, O_RDONLY, 0)
        guard source >= 0 else {
            throw CommandFailure(system: -source, "cannot read the backup \(TerminalText.path(backup))")
        }
        defer { close(source) }
        try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            while true {
                let count = read(source, buffer.baseAddress, buffer.count)
                if count == 0 { return }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    throw CommandFailure(system: errno, "cannot read the backup \(TerminalText.path(backup))")
                }
                let failure = Descriptor.writeAll(target, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                guard failure == 0 else {
                    throw CommandFailure(system: failure, "cannot write the vault \(TerminalText.path(path))")
                }
            }
        }
    }

    /// Returns whether the current file opens with the key that opened its backup, and continues the state that this
    /// machine remembers. Only then is the file accepted under its new name without 'vaultfmt anchor --accept'.
    private func isKnown(_ opened: Vault) -> Bool {
        do {
            guard let today = try access.openCopy(path, of: opened) else { return false }
            try ThisMachine.current().check(today)
            return true
        } catch { return false }
    }

    /// Records the state of a file as the state that this machine remembers for its path.
    private func accept(_ opened: Vault, at path: String) throws {
        guard let restored = try access.openCopy(path, of: opened) else {
            throw CommandFailure(
                .io,
                "\(TerminalText.path(path)) does not open as its backup did; check the disk, and restore it again")
        }
        try ThisMachine.current().accept(restored)
    }
}
