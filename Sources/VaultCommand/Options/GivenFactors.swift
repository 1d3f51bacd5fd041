import VaultFmt

/// All factors that were given or typed: a slot opens if it takes no others.
struct GivenFactors: ~Copyable {
    var passphrase: Secret?
    /// The contents of the key file.
    var keyFile: Secret?
    var rawKey: Secret?

    init(passphrase: consuming Secret?, keyFile: consuming Secret?, rawKey: consuming Secret?) {
        self.passphrase = passphrase
        self.keyFile = keyFile
        self.rawKey = rawKey
    }

    /// A second holder of the same factors.
    borrowing func copy() -> GivenFactors {
        GivenFactors(passphrase: passphrase?.copy(), keyFile: keyFile?.copy(), rawKey: rawKey?.copy())
    }

    /// Of the factors given, those that a slot takes.
    init(_ given: borrowing GivenFactors, only kinds: FactorKinds) {
        passphrase = kinds.contains(.passphrase) ? given.passphrase?.copy() : nil
        keyFile = kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile]) ? nil : given.keyFile?.copy()
        rawKey = kinds.contains(.rawKey) ? given.rawKey?.copy() : nil
    }

    /// What slots can take, the most telling first: what needs more factors, then what needs no stretching.
    borrowing func combinations() throws(CommandFailure) -> [FactorKinds] {
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
    borrowing func keyFileKind() throws(CommandFailure) -> FactorKinds? {
        do throws(VaultError) {
            guard let file = try readKeyFile() else { return nil }
            return file.isGenerated ? .generatedKeyFile : .otherKeyFile
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The factors of these kinds, as the library takes them.
    borrowing func factors(_ kinds: FactorKinds) throws(CommandFailure) -> Factors {
        do throws(VaultError) {
            if let rawKey = rawKey?.copy(), kinds.contains(.rawKey) { return try Factors(rawKey: rawKey) }
            var passphrase: Secret?
            if kinds.contains(.passphrase) { passphrase = self.passphrase?.copy() }
            let withKeyFile = !kinds.isDisjoint(with: [.generatedKeyFile, .otherKeyFile])
            return try Factors(passphrase: passphrase, keyFile: withKeyFile ? readKeyFile() : nil)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// All of them together, for a slot that is made.
    borrowing func together() throws(CommandFailure) -> Factors {
        guard let all = try combinations().first else {
            throw CommandFailure(.noAccess, "no factor is given; give a passphrase or a key file")
        }
        return try factors(all)
    }

    private borrowing func readKeyFile() throws(VaultError) -> KeyFile? {
        switch keyFile {
        case .some(let contents): try KeyFile(contents: contents)
        case .none: nil
        }
    }
}
