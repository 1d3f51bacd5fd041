// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal

@c @implementation
public func vaultfmt_get_slots(
    _ vault: OpaquePointer?, _ slots: UnsafeMutablePointer<UnsafePointer<vaultfmt_slots>?>?
) -> vaultfmt_status {
    slots?.pointee = nil
    return status {
        let out = try given(slots, "slots")
        let all = try Handle.vault(vault).vault.slots()
        out.pointee = try Block.make { arena in vaultfmt_slots(slots: Output.slots(all, &arena), count: all.count) }
    }
}

@c @implementation
public func vaultfmt_slots_free(_ slots: UnsafePointer<vaultfmt_slots>?) { Block.free(slots) }

@c @implementation
public func vaultfmt_slot_report_free(_ report: UnsafePointer<vaultfmt_slot_report>?) { Block.free(report) }

extension UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?> {
    /// Writes the result of a change for the caller.
    fileprivate func write(_ change: SlotChange) throws(VaultError) {
        pointee = try Output.report(change.id, dropped: change.dropped, kept: change.keptForDevices)
    }
}

@c @implementation
public func vaultfmt_slot_add(
    _ vault: OpaquePointer?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_slot_options>?,
    _ id: UnsafeMutablePointer<UInt8>?,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?>?
) -> vaultfmt_status {
    id?.update(repeating: 0, count: 16)
    report?.pointee = nil
    return status {
        let out = try given(id, "id")
        let vault = try Handle.vault(vault).vault
        let factors = try Input.factors(factors)
        let change: SlotChange
        if let options = try optional(options, sized: \.struct_size, "options") {
            change = try vault.addSlot(
                factors, cost: cost(options), name: try Input.text(options.name, "name") ?? "",
                grantedGroups: try groups(options),
                createsGroups: true, allowWeak: try flag(options.allow_weak_kdf, "allow_weak_kdf"))
        } else {
            change = try vault.addSlot(factors)
        }
        for (index, byte) in change.id.bytes.bytes.enumerated() { out[index] = byte }
        try report?.write(change)
    }
}

private func cost(_ options: vaultfmt_slot_options) -> KDFCost {
    KDFCost(memoryKiB: options.kdf_memory, passes: options.kdf_passes, lanes: options.kdf_lanes)
}

private func groups(_ options: vaultfmt_slot_options) throws(VaultError) -> [String]? {
    guard try flag(options.is_scoped, "is_scoped") else {
        guard options.group_count == 0 else {
            throw VaultError(.invalidArgument, "only a scoped slot can have groups")
        }
        return nil
    }
    return try Input.texts(options.groups, options.group_count, "groups")
}

@c @implementation
public func vaultfmt_slot_remove(
    _ vault: OpaquePointer?, _ id: UnsafePointer<UInt8>?,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let handle = try Handle.vault(vault)
        let change = try handle.vault.removeSlot(try Input.slotID(id))
        handle.machine?.dropKeptKeyIfGone(handle.vault)
        try report?.write(change)
    }
}

@c @implementation
public func vaultfmt_slot_change(
    _ vault: OpaquePointer?, _ id: UnsafePointer<UInt8>?, _ factors: UnsafePointer<vaultfmt_factors>?,
    _ options: UnsafePointer<vaultfmt_slot_options>?,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let handle = try Handle.vault(vault)
        let vault = handle.vault
        var slot: SlotID?
        if id != nil { slot = try Input.slotID(id) }
        let factors = try Input.factors(factors)
        let change: SlotChange
        if let options = try optional(options, sized: \.struct_size, "options") {
            guard options.is_scoped == 0, options.group_count == 0, options.name.data == nil else {
                throw VaultError(.invalidArgument, "changing a slot's factors cannot change its name or groups")
            }
            let keepsCost = options.kdf_memory == 0 && options.kdf_passes == 0 && options.kdf_lanes == 0
            change = try vault.changeFactors(
                of: slot, to: factors, cost: keepsCost ? nil : cost(options),
                allowWeak: try flag(options.allow_weak_kdf, "allow_weak_kdf"))
        } else {
            change = try vault.changeFactors(of: slot, to: factors)
        }
        handle.machine?.dropKeptKeyIfGone(vault)
        try report?.write(change)
    }
}

@c @implementation
public func vaultfmt_slot_rename(_ vault: OpaquePointer?, _ id: UnsafePointer<UInt8>?, _ name: vaultfmt_bytes)
    -> vaultfmt_status
{
    status {
        try Handle.vault(vault).vault.renameSlot(try Input.slotID(id), to: try Input.text(name, "name") ?? "")
    }
}

@c @implementation
public func vaultfmt_slot_grant(
    _ vault: OpaquePointer?, _ id: UnsafePointer<UInt8>?, _ groups: UnsafePointer<vaultfmt_bytes>?, _ count: Int,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let vault = try Handle.vault(vault).vault
        let names = try Input.texts(groups, count, "groups")
        let change = try vault.setGrants(of: try Input.slotID(id), to: names, createsGroups: true)
        try report?.write(change)
    }
}

@c @implementation
public func vaultfmt_rotate(
    _ vault: OpaquePointer?, _ kept: UnsafePointer<vaultfmt_factors>?, _ count: Int,
    _ again: UnsafePointer<vaultfmt_made_again>?, _ again_count: Int,
    _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_slot_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let handle = try Handle.vault(vault)
        var rotation = try handle.vault.rotation()
        let all = try Input.elements(kept, count, "kept")
        for index in all.indices { _ = try rotation.keep(try Input.factors(all.baseAddress.map { $0 + index })) }
        for slot in try Input.elements(again, again_count, "again") {
            let id = try Input.slotID(withUnsafeBytes(of: slot.id) { Array($0) })
            try rotation.keep(id, madeAgainBy: try CallersProvider(slot.provider))
        }
        let done = try rotation.run()
        handle.machine?.dropKeptKeyIfGone(handle.vault)
        report?.pointee = try Output.report(nil, dropped: done.dropped, kept: done.copiedDeviceBound)
    }
}
