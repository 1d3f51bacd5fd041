package import VaultBytes

/// The relation of a remembered state to the current one.
package enum Ancestry: Sendable, Equatable {
    case foreign
    case same
    case older
    case descends
    case forked
}

/// A record of a state whose proof the program has checked. It does not include the vault's id (section 7.2).
package struct AnchorPoint: Equatable, Sendable {
    package let ownersPublicKey: Bytes32
    /// The state's generation, used only in messages.
    package let generation: UInt64
    package let chain: Bytes32
    package let vector: Vector

    package init(ownersPublicKey: Bytes32, generation: UInt64, chain: Bytes32, vector: Vector) {
        self.ownersPublicKey = ownersPublicKey
        self.generation = generation
        self.chain = chain
        self.vector = vector
    }
}

extension Ancestry {
    /// Compares the vectors of two states that are under the same key.
    package init(of anchor: Vector, in state: Vector) {
        switch (state.hasSeen(all: anchor), anchor.hasSeen(all: state)) {
        case (true, true): self = .same
        case (true, false): self = .descends
        case (false, true): self = .older
        case (false, false): self = .forked
        }
    }
}

/// The hand-overs of a state. They form chains from replaced keys to the state's key.
package struct HandOvers {
    private let pages: PageSource
    private let listed: [HandOver]
    private let referrer: UInt64
    private let current: Bytes32
    /// The hand-overs read so far, by index; nil for a hand-over whose signature is not valid.
    private var known: [Int: Result<ProvenHandOver?, VaultError>] = [:]

    /// `current`: the state's public key for the owners.
    package init(_ keyring: Keyring, of commit: Commit, _ pages: PageSource, current: Bytes32) {
        self.pages = pages
        listed = keyring.handOvers
        referrer = commit.keyring.offset
        self.current = current
    }

    /// Returns the hand-overs on the chains from a key to the state's key, and the first error that occurred while a
    /// hand-over was being read.
    package mutating func leading(from key: Bytes32) -> (found: [ProvenHandOver], failure: VaultError?) {
        var found: [ProvenHandOver] = []
        var failure: VaultError?
        for index in listed.indices where listed[index].publicKey == key {
            do throws(VaultError) {
                guard let one = try proven(index), try leads(listed[index].next) else { continue }
                found.append(one)
            } catch { failure = failure ?? error }
        }
        return (found, failure)
    }

    /// Returns whether a chain of hand-overs leads from a key to the state's key.
    ///
    /// - Throws: The first error that occurred while a hand-over was being read, if no other chain exists.
    package mutating func leads(_ key: Bytes32) throws(VaultError) -> Bool {
        var reached: Set<Bytes32> = [key]
        var open = [key]
        var failure: VaultError?
        while let key = open.popLast() {
            if key == current { return true }
            for index in listed.indices where listed[index].publicKey == key && !reached.contains(listed[index].next) {
                do throws(VaultError) {
                    guard try proven(index) != nil else { continue }
                    reached.insert(listed[index].next)
                    open.append(listed[index].next)
                } catch { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        return false
    }

    /// Returns every hand-over with a valid signature.
    package mutating func all() throws(VaultError) -> [ProvenHandOver] {
        var all: [ProvenHandOver] = []
        for index in listed.indices { if let one = try proven(index) { all.append(one) } }
        return all
    }

    private mutating func proven(_ index: Int) throws(VaultError) -> ProvenHandOver? {
        if let known = known[index] { return try known.get() }
        do throws(VaultError) {
            let one = try pages.prove(listed[index], before: referrer)
            known[index] = .success(one)
            return one
        } catch {
            known[index] = .failure(error)
            throw error
        }
    }

    /// Returns the relation of a state under another key to this state.
    package mutating func verdict(on anchor: AnchorPoint) throws(VaultError) -> Ancestry {
        let (found, failure) = leading(from: anchor.ownersPublicKey)
        let isCovered = anchor.vector.rows.allSatisfy { row in
            found.contains { $0.vector.hasSeen(Dot(revision: row.revision, replica: row.id)) }
        }
        if !found.isEmpty, isCovered { return .descends }
        if let failure { throw failure }
        return found.isEmpty ? .foreign : .forked
    }
}
