// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal

// MARK: creating, opening, closing

@c @implementation
public func vaultfmt_create(
    _ path: UnsafePointer<CChar>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_create_options>?,
    _ vault: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    vault?.pointee = nil
    return status {
        let out = try given(vault, "vault")
        let options = try Input.createOptions(options)
        let created = try Vault.create(
            at: try Input.string(path, "path"), factors: try Input.factors(factors), options: options)
        out.pointee = Handle.owning(VaultHandle(created))
    }
}

@c @implementation
public func vaultfmt_open(
    _ path: UnsafePointer<CChar>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_open_options>?,
    _ vault: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    vault?.pointee = nil
    return status {
        let out = try given(vault, "vault")
        let options = try Input.openOptions(options)
        let opened = try Vault.open(
            try Input.string(path, "path"), factors: try Input.factors(factors), options: options)
        out.pointee = Handle.owning(VaultHandle(opened))
    }
}

@c @implementation
public func vaultfmt_close(_ vault: OpaquePointer?) {
    _ = status {
        guard vault != nil else { return }
        // In a child process, nothing is released, because data that threads of the parent were changing may be
        // inconsistent.
        guard try Handle.vault(vault).vault.isOfThisProcess else { return }
        // This rolls back any open transaction on the handle.
        Handle.release(vault, VaultHandle.self)
    }
}

@c @implementation
public func vaultfmt_share(_ vault: OpaquePointer?, _ shared: UnsafeMutablePointer<OpaquePointer?>?) -> vaultfmt_status
{
    shared?.pointee = nil
    return status {
        let out = try given(shared, "shared")
        let handle = try Handle.vault(vault)
        guard handle.vault.isOfThisProcess else { throw VaultError.otherProcess }
        out.pointee = Handle.owning(VaultHandle(handle.vault, handle.machine))
    }
}

@c @implementation
public func vaultfmt_refresh(_ vault: OpaquePointer?) -> vaultfmt_status {
    status { try Handle.vault(vault).vault.refresh() }
}

@c @implementation
public func vaultfmt_lock(_ vault: OpaquePointer?) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        try handle.vault.tryLock()
    }
}

@c @implementation
public func vaultfmt_unlock(
    _ vault: OpaquePointer?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_open_options>?
) -> vaultfmt_status {
    status {
        try Handle.vault(vault).vault.unlock(try Input.factors(factors), limits: try Input.limits(options))
    }
}

// MARK: keeping vaults unlocked

@c @implementation
public func vaultfmt_keep_unlocked(_ vault: OpaquePointer?, _ seconds: UInt32) -> vaultfmt_status {
    status { try Machine.keepUnlocked(try Handle.vault(vault).vault, seconds: seconds) }
}

@c @implementation
public func vaultfmt_open_unlocked(
    _ path: UnsafePointer<CChar>?, _ options: UnsafePointer<vaultfmt_open_options>?,
    _ vault: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    vault?.pointee = nil
    return status {
        let out = try given(vault, "vault")
        let options = try Input.openOptions(options)
        let machine = try Machine(notices: { _ in })
        guard let opened = try machine.openUnlocked(try Input.string(path, "path"), options: options) else {
            throw VaultError(.noSlotOpens, "the vault has not been unlocked")
        }
        out.pointee = Handle.owning(VaultHandle(opened, machine))
    }
}

@c @implementation
public func vaultfmt_end_unlocked(_ path: UnsafePointer<CChar>?) -> vaultfmt_status {
    status { _ = try Machine.lock(try Input.string(path, "path")) }
}

// MARK: state

@c @implementation
public func vaultfmt_get_info(_ vault: OpaquePointer?, _ info: UnsafeMutablePointer<vaultfmt_info>?) -> vaultfmt_status
{
    let size = info?.pointee.struct_size ?? 0
    return status {
        let out = try given(info, "info")
        try check(size: size, of: vaultfmt_info.self, "info")
        out.pointee = vaultfmt_info()
        out.pointee.struct_size = size
        let vault = try Handle.vault(vault).vault
        let state = try vault.stateSnapshot()
        var new = vaultfmt_info()
        new.struct_size = size
        new.is_writable = vault.isWritable ? 1 : 0
        new.is_locked = state.isLocked ? 1 : 0
        new.is_owner = state.isOwner ? 1 : 0
        new.generation = state.state.generation
        Output.fill(&new.vault_id, vault.id.bytes.bytes)
        Output.fill(&new.owners, state.owners.bytes)
        new.kept_versions = UInt32(clamping: state.keptVersions)
        (new.tail, new.tail_size, new.tail_generation) = Output.tail(state.tail)
        out.pointee = new
    }
}

@c @implementation
public func vaultfmt_get_anchor(
    _ vault: OpaquePointer?, _ anchor: UnsafeMutablePointer<UnsafePointer<vaultfmt_value>?>?
) -> vaultfmt_status {
    anchor?.pointee = nil
    return status {
        let out = try given(anchor, "anchor")
        out.pointee = try Output.value(try Handle.vault(vault).vault.anchor.description)
    }
}

@c @implementation
public func vaultfmt_check_anchor(
    _ vault: OpaquePointer?, _ anchor: UnsafePointer<CChar>?, _ verdict: UnsafeMutablePointer<Int32>?
) -> vaultfmt_status {
    verdict?.pointee = 0
    return status {
        let out = try given(verdict, "verdict")
        let found = try Handle.vault(vault).vault.verdict(on: try Input.anchor(anchor))
        let number =
            switch found {
            case .same: VAULTFMT_VERDICT_SAME
            case .descends: VAULTFMT_VERDICT_DESCENDS
            case .older: VAULTFMT_VERDICT_OLDER
            case .forked: VAULTFMT_VERDICT_FORKED
            case .foreign: VAULTFMT_VERDICT_FOREIGN
            }
        out.pointee = Int32(number)
    }
}

@c @implementation
public func vaultfmt_get_statistics(
    _ vault: OpaquePointer?, _ statistics: UnsafeMutablePointer<vaultfmt_statistics>?
) -> vaultfmt_status {
    let size = statistics?.pointee.struct_size ?? 0
    return status {
        let out = try given(statistics, "statistics")
        try check(size: size, of: vaultfmt_statistics.self, "statistics")
        out.pointee = vaultfmt_statistics()
        out.pointee.struct_size = size
        let found = try Handle.vault(vault).vault.statistics()
        out.pointee.is_memory_locked = found.memoryLocked ? 1 : 0
        out.pointee.items = found.items
        out.pointee.forgotten_values = found.forgottenValues
        out.pointee.file_bytes = found.fileBytes
        out.pointee.live_bytes = found.liveBytes
        out.pointee.dead_bytes = found.deadBytes
        out.pointee.tree_height = UInt32(clamping: found.treeHeight)
        out.pointee.kept_versions = UInt32(clamping: found.keptVersions)
        out.pointee.items_with_past = found.itemsWithPast
        out.pointee.replicas = UInt64(found.replicas ?? 0)
    }
}
