internal import VaultCrypto
package import VaultFmt

/// This machine's device id and secret, which open the items bound to this device. They are stored in the file `device`
/// in the state folder.
package struct DeviceFile: Sendable {
    let files: PrivateFiles
    let path: String

    private static let what = "device file"

    /// Reads the device; returns nil if this machine has none. Throws `keyFileInvalid`, `io`.
    package func load() throws(VaultError) -> Device? {
        do throws(VaultError) {
            guard let contents = try files.read(path, what: Self.what, limit: 4096) else { return nil }
            return try Device(fileContents: contents)
        } catch {
            guard error.code != .io else { throw error }
            throw VaultError(
                .keyFileInvalid,
                "the device file \(TerminalText.path(path)) is damaged; restore it, or move it away and lose the items bound to it"
            )
        }
    }

    /// Reads the device if possible. If the file is damaged, only the items bound to the device become unreadable.
    package func loadIfSound() -> Device? {
        do throws(VaultError) { return try load() } catch {
            files.announcer.warning("\(error.description); without it, device-only items cannot be read")
            return nil
        }
    }

    /// Reads the device; if there is none, creates one and issues a notice.
    package func loadOrCreate() throws(VaultError) -> Device {
        if let device = try load() { return device }
        let device = Device.random()
        if try files.write(path, what: Self.what, device.fileContents(), replacing: false) {
            files.announcer.note(
                "created this machine's device file \(TerminalText.path(path)); device-only items cannot be read without it"
            )
            return device
        }
        // Another process created the device first; use that one.
        guard let other = try load() else { return device }
        return other
    }
}
