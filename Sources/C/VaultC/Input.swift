internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt

/// Checks and copies the arguments that callers pass.
enum Input {
    /// A limit greater than the limits for secrets, passphrases and key files; oversized input is rejected before it is
    /// copied.
    private static let mostBytes = 128 << 20

    static func buffer(_ bytes: vaultfmt_bytes) throws(VaultError) -> UnsafeRawBufferPointer? {
        guard let data = bytes.data else {
            guard bytes.size == 0 else { throw VaultError(.invalidArgument, "a NULL pointer with a nonzero size") }
            return nil
        }
        // A size of more than half of the address space appears as a negative number.
        guard (0...mostBytes).contains(bytes.size) else {
            throw VaultError(.limitExceeded, "\(UInt(bitPattern: bytes.size)) bytes exceeds the maximum size")
        }
        return UnsafeRawBufferPointer(start: data, count: bytes.size)
    }

    /// Returns a secret; nil if none was given.
    static func secret(_ bytes: vaultfmt_bytes) throws(VaultError) -> Secret? {
        guard let buffer = try buffer(bytes) else { return nil }
        return try Secret(allocatingCopyOf: buffer)
    }

    static func text(_ bytes: vaultfmt_bytes, _ name: some CustomStringConvertible) throws(VaultError) -> String? {
        guard let buffer = try buffer(bytes) else { return nil }
        let valid = try Memory.allocating(buffer.count) { String(validating: buffer, as: UTF8.self) }
        guard let text = valid else { throw VaultError(.invalidArgument, "\(name) is not UTF-8") }
        return text
    }

    static func array(_ bytes: vaultfmt_bytes) throws(VaultError) -> [UInt8] {
        guard let buffer = try buffer(bytes) else { return [] }
        return try Memory.allocating(buffer.count) { Array(buffer) }
    }

    /// Returns a path or other NUL-terminated text.
    static func string(_ text: UnsafePointer<CChar>?, _ name: StaticString) throws(VaultError) -> String {
        guard let text = String(validatingCString: try given(text, name)) else {
            throw VaultError(.invalidArgument, "\(name) is not UTF-8")
        }
        return text
    }

    static func elements<T>(_ start: UnsafePointer<T>?, _ count: Int, _ name: StaticString) throws(VaultError)
        -> UnsafeBufferPointer<T>
    {
        guard (0...65_536).contains(count) else { throw VaultError(.limitExceeded, "\(name): more than 65536 entries") }
        return UnsafeBufferPointer(start: count == 0 ? nil : try given(start, name), count: count)
    }

    // MARK: factors

    static func factors(_ pointer: UnsafePointer<vaultfmt_factors>?) throws(VaultError) -> Factors {
        let given = try given(pointer, sized: \.struct_size, "factors")
        if let rawKey = try secret(given.raw_key) {
            guard given.passphrase.data == nil, given.key_file.data == nil, given.external == nil else {
                throw VaultError(.invalidArgument, "a raw key cannot be combined with other factors")
            }
            return try Factors(rawKey: rawKey)
        }
        if let external = given.external {
            guard given.key_file.data == nil else {
                throw VaultError(
                    .invalidArgument, "an external key can be combined with a passphrase, but not with a key file")
            }
            return try Factors(external: try CallersProvider(external), passphrase: try secret(given.passphrase))
        }
        var keyFile: KeyFile?
        if let contents = try secret(given.key_file) { keyFile = try KeyFile(contents: contents) }
        return try Factors(passphrase: try secret(given.passphrase), keyFile: keyFile)
    }

    static func device(_ bytes: vaultfmt_bytes) throws(VaultError) -> Device? {
        guard let contents = try secret(bytes) else { return nil }
        return try Device(fileContents: contents)
    }

    // MARK: slots

    static func slotID(_ id: UnsafePointer<UInt8>?) throws(VaultError) -> SlotID {
        try slotID(Array(UnsafeBufferPointer(start: try given(id, "id"), count: 16)))
    }

    static func slotID(_ bytes: [UInt8]) throws(VaultError) -> SlotID {
        guard let id = SlotID(hex: Hex.encode(bytes)) else {
            throw VaultError(.invalidArgument, "a slot id must be 16 bytes long")
        }
        return id
    }
}
