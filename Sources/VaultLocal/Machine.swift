internal import Glibc
internal import VaultCrypto
public import VaultFmt
package import VaultStore

/// The data that this machine stores: the newest state of each vault that it has seen, its device key, and unlocked
/// vaults.
///
/// A vault is compared with the remembered state before any of its contents are returned, and again at each refresh and
/// each change, so an older copy or a different file in its place is detected. `Vault.open` alone does not remember
/// states.
public struct Machine: Sendable {
    /// The locations of the files.
    public let places: Places
    /// The location of vaults and of this machine's own files.
    package let place: Store.Place
    let announcer: Announcer
    /// The replica ids that this machine uses for changes.
    let replicas: ReplicaFiles

    /// Creates a machine from the environment.
    /// - Parameter notices: Called with messages for the user, on the thread of the call that causes them; the function
    ///   must not use the vault of that call.
    /// - Throws: `invalidArgument` if the home folder is unknown.
    public init(notices: @escaping @Sendable (Notice) -> Void) throws(VaultError) {
        self.init(try Places(), notices: notices)
    }

    /// Creates a machine with the given places, independent of the environment.
    public init(_ places: Places, notices: @escaping @Sendable (Notice) -> Void) {
        self.init(places, place: Store.Place(), notices: notices)
    }

    package init(_ places: Places, place: Store.Place, notices: @escaping @Sendable (Notice) -> Void) {
        self.places = places
        self.place = place
        announcer = Announcer(notices)
        // Earlier versions use the folder "replicas" with a different format.
        replicas = ReplicaFiles(
            files: PrivateFiles(place: place, announcer: announcer), folder: places.stateFolder + "/replica-ids",
            witness: places.witnessFile)
    }

    private var files: PrivateFiles { PrivateFiles(place: place, announcer: announcer) }

    /// The states of vaults that this machine remembers.
    package var memory: Memory {
        Memory(
            remembered: RememberedPlaces(files: files, folder: places.stateFolder + "/anchors"), replicas: replicas)
    }

    /// The file that holds this machine's device key.
    package var deviceFile: DeviceFile { DeviceFile(files: files, path: places.stateFolder + "/device") }

    /// A place for stores that compare their states with this machine's memory and use its replica ids.
    package var watched: Store.Place {
        var place = unwatched
        place.watch = memory.watch
        return place
    }

    /// A place for stores that use this machine's replica ids but neither compare nor remember states.
    package var unwatched: Store.Place {
        var place = place
        place.replicas = replicas
        return place
    }

    // MARK: files

    /// Returns whether a path exists; symbolic links are followed.
    package func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Returns whether the file at a path is writable.
    package func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    /// Returns the process that is currently writing to a vault, as far as that can be determined.
    ///
    /// - Parameter path: The vault's file.
    /// - Returns: "name (pid)" or "another process"; nil if there is none.
    /// - Throws: `noSuchFile`, `notAVault`, `io`.
    package static func writer(of path: String) throws(VaultError) -> String? {
        let place = Store.Place()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return try file.isLockedByAnother() ? file.lockHolder() ?? "another process" : nil
    }

    /// Creates the parent folder of a path, and the folders above it, with mode 0700. Nothing is created in another
    /// user's folder.
    package func makeFolder(of path: String) throws(VaultError) {
        try files.makeFolder(Places.parent(of: path))
        try files.requireOwn(Places.parent(of: path))
    }

    /// Creates a file with mode 0600, which appears under its name only when the file is complete. If the file already
    /// exists, returns false and does not change it.
    package func createPrivate(_ path: String, what: String, _ contents: borrowing Secret) throws(VaultError) -> Bool {
        try makeFolder(of: path)
        return try files.write(path, what: what, contents, replacing: false)
    }

    /// Returns a random name for a temporary file that will replace this path: `.NAME.vaultfmt-XXXXXXXX` in the same
    /// folder. The writer locks that file.
    package static func temporaryName(beside path: String) -> String { Temporary.name(beside: path, .system) }

    /// Copies the owner, group, mode and extended attributes of a file to its replacement, which is open. Throws
    /// `cannotReplace` if an attribute cannot be set, or `io`.
    package static func copyAttributes(
        from old: Int32, _ oldPath: String, to new: Int32, _ newPath: String
    ) throws(VaultError) {
        try FileAttributes.copy(from: old, oldPath, to: new, newPath)
    }

    /// Removes the temporary files of killed writers next to a path. Running writers' temporary files are locked and
    /// are not removed.
    package static func sweep(beside path: String) {
        // If the folder cannot be listed, a later write to the folder reports the error.
        do throws(VaultError) { try Temporary.removeStale(beside: path, RealFileSystem()) } catch {}
    }

    // MARK: opening

