internal import Glibc
internal import VaultCrypto
public import VaultFmt
package import VaultStore

/// This machine's part: it remembers the newest state of each vault, has a device key, and keeps vaults unlocked.
///
/// A vault that it opens is compared with what it remembers before anything of it is shown, and again at each refresh
/// and each change; whoever puts an older copy back, or a file of his own in its place, is found out. `Vault.open`
/// alone remembers nothing.
public struct Machine: Sendable {
    /// Where things are.
    public let places: Places
    /// Where vaults and its own files live.
    package let place: Store.Place
    let announcer: Announcer

    /// The machine as the environment has it.
    /// - Parameter notices: Is called with what a person should hear of, on the thread of the call that it comes from;
    ///   it must not use that vault.
    /// - Throws: `invalidArgument` where nothing says what the home folder is.
    public init(notices: @escaping @Sendable (Notice) -> Void) throws(VaultError) {
        self.init(try Places(), notices: notices)
    }

    /// A machine whose places do not come from the environment.
    public init(_ places: Places, notices: @escaping @Sendable (Notice) -> Void) {
        self.init(places, place: Store.Place(), notices: notices)
    }

    package init(_ places: Places, place: Store.Place, notices: @escaping @Sendable (Notice) -> Void) {
        self.places = places
        self.place = place
        announcer = Announcer(notices)
    }

    private var files: PrivateFiles { PrivateFiles(place: place, announcer: announcer) }

    /// What this machine remembers of vaults.
    package var memory: Memory { Memory(files: files, folder: places.stateFolder + "/anchors") }

    /// The file that holds this machine's device key.
    package var deviceFile: DeviceFile { DeviceFile(files: files, path: places.stateFolder + "/device") }

    /// For a store that this machine watches over.
    package var watched: Store.Place {
        var place = place
        place.watch = memory.watch
        return place
    }

    // MARK: files

    /// Whether there is something at a path, with symbolic links followed.
    package func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether the file at a path may be changed.
    package func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    /// Makes the folder that a path is in, and those above it, with mode 0700; nothing in a folder of another user.
    package func makeFolder(of path: String) throws(VaultError) {
        try files.makeFolder(Places.parent(of: path))
        try files.requireOwn(Places.parent(of: path))
    }

    /// Makes a file, 0600, that is complete before it has its name. False if one exists, which stays as it is.
    package func createPrivate(_ path: String, what: String, _ contents: borrowing Secret) throws(VaultError) -> Bool {
        try makeFolder(of: path)
        return try files.write(path, what: what, contents, replacing: false)
    }

    /// A random name for a file on its way to this path: `.NAME.vaultfmt-XXXXXXXX` in its folder. Its writer locks it.
    package static func temporaryName(beside path: String) -> String { Temporary.name(beside: path, .system) }

    /// Removes what killed writers have left beside a path; what a living one has locked stays.
    package static func sweep(beside path: String) {
        // A folder that cannot be listed is found out by whoever writes to it.
        do throws(VaultError) { try Temporary.removeStale(beside: path, RealFileSystem()) } catch {}
    }

    // MARK: opening

    /// Creates a vault with one full slot, and opens it for changing. Throws as `Vault.create` does.
    public func create(
        at path: String, factors: borrowing Factors, options: consuming CreateOptions = .init()
    ) throws(VaultError) -> Vault {
        let vault = try Vault.create(at: path, factors: factors, options: options, place: watched)
        warnIfReadable(vault.path, try vault.withStore { (store) throws(VaultError) in try store.file.permissions() })
        return vault
    }

    /// Recovers what still authenticates of a damaged vault into a new one, which is remembered as any new one is. The
    /// damaged one is not compared with anything. Throws as `Vault.salvage` does.
    public func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions = .init(), limits: ReaderLimits = .init(), takesUnproven: Bool = false,
        owners: OwnersPublicKey? = nil
    ) throws(VaultError) -> SalvageReport {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        let report = try Vault.salvage(
            path, factors: factors, to: newPath, newFactors: newFactors, options: options, limits: limits,
            device: deviceFile.loadIfSound(), takesUnproven: takesUnproven, owners: owners, place: watched)
        warnIfReadable(newPath, try place.fileSystem.open(newPath, writable: false).permissions())
        return report
    }

    /// Opens a vault with the factors of one of its slots. A vault that is opened without a device gets this machine's,
    /// where it has one.
    ///
    /// Throws as `Vault.open` does; `rolledBack`, `forked`, `ancestryUnprovable` and `foreignOwner` where it does not
    /// continue what is remembered, until ``accept(_:)``; `memoryDamaged` and `io` where what is remembered cannot be
    /// read.
    public func open(
        _ path: String, factors: borrowing Factors, options: consuming OpenOptions = .init()
    ) throws(VaultError) -> Vault {
        let options = withDevice(options)
        let vault = try Vault.open(path, factors: factors, options: options, place: watched)
        dropKeptKeyIfGone(vault)
        return vault
    }

    /// Opens a vault that is kept unlocked; nil if it is not. Throws as `open` does, but for `noSlotOpens` and
    /// `kdfLimit`; `noKernelKeyring`.
    public func openUnlocked(_ path: String, options: consuming OpenOptions = .init()) throws(VaultError) -> Vault? {
        try openUnlocked(path, options: withDevice(options), place: watched)
    }

    /// As `openUnlocked`, with the options' device and the place's memory.
    package func openUnlocked(_ path: String, options: consuming OpenOptions, place: Store.Place) throws(VaultError)
        -> Vault?
    {
        let id = try Vault.id(at: path, place: place)
        guard let key = try KernelKeyring.find(vault: id) else { return nil }
        do throws(VaultError) { return try Vault.open(path, kept: key, of: id, options: options, place: place) } catch {
            switch error.code {
            case .noSuchSlot:
                // Its slot was changed or removed, here or on another machine: it would open older copies only.
                _ = try KernelKeyring.drop(vault: id)
            case .noSlotOpens:
                _ = try KernelKeyring.drop(vault: id)
                announcer.warning(
                    "what the kernel keyring kept for \(TerminalText.path(path)) does not open it; it is locked now")
            default: throw error
            }
            return nil
        }
    }

    /// Opens a vault with what the environment gives, else with what is kept unlocked. Throws `noSlotOpens` where there
    /// is neither.
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
            "\(TerminalText.path(path)) can be read by others: this file system keeps no permissions; keep it on one that does"
        )
    }

    // MARK: remembering

    /// What is remembered of a vault, as its owner or as the holder of a scoped slot; nil for nothing. Throws
    /// `memoryDamaged`, `io`.
    public func remembered(_ vault: VaultID, asOwner isOwner: Bool = true) throws(VaultError) -> RememberedState? {
        try memory.state(of: vault, isOwner: isOwner)
    }

    /// Compares a vault that was opened without this machine's memory, and remembers it. Throws as
    /// ``open(_:factors:options:)`` does.
    public func check(_ vault: Vault) throws(VaultError) {
        try vault.withStore { (store) throws(VaultError) in _ = try memory.watch.recall(store.vault)(store.watched) }
    }

    /// Remembers the state that a vault is in, whatever was remembered: open it with `Vault.open`, look at it, then
    /// accept it.
    ///
    /// Throws `io` or `outcomeUnknown` where that cannot be stored. What a scoped slot opened cannot be accepted
    /// against what this machine saw as an owner.
    public func accept(_ vault: Vault) throws(VaultError) {
        try vault.withStore { (store) throws(VaultError) in try memory.accept(store.watched) }
    }
}
