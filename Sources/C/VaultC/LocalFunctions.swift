// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

@c @implementation
public func vaultfmt_local_default_path(_ path: UnsafeMutablePointer<CChar>?, _ size: Int) -> vaultfmt_status {
    if size > 0 { path?.pointee = 0 }
    return status {
        let out = try given(path, "path")
        let text = Array(try Places().vault.utf8CString)
        guard text.count <= size else {
            throw VaultError(.limitExceeded, "the path of the default vault is too long: \(text.count) bytes")
        }
        for (index, byte) in text.enumerated() { out[index] = byte }
    }
}

@c @implementation
public func vaultfmt_local_create(
    _ path: UnsafePointer<CChar>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_create_options>?,
    _ local: UnsafePointer<vaultfmt_local_options>?, _ vault: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    vault?.pointee = nil
    return status {
        let out = try given(vault, "vault")
        let (machine, path) = try Input.machine(local, path)
        var options = try Input.createOptions(options)
        if !options.hasDevice { options.device = machine.deviceFile.loadIfSound() }
        let created = try machine.create(at: path, factors: try Input.factors(factors), options: options)
        out.pointee = Handle.owning(VaultHandle(created, machine))
    }
}

@c @implementation
public func vaultfmt_local_open(
    _ path: UnsafePointer<CChar>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_open_options>?,
    _ local: UnsafePointer<vaultfmt_local_options>?, _ vault: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    vault?.pointee = nil
    return status {
        let out = try given(vault, "vault")
        let (machine, path) = try Input.machine(local, path)
        let opened: Vault
        if factors == nil {
            opened = try machine.openAsGiven(path) { () throws(VaultError) in try Input.openOptions(options) }
        } else {
            opened = try machine.open(
                path, factors: try Input.factors(factors), options: try Input.openOptions(options))
        }
        out.pointee = Handle.owning(VaultHandle(opened, machine))
    }
}

@c @implementation
public func vaultfmt_local_accept(
    _ path: UnsafePointer<CChar>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_open_options>?,
    _ local: UnsafePointer<vaultfmt_local_options>?
) -> vaultfmt_status {
    status {
        let (machine, path) = try Input.machine(local, path)
        try machine.accept(
            try Vault.open(path, factors: try Input.factors(factors), options: try Input.openOptions(options)))
    }
}

extension Input {
    /// Returns the machine described by the options and the path of the vault.
    static func machine(
        _ options: UnsafePointer<vaultfmt_local_options>?, _ path: UnsafePointer<CChar>?
    ) throws(VaultError) -> (machine: Machine, path: String) {
        let options = try optional(options, sized: \.struct_size, "local")
        let listener = Listener(notice: options?.notice, context: options?.context)
        let named = path == nil ? nil : try string(path, "path")
        guard let folder = options?.state_folder else {
            let machine = try Machine(notices: listener.hear)
            return (try withDevice(machine, options), named ?? machine.places.vault)
        }
        let vault: String
        if let named { vault = named } else { vault = try Places().vault }
        let places = Places(vault: vault, generatedKeyFile: "", stateFolder: try string(folder, "state_folder"))
        return (try withDevice(Machine(places, notices: listener.hear), options), vault)
    }

    private static func withDevice(_ machine: Machine, _ options: vaultfmt_local_options?) throws(VaultError) -> Machine
    {
        if try flag(options?.make_device ?? 0, "make_device") { _ = try machine.deviceFile.loadOrCreate() }
        return machine
    }
}

/// The caller's function for notices. The caller guarantees that any thread may call it.
private struct Listener: @unchecked Sendable {
    let notice: (@convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafePointer<CChar>?) -> Void)?
    let context: UnsafeMutableRawPointer?

    func hear(_ said: Notice) {
        guard let notice else { return }
        said.text.withCString { text in ForkGate.outside { notice(context, said.kind == .warning ? 1 : 0, text) } }
    }
}
