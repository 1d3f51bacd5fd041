internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Does to a file all that can be done to one, and checks what must hold whatever is in it: errors are typed and in
/// words, ways to the same item agree, and what is sound can be changed, compacted and salvaged.
package enum Reading {
    private static let path = "a.vault"

    /// What was in a vault that opened.
    struct Contents: Equatable {
        /// Two items can be listed under one key, and in a damaged vault two entries can have one id.
        struct Name: Hashable {
            let id: ItemID
            let key: ItemKey

            init(_ item: Item) { (id, key) = (item.id, item.key) }
        }

        var secrets: [Name: [UInt8]] = [:]
        /// All items that are listed, those without a secret too.
        var names: Set<Name> = []
        /// Whether every item that is listed opened.
        var isWhole = true
    }

    /// Slots may cost little: a fuzzer's input must not be slow by Argon2's work.
    static var limits: ReaderLimits {
        var limits = ReaderLimits()
        limits.memoryKiB = 64
        limits.passes = 2
        limits.lanes = 2
        limits.totalKiBPasses = 256
        return limits
    }

    /// Does everything; throws what does not hold, and says whether the file is sound.
    @discardableResult
    package static func everything(_ bytes: [UInt8], _ factors: borrowing FuzzFactors) throws -> Bool {
        let place = Store.Place(fileSystem: MemoryFileSystem(path, bytes), random: .fixed("1"), cacheBytes: 1 << 20)
        try typed { () throws(VaultError) in _ = try Vault.inspect(path, place: place) }
        try typed { () throws(VaultError) in _ = try Vault.slots(at: path, place: place) }
        try Reencoding.check(bytes, rawKey: factors.rawKey)
        var isSound = false
        var contents = Contents()
        try typed { () throws(VaultError) in
            let vault = try open(place, factors, writable: false)
            contents = try read(vault)
            let report = try vault.verify()
            isSound = report.isSound && vault.tail == .clean
            _ = try vault.verdict(on: vault.anchor)
            _ = try vault.slots()
            if isSound {
                guard contents.isWhole else { throw wrong("a sound vault has an item that does not open") }
                guard report.items == UInt64(contents.names.count) else {
                    throw wrong("a sound vault lists another number of items")
                }
                guard try vault.verdict(on: vault.anchor) == .same else {
                    throw wrong("a state is not the same as itself")
                }
            }
            try lockAndUnlock(vault, factors)
        }
        try salvage(bytes, factors, contents, isSound: isSound)
        try change(bytes, factors, contents, isSound: isSound)
        return isSound
    }

    private static func open(_ place: Store.Place, _ factors: borrowing FuzzFactors, writable: Bool) throws(VaultError)
        -> Vault
    {
        var options = OpenOptions()
        options.writable = writable
        options.limits = limits
        options.device = try Device(fileContents: Secret(bytes: [UInt8](1...48)))
        return try Vault.open(path, factors: try factors.factors(), options: options, place: place)
    }

    /// A thrown error must be typed, have words and a known code; what is wrong beyond that is thrown on.
    private static func typed(_ body: () throws(VaultError) -> Void) throws {
        do throws(VaultError) { try body() } catch {
            if error.code == .invalidArgument, error.detail.hasPrefix(marker) {
                throw Mismatch(String(error.detail.dropFirst(marker.count)))
            }
            try Mismatch.require(!error.detail.isEmpty, "an error without words")
            // None of these says anything about what is in a file.
            let foreign: [VaultError.Code] = [
                .busy, .fileExists, .outcomeUnknown, .weakKDF, .keyFileInvalid, .passphraseInvalid,
            ]
            try Mismatch.require(!foreign.contains(error.code), "\(error.code): \(error)")
        }
    }

    private static let marker = "MISMATCH "

    private static func wrong(_ what: String) -> VaultError { VaultError(.invalidArgument, marker + what) }

    // MARK: reading

    /// Lists, looks up, opens and scans.
    private static func read(_ vault: Vault) throws(VaultError) -> Contents {
        var contents = Contents()
        var items = try vault.items()
        var count = 0
        var last: [UInt8]?
        while let item = try items.next() {
            count += 1
            let place = item.pageKey
            if let last, !last.lexicographicallyPrecedes(place) { throw wrong("a listing is out of order") }
            last = place
            do throws(Mismatch) { try Reencoding.check(item.key) } catch { throw wrong(error.description) }
            // Two items that do not have their key plain can be listed under one: ids may begin alike.
            guard let found = try vault.item(item.key),
                found.id == item.id && found.revision == item.revision
                    || found.key == item.key && item.key != item.storedKey
            else { throw wrong("an item that is listed is not found") }
            contents.names.insert(Contents.Name(item))
            _ = item.attributes.count
            do throws(VaultError) {
                let opened = try vault.open(item)
                contents.secrets[Contents.Name(item)] = opened.secret.withUnsafeBytes { Array($0) }
            } catch {
                guard error.code != .invalidArgument else { throw error }
                // It is whole without one.
                contents.isWhole = contents.isWhole && error.code == .noSecret && item.lacksSecret
            }
        }
        _ = try vault.statistics()
        try scan(vault, contents)
        return contents
    }

    private static func scan(_ vault: Vault, _ contents: Contents) throws(VaultError) {
        var seen = 0
        do throws(VaultError) {
            try vault.forEachSecret { (item, secret) throws(VaultError) in
                guard case .opened(let bytes) = secret else { return }
                seen += 1
                guard let known = contents.secrets[Contents.Name(item)], bytes.elementsEqual(known) else {
                    throw wrong("a scan finds another secret")
                }
            }
        } catch {
            // A scan ends at the first record that is damaged.
            guard error.code != .invalidArgument, !contents.isWhole else { throw error }
            return
        }
        guard seen == contents.secrets.count else {
            throw wrong("a scan finds \(seen) items of \(contents.secrets.count)")
        }
    }

    private static func lockAndUnlock(_ vault: Vault, _ factors: borrowing FuzzFactors) throws(VaultError) {
        vault.lock()
        var items = try vault.items()
        while let item = try items.next() {
            do throws(VaultError) {
                _ = try vault.open(item)
                guard item.accessibility.survivesLock else {
                    throw wrong("a locked vault opened an item that is for unlocked ones")
                }
            } catch { if error.detail.hasPrefix(marker) { throw error } }
        }
        try vault.unlock(try factors.factors(), limits: limits)
    }

    // MARK: changing

    /// What is not sound may refuse to be changed; what is sound may not, and keeps what it has.
    private static func change(_ bytes: [UInt8], _ factors: borrowing FuzzFactors, _ contents: Contents, isSound: Bool)
        throws
    {
        let place = Store.Place(fileSystem: MemoryFileSystem(path, bytes), random: .fixed("2"), cacheBytes: 1 << 20)
        var failure: VaultError?
        try typed { () throws(VaultError) in
            do throws(VaultError) {
                let vault = try open(place, factors, writable: true)
                let key = try ItemKey.genericPassword(service: "fuzz", account: "new")
                try vault.set(key, secret: Secret(bytes: [1, 2, 3]))
                try vault.compact()
                _ = try vault.remove(key)
                guard isSound, !contents.names.contains(where: { $0.key == key }) else { return }
                guard try read(try open(place, factors, writable: false)) == contents else {
                    throw wrong("a change changed other items")
                }
            } catch {
                failure = error
                throw error
            }
        }
        // Clocks and counts may be at their ends, and an extension may be for programs that know it.
        guard isSound, let failure, ![.limitExceeded, .notPermitted, .readOnlyExtension].contains(failure.code) else {
            return
        }
        throw Mismatch("a sound vault cannot be changed: \(failure.code): \(failure)")
    }

    private static func salvage(_ bytes: [UInt8], _ factors: borrowing FuzzFactors, _ contents: Contents, isSound: Bool)
        throws
    {
        let place = Store.Place(fileSystem: MemoryFileSystem(path, bytes), random: .fixed("3"), cacheBytes: 1 << 20)
        var recovered = -1
        try typed { () throws(VaultError) in
            var options = CreateOptions()
            options.device = try Device(fileContents: Secret(bytes: [UInt8](1...48)))
            let report = try Vault.salvage(
                path, factors: try factors.factors(), to: "salvaged", newFactors: try factors.factors(),
                options: options, limits: limits,
                device: try Device(fileContents: Secret(bytes: [UInt8](1...48))), place: place)
            recovered = report.recovered
        }
        guard isSound, recovered >= 0 else { return }
        try Mismatch.require(
            recovered == contents.names.count,
            "salvaging recovers \(recovered) of \(contents.names.count) sound items")
    }
}

