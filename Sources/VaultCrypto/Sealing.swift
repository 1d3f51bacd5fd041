package import VaultBytes

/// Seals and opens whole frames of one vault, with the associated data of each kind (section 4).
package struct Sealing: Sendable {
    package let vault: Bytes16
    package let random: Randomness
    /// The beginning of every record's associated data.
    private let recordData: AssociatedData

    package init(vault: Bytes16, random: Randomness) {
        self.vault = vault
        self.random = random
        recordData = AssociatedData(Label.record, vault: vault)
    }

    /// The kinds of objects whose seal is bound to their own offset.
    package enum Placed: Sendable {
        case page
        case past
        case keyring
        case vector
        case commit

        var label: StaticString {
            switch self {
            case .page: Label.page
            case .past: Label.past
            case .keyring: Label.keyring
            case .vector: Label.vector
            case .commit: Label.commit
            }
        }
    }

    /// The identity that a record is bound to.
    package struct RecordIdentity: Sendable {
        package let item: Bytes16
        package let revision: UInt64
        package let compartment: UInt64

        package init(item: Bytes16, revision: UInt64, compartment: UInt64) {
            self.item = item
            self.revision = revision
            self.compartment = compartment
        }
    }

    /// A record's nonce, drawn before the record is sealed.
    package struct RecordNonce: Sendable {
        /// The first eight bytes as a big-endian number.
        let start: UInt64
        /// The other sixteen bytes as stored in memory.
        let rest: (UInt64, UInt64)

        package init(start: UInt64, rest: (UInt64, UInt64)) {
            self.start = start
            self.rest = rest
        }
    }

    private static let headSize = Format.frameHeadSize
    private static let bodyStart = Format.bodyStart
    private static let locatorSize = Format.locatorSize

    // MARK: objects bound to their offset

    /// Fills `frame` (head ‖ nonce ‖ sealed body) from a body that is 48 bytes shorter.
    package func seal(
        _ body: UnsafeRawBufferPointer, as kind: Placed, at offset: UInt64, head: UInt64, key: borrowing Secret,
        into frame: UnsafeMutableRawBufferPointer
    ) {
        frame.storeBytes(of: head.littleEndian, as: UInt64.self)
        guard let start = frame.baseAddress else { return }
        random.fill(UnsafeMutableRawBufferPointer(start: start + Self.headSize, count: 24))
        data(kind, offset, head).withUnsafeBytes { data in
            AEAD.seal(
                body, into: UnsafeMutableRawBufferPointer(rebasing: frame[Self.bodyStart...]),
                nonce: start + Self.headSize, bound: data,
                key: key)
        }
    }

    /// Opens head ‖ nonce ‖ sealed body into `out`, which is 48 bytes shorter.
    package func open(
        _ frame: UnsafeRawBufferPointer, as kind: Placed, at offset: UInt64, key: borrowing Secret,
        into out: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard let start = frame.baseAddress else { throw .authenticationFailed }
        let data = data(kind, offset, UInt64(littleEndian: frame.loadUnaligned(as: UInt64.self)))
        try data.opening { (data) throws(CryptoError) in
            try AEAD.open(
                UnsafeRawBufferPointer(rebasing: frame[Self.bodyStart...]), into: out, nonce: start + Self.headSize,
                bound: data, key: key)
        }
    }

    private func data(_ kind: Placed, _ offset: UInt64, _ head: UInt64) -> AssociatedData {
        var data = AssociatedData(kind.label, vault: vault)
        data.append(offset)
        data.append(head)
        return data
    }

    // MARK: records

    /// The offset of a record's sealed body in its frame.
    package static var recordBodyStart: Int { bodyStart + locatorSize }

    /// Fills a record's frame (head ‖ nonce ‖ locator ‖ sealed body) from a body that is 80 bytes shorter. The body may
    /// already be in the frame, at the position of its sealed form.
    ///
    /// `nonce`: a nonce that was drawn for this record only; nil to draw one.
    package func sealRecord(
        _ body: UnsafeRawBufferPointer, _ identity: RecordIdentity, head: UInt64, nonce drawn: RecordNonce? = nil,
        key: borrowing Secret,
        locatorKey: borrowing Secret, into frame: UnsafeMutableRawBufferPointer
    ) {
        frame.storeBytes(of: head.littleEndian, as: UInt64.self)
        guard let start = frame.baseAddress else { return }
        if let drawn {
            frame.storeBytes(of: drawn.start.bigEndian, toByteOffset: Self.headSize, as: UInt64.self)
            frame.storeBytes(of: drawn.rest.0, toByteOffset: Self.headSize + 8, as: UInt64.self)
            frame.storeBytes(of: drawn.rest.1, toByteOffset: Self.headSize + 16, as: UInt64.self)
        } else {
            random.fill(UnsafeMutableRawBufferPointer(start: start + Self.headSize, count: 24))
        }
        let nonce = UnsafeRawPointer(start + Self.headSize)
        writeLocator(identity, at: start + Self.bodyStart, nonce: nonce, key: locatorKey)
        data(identity, head).withUnsafeBytes { data in
            let sealed = UnsafeMutableRawBufferPointer(rebasing: frame[Self.recordBodyStart...])
            AEAD.seal(body, into: sealed, nonce: nonce, bound: data, key: key)
        }
    }

    /// Opens a record's frame into `out`, which is 80 bytes shorter.
    package func openRecord(
        _ frame: UnsafeRawBufferPointer, _ identity: RecordIdentity, key: borrowing Secret,
        into out: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard let start = frame.baseAddress else { throw .authenticationFailed }
        let data = data(identity, UInt64(littleEndian: frame.loadUnaligned(as: UInt64.self)))
        try data.opening { (data) throws(CryptoError) in
            let sealed = UnsafeRawBufferPointer(rebasing: frame[Self.recordBodyStart...])
            try AEAD.open(sealed, into: out, nonce: start + Self.headSize, bound: data, key: key)
        }
    }

    /// Returns the identity stated in a record's locator. The identity is unauthenticated until the record opens with
    /// it; use it only for recovery and verification.
    package func claimedIdentity(_ frame: UnsafeRawBufferPointer, locatorKey: borrowing Secret) -> RecordIdentity {
        var plain: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &plain) { out in
            guard let start = frame.baseAddress, let out = out.baseAddress else { return }
            out.copyMemory(from: start + Self.bodyStart, byteCount: Self.locatorSize)
            Self.mask(out, nonce: start + Self.headSize, key: locatorKey)
        }
        return RecordIdentity(
            item: Bytes16(high: plain.0.bigEndian, low: plain.1.bigEndian), revision: UInt64(littleEndian: plain.3),
            compartment: UInt64(littleEndian: plain.2))
    }

    /// Masks a record's locator under a different key. The record need not be resealed, because the seal does not cover
    /// the locator.
    package func relocate(_ frame: UnsafeMutableRawBufferPointer, from old: borrowing Secret, to new: borrowing Secret)
    {
        let identity = claimedIdentity(UnsafeRawBufferPointer(frame), locatorKey: old)
        guard let start = frame.baseAddress else { return }
        writeLocator(identity, at: start + Self.bodyStart, nonce: start + Self.headSize, key: new)
    }

    private func writeLocator(
        _ identity: RecordIdentity, at out: UnsafeMutableRawPointer, nonce: UnsafeRawPointer, key: borrowing Secret
    ) {
        var locator = (
            identity.item.words.0, identity.item.words.1, identity.compartment.littleEndian,
            identity.revision.littleEndian
        )
        withUnsafeBytes(of: &locator) { plain in
            guard let plain = plain.baseAddress else { return }
            out.copyMemory(from: plain, byteCount: Self.locatorSize)
        }
        Self.mask(out, nonce: nonce, key: key)
    }

    /// XORs a locator with its mask (section 5.1); the same operation hides and reveals it.
    private static func mask(_ locator: UnsafeMutableRawPointer, nonce: UnsafeRawPointer, key: borrowing Secret) {
        let mask = key.mac(Label.locatorMask, UnsafeRawBufferPointer(start: nonce, count: 24))
        withUnsafeBytes(of: mask.words) { mask in
            for index in 0..<locatorSize {
                let byte = locator.load(fromByteOffset: index, as: UInt8.self)
                locator.storeBytes(of: byte ^ mask[index], toByteOffset: index, as: UInt8.self)
            }
        }
    }

    private func data(_ identity: RecordIdentity, _ head: UInt64) -> AssociatedData {
        var data = recordData
        data.append(identity.item)
        data.append(identity.compartment)
        data.append(identity.revision)
        data.append(head)
        return data
    }
}

extension AssociatedData {
    /// Passes the bytes to a function that may throw an authentication error.
    fileprivate func opening(_ body: (UnsafeRawBufferPointer) throws(CryptoError) -> Void) throws(CryptoError) {
        let result: Result<Void, CryptoError> = withUnsafeBytes { data in
            do throws(CryptoError) {
                try body(data)
                return .success(())
            } catch { return .failure(error) }
        }
        try result.get()
    }
}

extension RecordRef {
    /// Returns the identity that the record is bound to.
    package func identity(of item: Bytes16) -> Sealing.RecordIdentity {
        Sealing.RecordIdentity(item: item, revision: revision, compartment: compartment)
    }
}
