package import VaultBytes
package import VaultCrypto

/// Opens and seals commits. Holds its keys itself; a scoped one has no owner key, checks no owner MAC, and seals nothing.
package final class CommitCodec: Sendable {
    private let index: Secret
    private let reader: Secret
    private let owner: Secret?
    private let sealing: Sealing
    private let vault: Bytes16

    package init(_ keys: borrowing VaultKeys, sealing: Sealing, vault: Bytes16) {
        index = keys.index.copy()
        reader = keys.reader.copy()
        switch keys.owner {
        case .some(let owner): self.owner = owner.mac.copy()
        case .none: owner = nil
        }
        self.sealing = sealing
        self.vault = vault
    }

    /// The body, if the frame is a commit that opens at this offset; its MACs are not yet checked.
    package func openBody(_ frame: [UInt8], at offset: UInt64) -> [UInt8]? {
        guard frame.count == Format.commitSize else { return nil }
        var isOpen = false
        let body = [UInt8](unsafeUninitializedCapacity: Format.commitBodySize) { buffer, count in
            let out = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: Format.commitBodySize)
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try sealing.open(
                        UnsafeRawBufferPointer(rebasing: frame[..<Format.commitMACStart]), as: .commit, at: offset, key: index, into: out)
                    isOpen = true
                } catch { isOpen = false }
            }
            count = isOpen ? Format.commitBodySize : 0
        }
        return isOpen ? body : nil
    }

    /// Whether the reader MAC is right. A torn write can lose both MACs, which are the frame's last 64 bytes, and nothing else: such a frame is no
    /// commit (section 7.1).
    package func isWhole(_ frame: [UInt8]) -> Bool {
        Bytes32(Array(frame[Format.commitMACStart..<Format.commitMACStart + Format.hashSize])) == macs(frame).reader
    }

    ///
    package func checkMACs(_ frame: [UInt8], at offset: UInt64) throws(VaultError) {
        let macs = macs(frame)
        let bytes = Array(frame[Format.commitMACStart...])
        let isReader = Bytes32(Array(bytes[..<32])) == macs.reader
        let isOwner = macs.owner == nil || Bytes32(Array(bytes[32...])) == macs.owner
        guard isReader else { throw VaultError(.authenticationFailed, "a commit does not authenticate: damaged or altered", at: offset) }
        guard isOwner else {
            throw VaultError(
                .tampered, "a commit was not made by an owner of this vault: made with a scoped slot's keys, or damaged", at: offset)
        }
    }

    /// A whole frame. Only who has the owner key calls this.
    package func seal(_ commit: Commit) -> [UInt8] {
        let body = commit.encode()
        var frame = [UInt8](repeating: 0, count: Format.commitMACStart)
        let head = FrameHead(.commit, length: Format.commitSize).encoded
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes { sealing.seal($0, as: .commit, at: commit.offset, head: head, key: index, into: frame) }
        }
        let macs = macs(frame)
        frame.append(macs.reader)
        frame.append(macs.owner ?? .zero)
        return frame
    }

    private func macs(_ frame: [UInt8]) -> (reader: Bytes32, owner: Bytes32?) {
        frame.withUnsafeBytes { bytes in
            let covered = UnsafeRawBufferPointer(rebasing: bytes[..<Format.commitMACStart])
            let reader = Bytes32(words: reader.mac("vaultfmt-1 commit reader", covered, prefix: vault.bytes))
            switch owner {
            case .some(let owner): return (reader, Bytes32(words: owner.mac("vaultfmt-1 commit owner", covered, prefix: vault.bytes)))
            case .none: return (reader, nil)
            }
        }
    }
}
