internal import VaultBytes
internal import VaultStore

/// Reads the items of one state of a file, which need not be the newest; each state has its own keyring, vector and
/// clock.
struct StateReader: RecordReading {
    /// An entry of a leaf.
    enum Entry {
        case item(Item)
        case forgotten(ForgottenValue)
    }

    let core: VaultCore
    let root: Commit.Root?
    let keyring: Keyring
    let entryCheck: EntryCheck
    /// The commit from which the state's vector is read; nil for the newest state, whose vector is in the store.
    private let commit: Commit?

    /// Reads the newest state.
    init(_ core: VaultCore) {
        self.core = core
        root = core.store.state.commit.root
        keyring = core.store.keyring
        entryCheck = core.entryCheck
        commit = nil
    }

    /// Reads an earlier state of the file.
    init(_ core: VaultCore, _ commit: Commit) throws(VaultError) {
        self.core = core
        root = commit.root
        keyring = try core.keyring(of: commit)
        entryCheck = EntryCheck(KeyringView(keyring), clock: commit.clock, floor: commit.floor)
        self.commit = commit
    }

    /// A state without items, before the first one.
    init(before core: VaultCore) {
        self.core = core
        root = nil
        keyring = Keyring(keeping: core.store.keyring.keeping, vaultKey: core.store.keyring.vaultKey)
        entryCheck = core.entryCheck
        commit = nil
    }

    var sealing: Sealing { core.sealing }
    var pages: PageSource { core.pages }
    var limit: Int { keyring.keeping.count }
    var tree: TreeReader { TreeReader(source: core.pages, root: root) }

    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        try core.frame(ref, type, before: referrer)
    }

    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox {
        if let known = core.compartments.known(compartment) { return known }
        guard let found = entryCheck.view.compartment(compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        return try core.compartments.key(found, core.context)
    }

    func pastKey() throws(VaultError) -> SecretBox { try core.pastKey() }

    func vector() throws(VaultError) -> Vector {
        guard let commit else { return try core.vector() }
        return try core.pages.vector(of: commit).vector(of: commit)
    }

    /// Reads and checks an entry of a page of the state.
    func read(_ page: Page, _ index: Int) throws(VaultError) -> Entry {
        guard !page.isForgotten(index) else { return .forgotten(try ForgottenCodec.decode(page, index, entryCheck)) }
        let key = page.key(index)
        var check = entryCheck
        return .item(try ItemCodec.item(page, index, key: key.span, &check))
    }
}

extension VaultCore {
    /// Returns the keyring of an earlier state of the file.
    func keyring(of commit: Commit) throws(VaultError) -> Keyring {
        let ref = commit.keyring
        let body = try pages.open(try FrameReader.read(ref, .keyring, pages.file), .keyring, at: ref.offset)
        return try decoding { () throws(FormatError) in try Keyring(body.span, at: ref.offset) }
    }
}
