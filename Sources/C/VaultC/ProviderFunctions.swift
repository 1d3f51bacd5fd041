// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt

@c @implementation
public func vaultfmt_wrapped_set(
    _ wrapped: OpaquePointer?, _ parameters: vaultfmt_bytes, _ owners_data: vaultfmt_bytes, _ key: vaultfmt_bytes
) -> vaultfmt_status {
    status {
        let wrapped = try Handle.wrapped(wrapped)
        guard (0...Format.Limit.providerParameters).contains(parameters.size),
            (0...Format.Limit.providerData).contains(owners_data.size)
        else { throw VaultError(.limitExceeded, "a provider's parameters and data must not exceed 16,384 bytes each") }
        wrapped.set(try Input.array(parameters), try Input.array(owners_data), try externalKey(key))
    }
}

@c @implementation
public func vaultfmt_candidates_add(
    _ candidates: OpaquePointer?, _ slot: Int, _ key: vaultfmt_bytes
) -> vaultfmt_status {
    status { try Handle.candidates(candidates).add(try externalKey(key), for: slot) }
}

private func externalKey(_ bytes: vaultfmt_bytes) throws(VaultError) -> Secret {
    guard bytes.size == Format.keySize, let key = try Input.secret(bytes) else {
        throw VaultError(
            .invalidArgument, "an external key must be exactly 32 bytes long, not \(UInt(bitPattern: bytes.size))")
    }
    return key
}
