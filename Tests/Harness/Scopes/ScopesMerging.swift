internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Imports, restored values and merges: what they write is sealed for as few as what a change writes.
extension ScopesVault {
    /// The devices of an owner.
    private func devices(_ owner: Int) -> Set<Int> { owner < 2 ? [owner] : [] }

    /// An item that an owner can open.
    private func someItem(_ owner: Int, _ isRight: (ScopesModel.Item) -> Bool = { _ in true }) -> ScopesModel.Item? {
        let opener = Opener(groups: nil, devices: devices(owner))
        return model.items.filter { opener.opens($0.placement) && isRight($0) }.randomElement(using: &numbers)
    }

    /// Earlier values come with an import.
    func importValues(_ owner: Int) throws {
        guard let item = someItem(owner) else { return try transaction(owner) }
        let count = 1 + numbers.below(3)
        let texts = model.importEarlier(count, to: item, version: version, devices: devices(owner))
        tell("imports \(texts) to \(item.number)", owner)
        let values = texts.map { NewEarlierValue(secret: Secret(bytes: Array($0.utf8)), replaced: 1) }
        try owners[owner].transaction { (transaction) throws(VaultError) in
            _ = try transaction.addEarlierValues(values, to: item.key)
        }
    }

    /// An earlier value is shown again.
    func restore(_ owner: Int) throws {
        let devices = devices(owner)
        guard let item = someItem(owner, { !$0.earlier.isEmpty }) else { return try transaction(owner) }
        var found: (value: EarlierValue, text: String)?
        for value in try owners[owner].earlierValues(of: item.key) {
            do throws(VaultError) {
                let text = try owners[owner].open(value).secret.withUnsafeBytes { bytes in
                    String(decoding: bytes.drop { $0 == ScopesVault.filling }, as: UTF8.self)
                }
                if found == nil || numbers.chance(2) { found = (value, text) }
            } catch { guard error.code == .deviceBound else { throw error } }
        }
        guard let (value, text) = found, let field = text.last else { return try transaction(owner) }
        tell("restores \(text) of \(item.number)", owner)
        try owners[owner].restore(value, of: item.key)
        var new = item
        new.restore(field, text)
        model.put(new, version: version, devices: devices)
    }

    // MARK: merges

    /// An owner changes some items in a copy and others in the vault, perhaps one in both, and merges them.
    func merge(_ owner: Int) throws {
        files.put(Self.copyPath, bytes)
        let copy = try openCopy(owner)
        let half = numbers.below(2)
        // What the copy adds is not in the vault.
        let known = Set(model.items.map(\.number))
        let shared = numbers.chance(2) ? someItem(owner, { $0.placement.device == nil && $0.number % 2 == half }) : nil
        tell("merges a copy in which", owner)
        let before = (here: owners[owner].state, there: copy.state)
        let base = model.items
        try transaction(owner, in: copy) { $0 % 2 == half && $0 != shared?.number }
        // What loses is never shown in the vault, so the model does not put it there.
        let losing = try shared.map { try setSecret(of: $0.number, in: copy, owner).secret }
        let order = model.newNumber()
        let added = Set(model.items.map(\.number)).subtracting(known)
        func isCopys(_ item: ScopesModel.Item) -> Bool {
            let number = item.number
            return added.contains(number) || (number % 2 == half && known.contains(number) && number != shared?.number)
        }
        func noteOurs() throws { try note(model.items.filter { !isCopys($0) } + base.filter(isCopys)) }
        files.setClock(1_700_000_000_000 + Int64(version) * 1000 + 500)
        try transaction(owner) { $0 % 2 != half && known.contains($0) }
        try noteOurs()
        if let shared {
            let item = try setSecret(of: shared.number, in: owners[owner], owner)
            model.put(item, version: version, devices: devices(owner))
            try noteOurs()
        }
        // A transaction that forgets what is not there changes nothing.
        let hasChanged = (here: owners[owner].state != before.here, there: copy.state != before.there)
        let report = try owners[owner].merge(copy)
        let expected: MergeReport.Outcome =
            hasChanged.here ? (hasChanged.there ? .merged : .ours) : (hasChanged.there ? .theirs : .same)
        guard report.outcome == expected else { throw Wrong("a merge is \(report.outcome), not \(expected)") }
        if let shared, let losing {
            model.leaveOpen(losing, of: shared.number, order: order, version: version, devices: devices(owner))
        }
        try files.remove(Self.copyPath)
    }

    private func openCopy(_ owner: Int) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.device = try devices(owner).first.map { try Self.device($0) }
        let place = Store.Place(fileSystem: files, random: .fixed(Numbers(numbers.next())), cacheBytes: 1 << 20)
        return try Vault.open(Self.copyPath, factors: try Self.factors(ownerKey), options: options, place: place)
    }

    /// Sets the secret of an item in a vault; returns the item with it.
    private func setSecret(of number: Int, in vault: Vault, _ owner: Int) throws -> ScopesModel.Item {
        guard var item = model.items.first(where: { $0.number == number }) else { throw Wrong("no item \(number)") }
        item.secret = model.newMark("s", item: number)
        tell("sets \(item.secret)", owner)
        try vault.set(item.key, secret: Secret(bytes: Array(item.secret.utf8)))
        return item
    }
}
