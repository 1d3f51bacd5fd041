// The header documents these functions, and gives them their names.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt

@c @implementation
public func vaultfmt_format_version() -> UInt32 { UInt32(Format.version) }

@c @implementation
public func vaultfmt_key_file_generate(_ out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    write(KeyFile.generate(), VAULTFMT_KEY_FILE_SIZE, to: out)
}

@c @implementation
public func vaultfmt_device_generate(_ out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    write(Device.random().fileContents(), VAULTFMT_DEVICE_SIZE, to: out)
}

/// Copies what was generated to memory of the caller's, which has that size.
private func write(_ secret: borrowing Secret, _ size: Int32, to out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    out?.update(repeating: 0, count: Int(size))
    let isWhole = secret.count == Int(size)
    secret.withUnsafeBytes { bytes in
        guard isWhole, let out, let start = bytes.baseAddress else { return }
        UnsafeMutableRawPointer(out).copyMemory(from: start, byteCount: bytes.count)
    }
    return status {
        _ = try given(out, "out")
        precondition(isWhole, "what is generated has the size that the header says")
    }
}
