import ArgumentParser
import VaultFmt
import VaultLocal

/// A reference to a secret in configuration files and environments: `vaultfmt:SERVICE`, `vaultfmt:SERVICE/ACCOUNT`,
/// with `?field=…`, `?group=…` and `?class=…`; percent-encoded, so that a slash in a name is `%2F`.
struct Reference {
    static let scheme = "vaultfmt:"

    let text: String
    let service: String
    /// Nil where any account will do, if it is the only one.
    let account: String?
    let field: String?
    private let group: String?
    private let className: ClassName?

    init(_ text: String) throws {
        self.text = text
        guard text.hasPrefix(Self.scheme) else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(text)) is no reference; write vaultfmt:SERVICE or vaultfmt:SERVICE/ACCOUNT")
        }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let names = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard names.count <= 2 else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(text)) has more than one slash; write %2F for one within a name")
        }
        service = try Self.decoded(names.first ?? "", text)
        guard !service.isEmpty else { throw CommandFailure(.usage, "\(TerminalText.quoted(text)) names no service") }
        account = try names.count == 2 ? Self.decoded(names[1], text) : nil
        var options = try Self.options(parts.count == 2 ? parts[1] : "", text)
        field = options.removeValue(forKey: "field")
        group = options.removeValue(forKey: "group")
        let name = options.removeValue(forKey: "class")
        className = name.flatMap { ClassName(argument: $0) }
        guard name == nil || className != nil, options.isEmpty else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(text)) has an option or a class that does not exist; there are field=, group= and class="
            )
        }
    }

    /// The value in an opened vault.
    func value(in vault: Vault) throws -> Secret {
        try ItemField.value(field, of: item(in: vault), in: vault)
    }

    /// The one item that is meant.
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
                    .usage, "\(TerminalText.quoted(whole)) has an option without a value, or one twice")
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

    /// The text behind a percent-encoded one (RFC 3986, section 2.1); nil if an escape is incomplete or the result is
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
    /// The value of an ASCII hexadecimal digit; nil for another byte.
    fileprivate var hexDigit: UInt8? { Character(UnicodeScalar(self)).hexDigitValue.map { UInt8($0) } }
}