    /// Creates a vault with one full slot, and opens it for changing. Throws the same errors as `Vault.create`.
    public func create(
        at path: String, factors: borrowing Factors, options: consuming CreateOptions = .init()
    ) throws(VaultError) -> Vault {
        let vault = try Vault.create(at: path, factors: factors, options: options, place: watched)
        warnIfReadable(vault.path, try vault.withStore { (store) throws(VaultError) in try store.file.permissions() })
        return vault
    }

    /// Recovers everything that still authenticates in a damaged vault into a new one, which is remembered like any new
    /// vault. The damaged vault is not compared with a remembered state. Throws the same errors as `Vault.salvage`.
    public func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions = .init(), limits: ReaderLimits = .init(), takesUnproven: Bool = false,
        owners: OwnersPublicKey? = nil
    ) throws(VaultError) -> SalvageReport {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        var report = try Vault.salvage(
            path, factors: factors, to: newPath, newFactors: newFactors, options: options, limits: limits,
            device: deviceFile.loadIfSound(), takesUnproven: takesUnproven, owners: owners, place: watched)
        do throws(VaultError) {
            if let made = report.made { try memory.move(made.vault, from: made.path, to: made.target) }
            // The remembered state may be the only evidence of truncated changes.
            if let vault = report.vault {
                var seen = try remembered(vault, at: path)
                if seen == nil { seen = try remembered(vault) }
                if let seen { report.compare(withSeen: seen.point) }
            }
        } catch { announcer.warning("the remembered state could not be compared: \(error.description)") }
        warnIfReadable(newPath, try place.fileSystem.open(newPath, writable: false).permissions())
        return report
    }

    /// Opens a vault with the factors of one of its slots. If the options contain no device, this machine's device is
    /// used, if there is one.
    ///
    /// Throws the same errors as `Vault.open`, and `memoryDamaged` or `io` if the remembered state cannot be read. If
    /// the vault does not continue the remembered state, throws `rolledBack`, `forked` or
    /// `foreignOwner` until the vault is accepted with ``accept(_:)``.
    public func open(
        _ path: String, factors: borrowing Factors, options: consuming OpenOptions = .init()
    ) throws(VaultError) -> Vault {
        let options = withDevice(options)
        let vault = try Vault.open(path, factors: factors, options: options, place: watched)
        dropKeptKeyIfGone(vault, unlockedAt: vault.path)
        return vault
    }

    /// Opens a vault with the key that keeps it unlocked; returns nil if no key is kept. Throws `noKernelKeyring`, and
    /// the same errors as `open` except `noSlotOpens` and `kdfLimit`.
    public func openUnlocked(_ path: String, options: consuming OpenOptions = .init()) throws(VaultError) -> Vault? {
        try openUnlocked(path, options: withDevice(options), place: watched)
    }

    /// Opens a vault with the key that keeps it unlocked, the options' device and the place's memory; returns nil if no
    /// key is kept.
    package func openUnlocked(_ path: String, options: consuming OpenOptions, place: Store.Place) throws(VaultError)
        -> Vault?
    {
        let id = try Vault.id(at: path, place: place)
        guard let key = try KernelKeyring.find(vault: id) else { return nil }
        do throws(VaultError) { return try Vault.open(path, kept: key, of: id, options: options, place: place) } catch {
            guard error.code == .noSuchSlot || error.code == .noSlotOpens else { throw error }
            // The slot was changed or removed, here or on another machine, so the key would open only older copies. An
            // older copy does not prove that the key is outdated.
            guard place.watch != nil,
                try KernelKeyring.drop(vault: id, unlockedAt: try place.fileSystem.resolve(path))
            else { return nil }
            if error.code == .noSlotOpens {
                announcer.warning(
                    "the key in the kernel keyring does not open \(TerminalText.path(path)), which is now locked")
            }
            return nil
        }
    }

    /// Opens a vault with the factors from the environment or, if there are none, with the key that keeps it unlocked.
    /// Throws `noSlotOpens` if there is neither.
    package func openAsGiven(_ path: String, options: () throws(VaultError) -> OpenOptions) throws(VaultError) -> Vault
    {
        if FactorSources.environment.isAnyGiven {
            return try FactorSources.environment.read().tryEach { (factors, _) throws(VaultError) in
                try open(path, factors: factors, options: try options())
            }
        }
        do throws(VaultError) { if let vault = try openUnlocked(path, options: try options()) { return vault } } catch {
            guard error.code == .noKernelKeyring else { throw error }
        }
        throw VaultError(
            .noSlotOpens,
            "the vault is locked: run 'vaultfmt unlock', or set VAULTFMT_PASSPHRASE_FILE or VAULTFMT_KEY_FILE")
    }

    private func withDevice(_ options: consuming OpenOptions) -> OpenOptions {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        return options
    }

    private func warnIfReadable(_ path: String, _ mode: UInt32?) {
        guard let mode, mode & 0o077 != 0 else { return }
        announcer.warning(
            "\(TerminalText.path(path)) can be read by others: this file system does not store permissions; keep it on one that does"
        )
    }

    // MARK: remembering

    /// Returns the state that is remembered for a vault's place, as seen by an owner or by the holder of a scoped slot;
    /// nil if there is none. Throws `memoryDamaged`, `io`.
    public func remembered(
        _ vault: VaultID, at path: String, asOwner isOwner: Bool = true
    ) throws(VaultError) -> RememberedState? {
        try memory.state(of: vault, at: try place.fileSystem.resolve(path), isOwner: isOwner)
    }

    /// Returns the newest state of a vault that is remembered for any place; nil if there is none. Throws
    /// `memoryDamaged`, `io`.
    public func remembered(_ vault: VaultID, asOwner isOwner: Bool = true) throws(VaultError) -> RememberedState? {
        try memory.remembered.newest(vault, isOwner: isOwner)
    }

    /// Compares the current state of a vault that was opened without this machine's memory, and remembers it. Throws
    /// the same errors as ``open(_:factors:options:)`` and `Vault.refresh`.
    public func check(_ vault: Vault) throws(VaultError) {
        let admit = try vault.withStore { (store) throws(VaultError) in
            try memory.watch.recall(store.vault, store.path)
        }
        // Other processes may have changed the vault, and remembered the result, since the vault was read.
        try vault.refresh()
        try vault.withStore { (store) throws(VaultError) in _ = try admit(store.watched) }
    }

    /// Remembers the current state of a vault at its path, replacing the previously remembered state. Open the vault
    /// with `Vault.open` and examine it before you accept it. Remembered changes that this state lacks are recorded as
    /// dropped: copies that contain them are refused until the user requests these changes.
    ///
    /// Throws `io` or `outcomeUnknown` if the state cannot be stored. A vault opened with a scoped slot cannot be
    /// accepted if it contradicts a state that this machine saw as an owner.
    public func accept(_ vault: Vault) throws(VaultError) {
        try vault.withStore { (store) throws(VaultError) in try memory.accept(store.watched) }
    }

    /// Checks another copy of a vault before it is merged: changes that the user dropped with ``accept(_:)`` are
    /// refused unless the user requests them.
    ///
    /// - Parameters:
    ///   - other: The other copy, opened by an owner.
    ///   - vault: The vault.
    ///   - takesDropped: Whether the user requests dropped changes.
    ///   - place: The path of the vault's file, if the vault was opened from a copy of it, as git's merge driver does.
    /// - Throws: `forked` if the copy has dropped changes; `memoryDamaged`, `io`.
    public func checkMerge(
        of other: Vault, into vault: Vault, takesDropped: Bool = false, at place: String? = nil
    ) throws(VaultError) {
        let seen = try other.withStore { (store) throws(VaultError) in store.watched }
        try memory.admit(seen, into: place ?? vault.path, takesDropped: takesDropped)
    }

    /// Merges another copy of a vault into the vault, after ``checkMerge(of:into:takesDropped:at:)``.
    ///
    /// - Parameters:
    ///   - other: The other copy, opened by an owner; it is only read.
    ///   - vault: The vault, opened by an owner for writing unless nothing is to be written.
    ///   - options: The merge options.
    ///   - takesDropped: Whether changes that the user dropped on this machine may be merged. A dry run does not change
    ///     the remembered state.
    ///   - place: As for `checkMerge`.
    ///   - progress: As for `Vault.merge`.
    /// - Returns: The report of `Vault.merge`.
    /// - Throws: The errors of `checkMerge` and of `Vault.merge`.
    public func merge(
        _ other: Vault, into vault: Vault, options: MergeOptions = MergeOptions(), takesDropped: Bool = false,
        at place: String? = nil, progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) -> MergeReport {
        let path = place ?? vault.path
        var options = options
        options.keepsNewerValues = true
        var merged: WatchedState?
        // The copy may have changed since the first check.
        let report = try vault.merge(other, options: options, progress: progress) { (seen) throws(VaultError) in
            if !takesDropped { try memory.admit(seen, into: path, takesDropped: false) }
            merged = seen
        }
        // This comes after the merge: a failed merge must not restore dropped changes.
        guard takesDropped, !options.isRehearsal, let merged else { return report }
        do throws(VaultError) { try memory.admit(merged, into: path, takesDropped: true) } catch {
            announcer.warning("everything was merged, but this machine will ask about it again: \(error.description)")
        }
        return report
    }
}
