import VaultBytes
import VaultFmt
import VaultLocal

/// What a person is told about an item.
enum ItemText {
    /// "internet-password 'server' 'account'", with what else is needed to tell it from others; escaped.
    static func summary(_ key: ItemKey, label: String? = nil) -> String {
        var parts = [key.itemClass.name] + name(key).map { TerminalText.quoted($0) }
        switch key.fields {
        case .internetPassword(_, let networkProtocol, let port, let path, _, let domain, let authentication):
            parts += detail("protocol", networkProtocol) + (port == 0 ? [] : ["port \(port)"]) + detail("path", path)
            parts += detail("security domain", domain) + detail("authentication type", authentication)
        case .genericPassword, .certificate, .key, .identity, .reserved: break
        }
        parts += detail("group", key.group)
        if key.synchronizable { parts.append("synchronizable") }
        if let label, !label.isEmpty { parts.append("label \(TerminalText.quoted(label))") }
        return parts.joined(separator: " ")
    }

    /// What names the item in a table: service or server, and account; for other classes what tells them apart.
    static func name(_ key: ItemKey) -> [String] {
        switch key.fields {
        case .genericPassword(let service, let account): [service, account]
        case .internetPassword(let server, _, _, _, let account, _, _): [server, account]
        case .certificate(_, _, let serial), .identity(_, _, let serial): ["serial " + Hex.encode(serial)]
        case .key(_, _, let label, let tag, _, _):
            [label.isEmpty ? "tag " + text(tag) : "application label " + text(label)]
        case .reserved(_, let texts): texts
        }
    }

    /// Bytes as text where they are visible text, else in hex.
    static func text(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: TerminalText.isHarmful)
        else {
            return Hex.encode(bytes)
        }
        return text
    }

    private static func detail(_ name: String, _ value: String) -> [String] {
        value.isEmpty ? [] : ["\(name) \(TerminalText.quoted(value))"]
    }
}
