internal import VaultBytes

/// The secret of one device, stored outside of vaults. Items for *this device only* require it in addition to the
/// vault's own key.
///
/// Without secure hardware, this secret is kept in an ordinary file: anyone who can read that file, and can open the
/// vault, can read such items from a copy of the vault.
public struct Device: ~Copyable, Sendable {
    /// The device's id as stored in vaults.
    public let id: DeviceID
    let secret: Secret

    /// Makes a device from its parts. Throws `invalidArgument` unless the secret has 32 bytes.
    public init(id: DeviceID, secret: consuming Secret) throws(VaultError) {
        guard secret.count == 32 else { throw VaultError(.invalidArgument, "a device's secret must be 32 bytes long") }
        self.id = id
        self.secret = secret
    }

    private init(unchecked id: DeviceID, _ secret: consuming Secret) {
        self.id = id
        self.secret = secret
    }

    /// Makes a new device with a random id and secret.
    public static func random() -> Device {
        Device(unchecked: DeviceID(Randomness.system.bytes16()), Secret.random(count: 32))
    }

    /// Reads the 48 bytes that `fileContents()` returns, an id and a secret. Throws `invalidArgument` for anything
    /// else.
    public init(fileContents: borrowing Secret) throws(VaultError) {
        guard fileContents.count == 48 else {
            throw VaultError(.invalidArgument, "a device file must be 48 bytes long, not \(fileContents.count)")
        }
        let bytes = fileContents.withUnsafeBytes { Array($0[..<16]) }
        guard let id = Bytes16(bytes), id != .zero else {
            throw VaultError(.invalidArgument, "a device's id must not be zero")
        }
        self.id = DeviceID(id)
        secret = fileContents.slice(16..<48)
    }

    /// Returns the contents of a device file, which only its owner should be able to read: 48 bytes, an id and a
    /// secret.
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
