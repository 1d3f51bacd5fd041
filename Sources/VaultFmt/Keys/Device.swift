internal import VaultBytes

/// The secret of one device, kept outside of vaults: items for *this device only* need it in addition to the vault's
/// own key.
///
/// Without secure hardware it is a file like any other; whoever can read it can read such items from a copy of the
/// vault.
public struct Device: ~Copyable, Sendable {
    /// The device's id, as vaults have it.
    public let id: DeviceID
    let secret: Secret

    /// Makes a device from its parts: the secret has 32 bytes, else `invalidArgument` is thrown.
    public init(id: DeviceID, secret: consuming Secret) throws(VaultError) {
        guard secret.count == 32 else { throw VaultError(.invalidArgument, "a device's secret has 32 bytes") }
        self.id = id
        self.secret = secret
    }

    private init(unchecked id: DeviceID, _ secret: consuming Secret) {
        self.id = id
        self.secret = secret
    }

    /// A new device.
    public static func random() -> Device {
        Device(unchecked: DeviceID(Randomness.system.bytes16()), Secret.random(count: 32))
    }

    /// Reads what `fileContents()` wrote: 48 bytes, id and secret. Throws `invalidArgument` for anything else.
    public init(fileContents: borrowing Secret) throws(VaultError) {
        guard fileContents.count == 48 else {
            throw VaultError(.invalidArgument, "a device file has 48 bytes, not \(fileContents.count)")
        }
        let bytes = fileContents.withUnsafeBytes { Array($0[..<16]) }
        guard let id = Bytes16(bytes), id != .zero else {
            throw VaultError(.invalidArgument, "a device's id is not zero")
        }
        self.id = DeviceID(id)
        secret = fileContents.slice(16..<48)
    }

    /// What to keep in a file that only its owner can read: 48 bytes, id and secret.
    public borrowing func fileContents() -> Secret {
        var out = Secret(count: 48)
        let id = id.bytes.bytes
        out.withUnsafeMutableBytes { out in
            out.copyBytes(from: id)
            secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[16...]).copyMemory(from: $0) }
        }
        return out
    }
}
