internal import CSodium

/// Seals and opens with XChaCha20-Poly1305. Data that does not authenticate never leaves this file.
package enum AEAD {
    package static let overhead = 16

    /// Seals `plain` into `out`, which is 16 bytes longer and may start at the same address.
    package static func seal(
        _ plain: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer, nonce: UnsafeRawPointer,
        bound data: UnsafeRawBufferPointer, key: borrowing Secret
    ) {
        precondition(out.count == plain.count + overhead && key.count == 32, "the caller must fix the sizes")
        key.withUnsafeBytes { key in
            _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
                out.u8, nil, plain.u8,
                UInt64(plain.count), data.u8, UInt64(data.count), nil,
                nonce.assumingMemoryBound(to: UInt8.self), key.u8)
        }
    }

    /// Opens `sealed` into `out`, which is 16 bytes shorter. If the tag is wrong, `out` contains only zeros.
    package static func open(
        _ sealed: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer, nonce: UnsafeRawPointer,
        bound data: UnsafeRawBufferPointer, key: borrowing Secret
    ) throws(CryptoError) {
        precondition(sealed.count == out.count + overhead && key.count == 32, "the caller must check the sizes")
        let result = key.withUnsafeBytes { key in
            crypto_aead_xchacha20poly1305_ietf_decrypt(
                out.u8, nil, nil, sealed.u8,
                UInt64(sealed.count), data.u8, UInt64(data.count),
                nonce.assumingMemoryBound(to: UInt8.self), key.u8)
        }
        guard result == 0 else {
            if let start = out.baseAddress { sodium_memzero(start, out.count) }
            throw .authenticationFailed
        }
    }
}

extension AEAD {
    /// Seals a small secret under a new nonce, and returns nonce ‖ sealed secret.
    package static func wrap(
        _ plain: borrowing Secret, _ data: borrowing [UInt8], key: borrowing Secret, _ random: Randomness
    ) -> [UInt8] {
        let nonce = random.bytes(24)
        return plain.withUnsafeBytes { plain in
            [UInt8](unsafeUninitializedCapacity: 24 + plain.count + overhead) { buffer, count in
                let out = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: 24 + plain.count + overhead)
                out.copyBytes(from: nonce)
                nonce.withUnsafeBytes { nonce in
                    data.withUnsafeBytes { data in
                        guard let start = nonce.baseAddress else { return }
                        seal(
                            plain, into: UnsafeMutableRawBufferPointer(rebasing: out[24...]), nonce: start, bound: data,
                            key: key)
                    }
                }
                count = out.count
            }
        }
    }

    /// Opens nonce ‖ sealed secret.
    package static func unwrap(_ wrapped: [UInt8], _ data: borrowing [UInt8], key: borrowing Secret) throws(CryptoError)
        -> Secret
    {
        guard wrapped.count >= 24 + overhead else { throw .authenticationFailed }
        var out = try Secret(ifPossible: wrapped.count - 24 - overhead)
        try out.withUnsafeMutableBytes { (out) throws(CryptoError) in
            try wrapped.span.bytes.withUnsafeBytes { (wrapped) throws(CryptoError) in
                try data.span.bytes.withUnsafeBytes { (data) throws(CryptoError) in
                    guard let nonce = wrapped.baseAddress else { throw .authenticationFailed }
                    try open(
                        UnsafeRawBufferPointer(rebasing: wrapped[24...]), into: out, nonce: nonce, bound: data, key: key
                    )
                }
            }
        }
        return out
    }
}
