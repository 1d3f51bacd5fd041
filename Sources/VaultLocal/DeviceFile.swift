internal import VaultCrypto
package import VaultFmt

/// This machine's device id and secret, in `device` in its state folder: what opens the items bound to this device.
package struct DeviceFile: Sendable {
    let files: PrivateFiles
    let path: String

    private static let what = "device file"

    /// The device, or nil where this machine has none. Throws `keyFileInvalid`, `io`.
    package func load() throws(VaultError) -> Device? {
        do throws(VaultError) {
            guard let contents = try files.read(path, what: Self.what, limit: 4096) else { return nil }
            return try Device(fileContents: contents)
        } catch {
            guard error.code != .io else { throw error }
            throw VaultError(
                .keyFileInvalid,
                "the device file \(TerminalText.path(path)) is damaged; restore it, or move it away and lose what is bound to it"
            )
        }
    }

    /// The device as far as it can be had: a damaged file costs the items that are bound to it, and no others.
    package func loadIfSound() -> Device? {
        do throws(VaultError) { return try load() } catch {
            files.announcer.warning("\(error.description); without it, items of this device only cannot be read")
            return nil
        }
    }

    /// The device; made on first need, which is said.
    package func loadOrCreate() throws(VaultError) -> Device {
        if let device = try load() { return device }
        let device = Device.random()
        if try files.write(path, what: Self.what, device.fileContents(), replacing: false) {
            files.announcer.note(
                "made this machine's device file \(TerminalText.path(path)); items of this device only cannot be read without it"
            )
            return device
        }
        // Another process was faster: its device is this machine's.
        guard let other = try load() else { return device }
        return other
    }
}
