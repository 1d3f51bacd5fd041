package import VaultFmt

/// All factors that were given or typed. They open any slot that requires no other factors and that requires each
/// factor that an option names.
package struct GivenFactors: ~Copyable {
    /// The factors that options name, apart from a raw key, which is always used alone.
    ///
    /// An option is a choice of slot, whereas a variable applies to every command and every vault. A slot is therefore
    /// tried only if it requires all of these factors; factors from variables can complete them, but open no slot
    /// alone.
    package struct Named: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let passphrase = Named(rawValue: 1)
        package static let keyFile = Named(rawValue: 2)
        package static let external = Named(rawValue: 4)

        /// The factors that a slot requires.
        init(requiredBy kinds: FactorKinds) {
            var all: Named = []
            if kinds.contains(.passphrase) { all.insert(.passphrase) }
            if !kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile]) { all.insert(.keyFile) }
            if kinds.contains(.externalKey) { all.insert(.external) }
            self = all
        }
    }

    package var passphrase: Secret?
    /// The contents of the key file.
    package var keyFile: Secret?
    package var rawKey: Secret?
    /// The source of an external key, such as recipients or identities.
    package var external: (any SlotFactor)?
    /// Which of the given factors options name.
    package var named: Named

    package init(
        passphrase: consuming Secret?, keyFile: consuming Secret?, rawKey: consuming Secret?,
        external: (any SlotFactor)? = nil, named: Named = []
    ) {
        self.passphrase = passphrase
        self.keyFile = keyFile
        self.rawKey = rawKey
        self.external = external
        self.named = named
    }

    /// Returns a copy of these factors.
    package borrowing func copy() -> GivenFactors {
        GivenFactors(
            passphrase: passphrase?.copy(), keyFile: keyFile?.copy(), rawKey: rawKey?.copy(), external: external,
            named: named)
    }

    /// Copies only the given factors that a slot requires.
    package init(_ given: borrowing GivenFactors, only kinds: FactorKinds) {
        passphrase = kinds.contains(.passphrase) ? given.passphrase?.copy() : nil
        keyFile = kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile]) ? nil : given.keyFile?.copy()
        rawKey = kinds.contains(.rawKey) ? given.rawKey?.copy() : nil
        external = kinds.contains(.externalKey) ? given.external : nil
        named = given.named.intersection(Named(requiredBy: kinds))
    }

    /// True if there are no factors.
    package var isEmpty: Bool {
        borrowing get {
            switch (passphrase == nil, keyFile == nil, rawKey == nil) {
            case (true, true, true): external == nil
            default: false
            }
        }
    }

    /// Returns the combinations of factors that slots can require, most specific first: those with more factors, then
    /// those without stretching. Each includes all factors that options name.
    package borrowing func combinations() throws(VaultError) -> [FactorKinds] {
        if rawKey != nil { return [.rawKey] }
        let kind = try keyFileKind()
        let hasPassphrase = passphrase != nil
        var all: [FactorKinds] = []
        if external != nil { all += hasPassphrase ? [[.externalKey, .passphrase], .externalKey] : [.externalKey] }
        switch (kind, hasPassphrase) {
        case (let kind?, true): all += [[.passphrase, kind], kind, .passphrase]
        case (let kind?, false): all.append(kind)
        case (nil, true): all.append(.passphrase)
        case (nil, false): break
        }
        let named = self.named
        return all.filter { Named(requiredBy: $0).isSuperset(of: named) }
    }

    /// Returns the combinations in the order in which to try them.
    ///
    /// If options name factors, the combination of exactly these comes first: it identifies a slot, for example the one
    /// to change, and variables must not replace it by another.
    package borrowing func attempts() throws(VaultError) -> [FactorKinds] {
        let all = try combinations()
        let named = self.named
        let asNamed = all.filter { Named(requiredBy: $0) == named }
        return asNamed + all.filter { !asNamed.contains($0) }
    }

    /// Returns the kind of the given key file; nil if there is none.
    package borrowing func keyFileKind() throws(VaultError) -> FactorKinds? {
        guard let file = try readKeyFile() else { return nil }
        return file.isGenerated ? .generatedKeyFile : .otherKeyFile
    }

    /// Returns the factors of these kinds, in the form that the library requires.
    package borrowing func factors(_ kinds: FactorKinds) throws(VaultError) -> Factors {
        if let rawKey = rawKey?.copy(), kinds.contains(.rawKey) { return try Factors(rawKey: rawKey) }
        var passphrase: Secret?
        if kinds.contains(.passphrase) { passphrase = self.passphrase?.copy() }
        if let external, kinds.contains(.externalKey) { return try Factors(external: external, passphrase: passphrase) }
        let withKeyFile = !kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
        return try Factors(passphrase: passphrase, keyFile: withKeyFile ? readKeyFile() : nil)
    }

    /// Returns all factors together, for a new slot. Throws `noSlotOpens` if there are none.
    package borrowing func together() throws(VaultError) -> Factors {
        guard let all = try combinations().first else {
            throw VaultError(.noSlotOpens, "no factor is given; specify a passphrase or a key file")
        }
        return try factors(all)
    }

    /// Calls `body` with each combination that a slot can require until a call does not throw `noSlotOpens`. If every
    /// call throws it, throws one of these errors: if possible, the error for a combination that a slot requires.
    ///
    /// If a provider fails, for example because a program or a device is missing, other factors are still tried; the
    /// provider's error is thrown if they do not open the vault.
    package borrowing func tryEach<R: ~Copyable>(
        _ body: (borrowing Factors, FactorKinds) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        let mostSpecific = try combinations().first
        var (refused, failed): (VaultError?, VaultError?)
        for kinds in try attempts() {
            do throws(VaultError) { return try body(try factors(kinds), kinds) } catch {
                switch error.code {
                case .noSlotOpens:
                    let isTelling = error.triedSlot && (kinds == mostSpecific || refused?.triedSlot == false)
                    if isTelling || refused == nil { refused = error }
                case _ where kinds.contains(.externalKey): failed = failed ?? error
                default: throw error
                }
            }
        }
        throw failed ?? refused ?? VaultError(.noSlotOpens, "no factor is given")
    }

    private borrowing func readKeyFile() throws(VaultError) -> KeyFile? {
        switch keyFile {
        case .some(let contents): try KeyFile(contents: contents)
        case .none: nil
        }
    }
}
