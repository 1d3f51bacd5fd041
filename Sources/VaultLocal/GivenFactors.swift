package import VaultFmt

/// All factors that were given or typed: a slot opens if it takes no others.
package struct GivenFactors: ~Copyable {
    package var passphrase: Secret?
    /// The contents of the key file.
    package var keyFile: Secret?
    package var rawKey: Secret?

    package init(passphrase: consuming Secret?, keyFile: consuming Secret?, rawKey: consuming Secret?) {
        self.passphrase = passphrase
        self.keyFile = keyFile
        self.rawKey = rawKey
    }

    /// A second holder of the same factors.
    package borrowing func copy() -> GivenFactors {
        GivenFactors(passphrase: passphrase?.copy(), keyFile: keyFile?.copy(), rawKey: rawKey?.copy())
    }

    /// Of the factors given, those that a slot takes.
    package init(_ given: borrowing GivenFactors, only kinds: FactorKinds) {
        passphrase = kinds.contains(.passphrase) ? given.passphrase?.copy() : nil
        keyFile = kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile]) ? nil : given.keyFile?.copy()
        rawKey = kinds.contains(.rawKey) ? given.rawKey?.copy() : nil
    }

    /// Whether there is none.
    package var isEmpty: Bool {
        borrowing get {
            switch (passphrase == nil, keyFile == nil, rawKey == nil) {
            case (true, true, true): true
            default: false
            }
        }
    }

    /// What slots can take, the most telling first: what needs more factors, then what needs no stretching.
    package borrowing func combinations() throws(VaultError) -> [FactorKinds] {
        if rawKey != nil { return [.rawKey] }
        let kind = try keyFileKind()
        switch (kind, passphrase != nil) {
        case (let kind?, true): return [[.passphrase, kind], kind, .passphrase]
        case (let kind?, false): return [kind]
        case (nil, true): return [.passphrase]
        case (nil, false): return []
        }
    }

    /// Which kind of key file was given, or nil for none.
    package borrowing func keyFileKind() throws(VaultError) -> FactorKinds? {
        guard let file = try readKeyFile() else { return nil }
        return file.isGenerated ? .generatedKeyFile : .otherKeyFile
    }

    /// The factors of these kinds, as the library takes them.
    package borrowing func factors(_ kinds: FactorKinds) throws(VaultError) -> Factors {
        if let rawKey = rawKey?.copy(), kinds.contains(.rawKey) { return try Factors(rawKey: rawKey) }
        var passphrase: Secret?
        if kinds.contains(.passphrase) { passphrase = self.passphrase?.copy() }
        let withKeyFile = !kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
        return try Factors(passphrase: passphrase, keyFile: withKeyFile ? readKeyFile() : nil)
    }

    /// All of them together, for a slot that is made. Throws `noSlotOpens` if there is none.
    package borrowing func together() throws(VaultError) -> Factors {
        guard let all = try combinations().first else {
            throw VaultError(.noSlotOpens, "no factor is given; give a passphrase or a key file")
        }
        return try factors(all)
    }

    /// Calls `body` with what slots can take, until it does not throw `noSlotOpens`; throws the first of those else.
    package borrowing func tryEach<R: ~Copyable>(
        _ body: (borrowing Factors, FactorKinds) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        var first: VaultError?
        for kinds in try combinations() {
            do throws(VaultError) { return try body(try factors(kinds), kinds) } catch {
                guard error.code == .noSlotOpens else { throw error }
                first = first ?? error
            }
        }
        throw first ?? VaultError(.noSlotOpens, "no factor is given")
    }

    private borrowing func readKeyFile() throws(VaultError) -> KeyFile? {
        switch keyFile {
        case .some(let contents): try KeyFile(contents: contents)
        case .none: nil
        }
    }
}
