// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultBytes
internal import VaultFmt

@c @implementation
public func vaultfmt_compact(
    _ vault: OpaquePointer?, _ before: UnsafeMutablePointer<UInt64>?, _ after: UnsafeMutablePointer<UInt64>?
) -> vaultfmt_status {
    before?.pointee = 0
    after?.pointee = 0
    return status {
        let report = try Handle.vault(vault).vault.compact()
        before?.pointee = report.bytesBefore
        after?.pointee = report.bytesAfter
    }
}

@c @implementation
public func vaultfmt_repair(
    _ vault: OpaquePointer?, _ kept: UnsafeMutablePointer<UnsafePointer<vaultfmt_value>?>?
) -> vaultfmt_status {
    kept?.pointee = nil
    return status {
        let out = try given(kept, "kept")
        if let path = try Handle.vault(vault).vault.repair() { out.pointee = try Output.value(path) }
    }
}

@c @implementation
public func vaultfmt_verify(
    _ vault: OpaquePointer?, _ report: UnsafeMutablePointer<UnsafePointer<vaultfmt_report>?>?
) -> vaultfmt_status {
    report?.pointee = nil
    return status {
        let out = try given(report, "report")
        let found = try Handle.vault(vault).vault.verify()
        out.pointee = try Block.make { arena in structure(found, &arena) }
    }
}

private func structure(_ report: VerifyReport, _ arena: inout Arena) -> vaultfmt_report {
    var out = vaultfmt_report()
    out.is_sound = report.isSound ? 1 : 0
    out.items = report.items
    out.objects = UInt64(report.objects.values.reduce(0, +))
    out.unopened = UInt64(report.unopened)
    out.problem_count = UInt64(report.problemCount)
    var problems: [vaultfmt_problem] = []
    for problem in report.problems {
        problems.append(
            vaultfmt_problem(
                what: arena.append(problem.what), offset: problem.offset ?? 0,
                has_offset: problem.offset == nil ? 0 : 1,
                reserved: 0))
    }
    out.problems = arena.append(problems)
    out.listed_problems = problems.count
    out.items_with_past = report.itemsWithPast
    out.forgotten_values = report.forgottenValues
    return out
}

@c @implementation
public func vaultfmt_report_free(_ report: UnsafePointer<vaultfmt_report>?) { Block.free(report) }

@c @implementation
public func vaultfmt_inspect(
    _ path: UnsafePointer<CChar>?, _ inspection: UnsafeMutablePointer<UnsafePointer<vaultfmt_inspection>?>?
) -> vaultfmt_status {
    inspection?.pointee = nil
    return status {
        let out = try given(inspection, "inspection")
        let found = try Vault.inspect(try Input.string(path, "path"))
        out.pointee = try Block.make { arena in structure(found, &arena) }
    }
}

private func structure(_ inspection: Inspection, _ arena: inout Arena) -> vaultfmt_inspection {
    var out = vaultfmt_inspection()
    out.format_version = UInt32(clamping: inspection.version)
    let tail = Output.tail(inspection.tail)
    (out.tail, out.tail_size) = (tail.kind, tail.size)
    Output.fill(&out.vault_id, inspection.id.bytes.bytes)
    out.header_bytes = UInt64(inspection.headerBytes)
    out.file_bytes = inspection.fileBytes
    out.slots = Output.slots(inspection.slots, &arena)
    out.slot_count = inspection.slots.count
    var extensions: [vaultfmt_extension] = []
    for found in inspection.extensions {
        extensions.append(
            vaultfmt_extension(
                name: arena.append(found.name), size: UInt64(found.bytes), is_critical: found.isCritical ? 1 : 0,
                is_read_only: found.isReadOnly ? 1 : 0))
    }
    out.extensions = arena.append(extensions)
    out.extension_count = extensions.count
    var objects: [vaultfmt_objects] = []
    for found in inspection.objects {
        objects.append(vaultfmt_objects(type: arena.append(found.type), count: UInt64(found.count), bytes: found.bytes))
    }
    out.objects = arena.append(objects)
    out.object_type_count = objects.count
    return out
}

@c @implementation
public func vaultfmt_inspection_free(_ inspection: UnsafePointer<vaultfmt_inspection>?) { Block.free(inspection) }