/// A raw key: that of all vaults that are made for fuzzing, unless another is given.
package struct FuzzFactors: ~Copyable {
    let rawKey: [UInt8]

    package static let usualKey = [UInt8](repeating: 0x2B, count: 32)

    package init(rawKey: [UInt8] = usualKey) { self.rawKey = rawKey }

    /// What opens a slot of this file: the key of the vectors, if it does, else that of all vaults made here.
    init(fitting bytes: [UInt8]) {
        let vectors = FuzzFactors(rawKey: VectorSeeds.rawKey)
        self = vectors.fit(bytes) ? vectors : FuzzFactors()
    }

    private borrowing func fit(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 16, let length = attempt({ () throws(FormatError) in try Header.length(bytes.span) }),
            length <= bytes.count
        else { return false }
        let region = Array(bytes[..<length])
        guard let header = attempt({ () throws(FormatError) in try Header(region.span) }) else { return false }
        do throws(VaultError) {
            _ = try SlotOpener.open(header, region, keys(), Reading.limits)
            return true
        } catch { return false }
    }

    borrowing func factors() throws(VaultError) -> Factors { try Factors(rawKey: Secret(bytes: rawKey)) }

    borrowing func keys() -> FactorKeys {
        FactorKeys(passphrase: nil, key: Secret(bytes: rawKey), fileHash: nil, kinds: .rawKey)
    }
}
