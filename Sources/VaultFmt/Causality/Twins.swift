package import VaultBytes

/// Names of items that have one key (specification, section 8.2, M-17).
package enum Twins {
    /// Returns the items that have their key plain: of several with equal key and group, the one with the least id.
    package static func plain<Name: Hashable>(_ items: [Bytes16: Name]) -> Set<Bytes16> {
        var least: [Name: Bytes16] = [:]
        for (id, name) in items { least[name] = min(least[name] ?? id, id) }
        return Set(least.values)
    }

    /// The suffix under which another item of the same key is listed.
    package static func suffix(_ id: Bytes16) -> String { " (conflict \(Hex.encode(Array(id.bytes.prefix(4)))))" }
}
