// The header documents these functions, and gives them their names.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt

@c @implementation
public func vaultfmt_format_version() -> UInt32 { UInt32(Format.version) }

@c @implementation
public func vaultfmt_key_file_generate(_ out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    write(KeyFile.generate, VAULTFMT_KEY_FILE_SIZE, to: out)
}

@c @implementation
public func vaultfmt_device_generate(_ out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    write({ Device.random().fileContents() }, VAULTFMT_DEVICE_SIZE, to: out)
}

/// Copies what is generated to memory of the caller's, which has that size.
private func write(_ generate: () -> Secret, _ size: Int32, to out: UnsafeMutablePointer<UInt8>?) -> vaultfmt_status {
    out?.update(repeating: 0, count: Int(size))
    return status {
        let out = try given(out, "out")
        let secret = generate()
        precondition(secret.count == Int(size), "what is generated has the size that the header says")
        secret.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            UnsafeMutableRawPointer(out).copyMemory(from: start, byteCount: bytes.count)
        }
    }
}
