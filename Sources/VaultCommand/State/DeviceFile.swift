import VaultFmt

/// This machine's device id and secret, in `$XDG_STATE_HOME/vaultfmt/device`: what opens the items bound to this device.
enum DeviceFile {
    /// The device, or nil where this machine has none yet.
    static func load() throws(CommandFailure) -> Device? {
        guard let contents = try StateFolder.read(path(), what: "device file", limit: 4096) else { return nil }
        do throws(VaultError) {
            return try Device(fileContents: contents)
        } catch {
            throw CommandFailure(
                .damaged,
                "the device file \(TerminalText.quoted(try path())) is damaged; restore it, or move it away and lose what is bound to it")
        }
    }

    /// The device; made on first need.
    static func loadOrCreate() throws(CommandFailure) -> Device {
        if let device = try load() { return device }
        let device = Device.random()
        let path = try path()
        if try StateFolder.write(path, what: "device file", device.fileContents(), replacing: false) {
            Terminal.note(
                "made this machine's device file \(TerminalText.quoted(path)); items of this device only cannot be read without it")
            return device
        }
        // Another process was faster: its device is this machine's.
        guard let other = try load() else { return device }
        return other
    }

    private static func path() throws(CommandFailure) -> String { try VaultPath.state() + "/device" }
}
