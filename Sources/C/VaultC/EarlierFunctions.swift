// The header documents and names these functions.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

public import CVaultFmt
internal import VaultFmt

// MARK: reading

@c @implementation
public func vaultfmt_earlier_value_free(_ value: UnsafePointer<vaultfmt_earlier_value>?) { Block.free(value) }

@c @implementation
public func vaultfmt_earlier_values_free(_ values: UnsafePointer<vaultfmt_earlier_values>?) { Block.free(values) }

@c @implementation
public func vaultfmt_get_earlier_values(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?,
    _ values: UnsafeMutablePointer<UnsafePointer<vaultfmt_earlier_values>?>?
) -> vaultfmt_status {
    values?.pointee = nil
    return status {
        let out = try given(values, "values")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let found: [EarlierValue]
        if let transaction = try handle.transaction {
            found = try transaction.perform { (transaction) throws(VaultError) in
                try transaction.earlierValues(of: key)
            }
        } else {
            found = try handle.vault.earlierValues(of: key)
        }
        out.pointee = try Output.earlierValues(found)
    }
}

@c @implementation
public func vaultfmt_get_earlier_value(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ id: UnsafePointer<vaultfmt_earlier_id>?,
    _ value: UnsafeMutablePointer<UnsafePointer<vaultfmt_earlier_value>?>?
) -> vaultfmt_status {
    value?.pointee = nil
    return status {
        let out = try given(value, "value")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let id = try Input.earlierID(id)
        let opened: OpenedEarlierValue
        if let transaction = try handle.transaction {
            opened = try transaction.perform { (transaction) throws(VaultError) in
                try transaction.open(try id.find(among: try transaction.earlierValues(of: key)))
            }
        } else {
            opened = try handle.vault.openEarlierValue(id, of: key)
        }
        out.pointee = try Output.earlierValue(opened)
    }
}

@c @implementation
public func vaultfmt_get_earlier_attribute(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ id: UnsafePointer<vaultfmt_earlier_id>?,
    _ name: vaultfmt_bytes, _ value: UnsafeMutablePointer<UnsafePointer<vaultfmt_value>?>?
) -> vaultfmt_status {
    value?.pointee = nil
    return status {
        let out = try given(value, "value")
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let id = try Input.earlierID(id)
        let name = try Input.attributeName(name)
        let found: Secret?
        if let transaction = try handle.transaction {
            found = try transaction.perform { (transaction) throws(VaultError) in
                try transaction.attribute(name, of: try id.find(among: try transaction.earlierValues(of: key)))
            }
        } else {
            found = try handle.vault.attribute(name, of: id, of: key)
        }
        if let found { out.pointee = try Output.value(found) }
    }
}

// MARK: changing

@c @implementation
public func vaultfmt_restore(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ id: UnsafePointer<vaultfmt_earlier_id>?
) -> vaultfmt_status {
    status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let id = try Input.earlierID(id)
        try handle.changing { (transaction) throws(VaultError) in
            try transaction.restore(try id.find(among: try transaction.earlierValues(of: key)), of: key)
        }
    }
}

@c @implementation
public func vaultfmt_forget(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ ids: UnsafePointer<vaultfmt_earlier_id>?,
    _ count: Int, _ forgotten: UnsafeMutablePointer<Int>?
) -> vaultfmt_status {
    forgotten?.pointee = 0
    return status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        let isAll = ids == nil && count == 0
        let chosen = isAll ? nil : try Input.earlierIDs(ids, count)
        let number = try handle.changing { (transaction) throws(VaultError) in
            guard let chosen else { return try transaction.forgetEarlierValues(of: key) }
            let all = try transaction.earlierValues(of: key)
            var values: [EarlierValue] = []
            for id in chosen { values.append(try id.find(among: all)) }
            return try transaction.forgetEarlierValues(of: key, values)
        }
        forgotten?.pointee = number
    }
}

@c @implementation
public func vaultfmt_add_earlier_values(
    _ vault: OpaquePointer?, _ key: UnsafePointer<vaultfmt_key>?, _ values: UnsafePointer<vaultfmt_new_earlier_value>?,
    _ count: Int, _ added: UnsafeMutablePointer<Int>?
) -> vaultfmt_status {
    added?.pointee = 0
    return status {
        let handle = try Handle.vault(vault)
        let key = try Input.key(key)
        var new: [NewEarlierValue] = []
        let all = try Input.elements(values, count, "values")
        for index in all.indices { new.append(try Input.newEarlierValue(all.baseAddress.map { $0 + index })) }
        let number = try handle.changing { (transaction) throws(VaultError) in
            try transaction.addEarlierValues(new, to: key)
        }
        added?.pointee = number
    }
}

@c @implementation
public func vaultfmt_keep_versions(_ vault: OpaquePointer?, _ count: UInt32) -> vaultfmt_status {
    status {
        try Handle.vault(vault).changing { (transaction) throws(VaultError) in
            try transaction.keepVersions(Int(count))
        }
    }
}
