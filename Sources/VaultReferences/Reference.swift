import ArgumentParser
import VaultArguments
import VaultConsole
package import VaultFmt
import VaultLocal

/// A reference to a secret in configuration files and environments: `vaultfmt:SERVICE`, `vaultfmt:SERVICE/ACCOUNT`,
/// with `?field=…`, `?group=…` and `?class=…`. Names are percent-encoded, so a slash in a name is `%2F`.
package struct Reference {
    static let scheme = "vaultfmt:"
    /// The prefixes of references. They include the prefix of another password manager's references, which are refused
    /// rather than used as values.
    static let schemes = [scheme, "op://"]

    let text: String
    let service: String
    /// The account; nil if the reference must match a single account.
    let account: String?
    let field: String?
    private let group: String?
    private let className: ClassName?

    package init(_ text: String) throws {
        self.text = text
        guard !text.hasPrefix("op://") else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(text)) is a 1Password reference; write vaultfmt:ITEM/ACCOUNT, with ?field=NAME for a field"
            )
        }
        guard text.hasPrefix(Self.scheme) else {
            throw CommandFailure(
                .usage,
                "this is not a reference, and may be a secret; write vaultfmt:SERVICE or vaultfmt:SERVICE/ACCOUNT")
        }
        var rest = text.dropFirst(Self.scheme.count)
        // Accept the form of a URL, which users may write out of habit.
        if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        let parts = rest.split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let names = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard names.count <= 2 else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(text)) has more than one slash; write %2F for a slash within a name")
        }
        service = try Self.decoded(names.first ?? "", text)
        guard !service.isEmpty else {
            throw CommandFailure(.usage, "\(TerminalText.quoted(text)) does not name a service")
        }
        account = try names.count == 2 ? Self.decoded(names[1], text) : nil
        var options = try Self.options(parts.count == 2 ? parts[1] : "", text)
        field = options.removeValue(forKey: "field")
        group = options.removeValue(forKey: "group")
        let name = options.removeValue(forKey: "class")
        className = name.flatMap { ClassName(argument: $0) }
        guard name == nil || className != nil, options.isEmpty else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(text)) has an option or a class that does not exist; the options are field=, group= and class="
            )
        }
    }

    /// Returns the value from an open vault.
    package func value(in vault: Vault) throws -> Secret {
        try ItemField.value(field, of: item(in: vault), in: vault)
    }

    /// Returns the only item that matches.
    func item(in vault: Vault) throws -> Item {
        var name: ItemName
        do { name = try ItemName.parse([]) } catch {
            throw CommandFailure(.bug, "an empty name does not parse; this is a bug in vaultfmt: please report it")
        }
        name.service = service
        name.account = account
        name.fields.group = group
        name.fields.className = className
        return try name.find(in: vault)
    }

    private static func options(_ text: Substring, _ whole: String) throws -> [String: String] {
        var options: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, options[String(sides[0])] == nil else {
                throw CommandFailure(
                    .usage, "\(TerminalText.quoted(whole)) has an option that is repeated or has no value")
            }
            options[String(sides[0])] = try decoded(sides[1], whole)
        }
        return options
    }

    private static func decoded(_ part: Substring, _ whole: String) throws -> String {
        guard let decoded = percentDecoded(part) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(whole)) is not percent-encoded; write %25 for a percent sign")
        }
        return decoded
    }

    /// Returns a name encoded as part of a reference.
    static func encoded(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E, 0x40:
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// Decodes percent-encoded text (RFC 3986, section 2.1); returns nil if an escape is incomplete or the result is
    /// not UTF-8.
    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// Returns the value of an ASCII hexadecimal digit; nil for any other byte.
    fileprivate var hexDigit: UInt8? { Character(UnicodeScalar(self)).hexDigitValue.map { UInt8($0) } }
}
