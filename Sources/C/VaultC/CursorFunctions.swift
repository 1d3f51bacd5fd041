// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultFmt
internal import VaultStore

@c @implementation
public func vaultfmt_items(
    _ vault: OpaquePointer?, _ query: UnsafePointer<vaultfmt_query>?, _ cursor: UnsafeMutablePointer<OpaquePointer?>?
) -> vaultfmt_status {
    cursor?.pointee = nil
    return status {
        let out = try given(cursor, "cursor")
        let items = try Handle.vault(vault).vault.items(matching: try Input.query(query))
        out.pointee = Handle.owning(CursorHandle(items))
    }
}

@c @implementation
public func vaultfmt_cursor_next(
    _ cursor: OpaquePointer?, _ item: UnsafeMutablePointer<UnsafePointer<vaultfmt_item>?>?
) -> vaultfmt_status {
    item?.pointee = nil
    return status {
        let out = try given(item, "item")
        if let next = try Handle.cursor(cursor).next() { out.pointee = try Output.item(next) }
    }
}

@c @implementation
public func vaultfmt_cursor_close(_ cursor: OpaquePointer?) {
    _ = status {
        guard cursor != nil, try Handle.cursor(cursor).process.isThis else { return }
        Handle.release(cursor, CursorHandle.self)
    }
}

@c @implementation
public func vaultfmt_each_secret(
    _ vault: OpaquePointer?, _ query: UnsafePointer<vaultfmt_query>?, _ function: vaultfmt_item_function?,
    _ context: UnsafeMutableRawPointer?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let function = try given(function, "function")
        var hasEnded = false
        do throws(VaultError) {
            try handle.vault.forEachSecret(matching: try Input.query(query)) { (item, secret) throws(VaultError) in
                let structure =
                    switch secret {
                    case .opened(let bytes): try Output.item(item, lending: bytes)
                    case .refused(let error): try Output.item(item, refusal: error.code.rawValue)
                    }
                defer { Block.free(structure) }
                guard ForkGate.outside({ function(context, structure) }) == 0 else {
                    hasEnded = true
                    throw VaultError(.invalidArgument, "the caller ended the iteration")
                }
            }
        } catch {
            guard hasEnded else { throw error }
        }
        // A library call within the function may have left an error text.
        vaultfmt_internal_clear_error()
    }
}
