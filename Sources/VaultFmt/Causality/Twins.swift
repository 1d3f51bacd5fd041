package import VaultBytes

/// Distinguishes items that have the same key (specification, section 6.1).
package enum Twins {
    /// Returns the items that are listed under their plain key: among items with the same key and group, the one with
    /// the smallest id.
    package static func plain<Name: Hashable>(_ items: [Bytes16: Name]) -> Set<Bytes16> {
        var least: [Name: Bytes16] = [:]
        for (id, name) in items { least[name] = min(least[name] ?? id, id) }
        return Set(least.values)
    }

    private static let start = Array(" (conflict ".utf8)
    private static let digits = 8

    /// Returns the suffix under which another item with the same key is listed.
    package static func suffix(_ id: Bytes16) -> [UInt8] {
        start + Hex.encode(Array(id.bytes.prefix(digits / 2))).utf8 + [UInt8(ascii: ")")]
    }

    /// Returns whether bytes have the form of a suffix.
    package static func isSuffix(_ bytes: some Collection<UInt8>) -> Bool {
        let middle = bytes.dropFirst(start.count).dropLast()
        return bytes.starts(with: start) && bytes.count == start.count + digits + 1
            && middle.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
            && Array(bytes).last == UInt8(ascii: ")")
    }
}
