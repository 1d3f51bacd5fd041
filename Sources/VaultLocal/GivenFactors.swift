package import VaultFmt

/// All factors that were given or typed. They open any slot that requires no other factors.
package struct GivenFactors: ~Copyable {
    package var passphrase: Secret?
    /// The contents of the key file.
    package var keyFile: Secret?
    package var rawKey: Secret?
    /// The source of an external key, such as recipients or identities.
    package var external: (any SlotFactor)?

    package init(
        passphrase: consuming Secret?, keyFile: consuming Secret?, rawKey: consuming Secret?,
        external: (any SlotFactor)? = nil
    ) {
        self.passphrase = passphrase
        self.keyFile = keyFile
        self.rawKey = rawKey
        self.external = external
    }

    /// Returns a copy of these factors.
    package borrowing func copy() -> GivenFactors {
        GivenFactors(
            passphrase: passphrase?.copy(), keyFile: keyFile?.copy(), rawKey: rawKey?.copy(), external: external)
    }

    /// Copies only the given factors that a slot requires.
    package init(_ given: borrowing GivenFactors, only kinds: FactorKinds) {
        passphrase = kinds.contains(.passphrase) ? given.passphrase?.copy() : nil
        keyFile = kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile]) ? nil : given.keyFile?.copy()
        rawKey = kinds.contains(.rawKey) ? given.rawKey?.copy() : nil
        external = kinds.contains(.externalKey) ? given.external : nil
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
    /// those without stretching.
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
        return all
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

    /// Calls `body` with each combination that a slot can require until a call does not throw `noSlotOpens`; if every
    /// call does, throws the first of these errors.
    ///
    /// If a provider fails, for example because a program or a device is missing, other factors are still tried; the
    /// provider's error is thrown if they do not open the vault.
    package borrowing func tryEach<R: ~Copyable>(
        _ body: (borrowing Factors, FactorKinds) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        var (first, failed): (VaultError?, VaultError?)
        for kinds in try combinations() {
            do throws(VaultError) { return try body(try factors(kinds), kinds) } catch {
                switch error.code {
                case .noSlotOpens: first = first ?? error
                case _ where kinds.contains(.externalKey): failed = failed ?? error
                default: throw error
                }
            }
        }
        throw failed ?? first ?? VaultError(.noSlotOpens, "no factor is given")
    }

    private borrowing func readKeyFile() throws(VaultError) -> KeyFile? {
        switch keyFile {
        case .some(let contents): try KeyFile(contents: contents)
        case .none: nil
        }
    }
}
