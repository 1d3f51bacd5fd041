// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultFmt

// MARK: reading

@c @implementation
public func vaultfmt_item_free(_ item: UnsafePointer<vaultfmt_item>?) { Block.free(item) }

@c @implementation
public func vaultfmt_find(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?,
    _ item: UnsafeMutablePointer<UnsafePointer<vaultfmt_item>?>?
) -> vaultfmt_status {
    item?.pointee = nil
    return status {
        let out = try given(item, "item")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let found: Item?
        if let transaction = try handle.transaction {
            found = try transaction.perform { (transaction) throws(VaultError) in try transaction.item(key) }
        } else {
            found = try handle.vault.item(key)
        }
        guard let found else { throw noSuchItem }
        out.pointee = try Output.item(found)
    }
}

@c @implementation
public func vaultfmt_get(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?,
    _ item: UnsafeMutablePointer<UnsafePointer<vaultfmt_item>?>?
) -> vaultfmt_status {
    item?.pointee = nil
    return status {
        let out = try given(item, "item")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let found: OpenedItem?
        if let transaction = try handle.transaction {
            found = try transaction.perform { (transaction) throws(VaultError) in try transaction.get(key) }
        } else {
            found = try handle.vault.get(key)
        }
        guard let found else { throw noSuchItem }
        out.pointee = try Output.item(found)
    }
}

@c @implementation
public func vaultfmt_get_attribute(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ name: vaultfmt_bytes,
    _ value: UnsafeMutablePointer<UnsafePointer<vaultfmt_value>?>?
) -> vaultfmt_status {
    value?.pointee = nil
    return status {
        let out = try given(value, "value")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let name = try Input.attributeName(name)
        let found: Secret?
        if let transaction = try handle.transaction {
            found = try transaction.perform { (transaction) throws(VaultError) in
                try transaction.attribute(name, of: key)
            }
        } else {
            found = try handle.vault.attribute(name, of: key)
        }
        if let found { out.pointee = try Output.value(found) }
    }
}

@c @implementation
public func vaultfmt_value_free(_ value: UnsafePointer<vaultfmt_value>?) { Block.free(value) }

private var noSuchItem: VaultError { VaultError(.noSuchItem, "no such item") }

// MARK: changing

@c @implementation
public func vaultfmt_add(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ secret: vaultfmt_bytes,
    _ details: UnsafePointer<vaultfmt_details>?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let details = try Input.details(details)
        let secret = try requiredSecret(secret)
        try handle.changing { (transaction) throws(VaultError) in
            try transaction.add(
                key, secret: secret, attributes: details.attributes.set,
                accessibility: details.accessibility ?? .whenUnlocked,
                created: details.created, modified: details.modified)
        }
    }
}

@c @implementation
public func vaultfmt_set(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ secret: vaultfmt_bytes,
    _ details: UnsafePointer<vaultfmt_details>?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let details = try Input.details(details)
        let secret = try requiredSecret(secret)
        try handle.changing { (transaction) throws(VaultError) in
            try transaction.set(
                key, secret: secret, attributes: details.attributes, accessibility: details.accessibility,
                created: details.created,
                modified: details.modified)
        }
    }
}

private func requiredSecret(_ bytes: vaultfmt_bytes) throws(VaultError) -> Secret {
    guard let secret = try Input.secret(bytes) else {
        throw VaultError(.invalidArgument, "the secret is NULL; an empty one needs a non-NULL pointer")
    }
    return secret
}

@c @implementation
public func vaultfmt_update(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ details: UnsafePointer<vaultfmt_details>?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let details = try Input.details(details)
        guard details.created == nil, details.modified == nil else {
            throw VaultError(.invalidArgument, "an update cannot set an item's times")
        }
        try handle.changing { (transaction) throws(VaultError) in
            try transaction.update(key, attributes: details.attributes, accessibility: details.accessibility)
        }
    }
}

@c @implementation
public func vaultfmt_move(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ newKey: UnsafePointer<vaultfmt_key>?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let newKey = try Input.key(newKey)
        try handle.changing { (transaction) throws(VaultError) in try transaction.move(key, to: newKey) }
    }
}

@c @implementation
public func vaultfmt_remove(_ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let wasThere = try handle.changing { (transaction) throws(VaultError) in try transaction.remove(key) }
        guard wasThere else { throw noSuchItem }
    }
}

// MARK: transactions

@c @implementation
public func vaultfmt_begin(_ vault: OpaquePointer?) -> vaultfmt_status {
    status { try Handle.vault(vault).begin() }
}

@c @implementation
public func vaultfmt_commit(_ vault: OpaquePointer?) -> vaultfmt_status {
    status { try Handle.vault(vault).commit() }
}

@c @implementation
public func vaultfmt_rollback(_ vault: OpaquePointer?) -> vaultfmt_status {
    status { try Handle.vault(vault).rollBack() }
}
