import VaultBytes
package import VaultFmt
import VaultLocal

/// Human-readable descriptions of an item.
package enum ItemText {
    /// Returns a description such as "internet-password 'server' 'account'", with the other fields that distinguish the
    /// item; the text is escaped.
    package static func summary(_ key: ItemKey, label: String? = nil) -> String {
        var parts = [key.itemClass.name] + name(key).map { TerminalText.quoted($0) }
        for field in [ItemKey.Field.protocol, .port, .path, .securityDomain, .authenticationType] {
            guard let value = key[field] else { continue }
            let name = field.words.joined(separator: " ")
            if let number = value.number { parts += number == 0 ? [] : ["\(name) \(number)"] }
            if let text = value.text { parts += detail(name, text) }
        }
        parts += detail("group", key.group)
        if key.synchronizable { parts.append("synchronizable") }
        if let label, !label.isEmpty { parts.append("label \(TerminalText.quoted(label))") }
        return parts.joined(separator: " ")
    }

    /// Returns the item's name for a table: service or server, and account; for other classes, the fields that tell
    /// items apart.
    package static func name(_ key: ItemKey) -> [String] {
        switch key.itemClass {
        case .genericPassword: [key.service ?? "", key.account ?? ""]
        case .internetPassword: [key.server ?? "", key.account ?? ""]
        case .certificate, .identity: ["serial " + Hex.encode(key[.serialNumber]?.bytes ?? [])]
        case .key:
            switch key[.applicationLabel]?.bytes ?? [] {
            case []: ["tag " + text(key[.applicationTag]?.bytes ?? [])]
            case let label: ["application label " + text(label)]
            }
        case .reserved: key.texts
        }
    }

    /// Returns a field's value: text, a number in decimal, or bytes in hex.
    package static func value(_ value: ItemKey.Value) -> String {
        switch value {
        case .text(let text): text
        case .number(let number): String(number)
        case .bytes(let bytes): Hex.encode(bytes)
        }
    }

    /// Returns bytes as text if they are printable, otherwise in hex.
    package static func text(_ bytes: [UInt8]) -> String {
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
