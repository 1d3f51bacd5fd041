import VaultBytes
import VaultCrypto
import VaultStore

/// Somebody who holds the index key, as a scoped holder does, and owner keys of their own making.
enum Forger {
    /// A commit's frame with the proof of other owners.
    static func seal(_ commit: Commit, _ store: Store, owner byte: UInt8 = 99, at offset: UInt64? = nil) -> [UInt8] {
        let core = commit.encode()
        let chain = core.withUnsafeBytes { CommitProof.chain(vault: store.vault, core: $0) }
        let owner = Lab.owner(byte)
        let body = core + CommitProof.mac(chain, key: owner.mac).bytes + CommitProof.sign(chain, owner.signing())
        var frame = [UInt8](repeating: 0, count: Format.commitSize)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes { body in
                store.sealing.seal(
                    body, as: .commit, at: offset ?? commit.offset, head: FrameHead.commit, key: store.slot.keys.index,
                    into: frame)
            }
        }
        return frame
    }

    /// A commit that follows the newest one and changes nothing.
    static func successor(of store: Store) -> Commit {
        var commit = store.state.commit
        commit.generation += 1
        commit.predecessor = store.state.asPredecessor
        commit.start = store.state.commit.end
        commit.offset = commit.start
        commit.wasSyncedFirst = true
        return commit
    }
}
