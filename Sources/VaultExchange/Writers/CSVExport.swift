import FoundationEssentials
package import VaultFmt
import VaultLocal

/// Writes items as CSV (RFC 4180), for spreadsheets and other password managers. The format is lossy: of the
/// attributes, it includes only label, notes (or else comment), description, otp and the first address in url.
///
/// The first six columns are those of Apple Passwords, which browsers and password managers can read. Values are not
/// altered for spreadsheets, even if they start with "=".
package struct CSVExport {
    package static let columns = [
        "Title", "URL", "Username", "Password", "Notes", "OTPAuth", "encoding", "class", "service", "server",
        "protocol", "port", "path",
        "securityDomain", "authenticationType", "type", "issuer", "serialNumber", "keyClass", "keyType",
        "applicationLabel",
        "applicationTag", "sizeInBits", "effectiveSize", "group", "synchronizable", "accessible", "description",
        "created", "modified",
    ]

    private let output: Output
    private let vault: Vault
    /// For each attribute that the list omits, the number of items that have the attribute; also the number of omitted
    /// earlier values.
    private var leftOut: [String: Int] = [:]
    private var earlierValues = 0
    /// Damaged values.
    package private(set) var damaged: LeftOutValues

    /// `warn`: called with one line for each damaged value that is omitted.
    package init(_ output: Output, of vault: Vault, warn: @escaping (String) -> Void) {
        self.output = output
        self.vault = vault
        damaged = LeftOutValues(report: warn)
    }

    package func begin() throws {
        try output.write(Self.columns.joined(separator: ",") + "\r\n")
    }

    package mutating func write(_ opened: borrowing OpenedItem) throws {
        let item = opened.item
        let parts = DamagedParts(of: item)
        defer { damaged.add(parts) }
        try note(item, parts)
        let isText = SecretText.isUTF8(opened.secret)
        var values = Self.values(item.key)
        values["Title"] = item.attributes.label ?? item.key.service ?? ""
        // The full address from the source contains more than its parts in the key.
        if let address = try text(AttributeName.address, of: item, parts)?.split(separator: "\n").first {
            values["URL"] = String(address)
        }
        values["Username"] = TwinName.userName(item.key, item.attributes)
        values["Notes"] = try text(AttributeName.notes, of: item, parts) ?? item.attributes.comment
        values["OTPAuth"] =
            item.attributes.string(AttributeName.oneTimePassword)
            ?? item.attributes.string(AttributeName.earlierOneTimePassword)
        values["encoding"] = isText ? "text" : "base64"
        values["class"] = item.key.itemClass.name
        values["group"] = item.key.group
        values["synchronizable"] = item.key.synchronizable ? "true" : "false"
        values["accessible"] = item.accessibility.name
        values["description"] = item.attributes.description
        values["created"] = Timestamp.text(item.created)
        values["modified"] = Timestamp.text(item.modified)
        for (index, column) in Self.columns.enumerated() {
            if index > 0 { try output.write(byte: UInt8(ascii: ",")) }
            if column == "Password" {
                try opened.secret.withUnsafeBytes { bytes in
                    try write(secret: bytes, isText: isText)
                }
            } else {
                try write(values[column] ?? "")
            }
        }
        try output.write("\r\n")
    }

    /// Returns an attribute's text of any length; nil if the item does not have the attribute, or if the value is not
    /// text.
    private func text(_ name: String, of item: Item, _ damaged: DamagedParts) throws -> String? {
        guard let attribute = item.attributes.attribute(name), !attribute.isRead else {
            return item.attributes.string(name)
        }
        guard
            let value = try damaged.reading(
                attribute: name, { () throws(VaultError) -> Secret? in try vault.attribute(name, of: item) })
        else { return nil }
        return SharedSecret(value).text
    }

    /// The attributes that have a column. An attribute with addresses has a column for the first address.
    private static let included: Set<String> = [
        AttributeName.label, AttributeName.kind, AttributeName.oneTimePassword, AttributeName.earlierOneTimePassword,
    ]

    private mutating func note(_ item: Item, _ damaged: DamagedParts) throws {
        earlierValues += try EarlierValues.count(of: item, in: vault) ?? 0
        let notes = try text(AttributeName.notes, of: item, damaged) == nil ? "comment" : AttributeName.notes
        for name in item.attributes.names where !Self.included.contains(name) && name != notes {
            if name == AttributeName.address, try text(name, of: item, damaged)?.contains("\n") == false { continue }
            if name == AttributeName.userName, TwinName.userName(item.key, item.attributes) != item.key.account {
                continue
            }
            // The other formats lack a damaged value, too.
            if damaged.attributes.contains(name) { continue }
            leftOut[name, default: 0] += 1
        }
    }

    /// The parts of the items that the list lacks, in one line; nil if the list lacks nothing.
    package var omission: String? {
        var parts: [String] = []
        let names = leftOut.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        if !names.isEmpty {
            let shown = names.prefix(Self.mostNamed).map { "\(TerminalText.quoted($0.key)) (\($0.value))" }
            let more = names.count > shown.count ? " and \(names.count - shown.count) more" : ""
            parts.append("the attributes \(shown.joined(separator: ", "))\(more)")
        }
        if earlierValues > 0 { parts.append("\(earlierValues) earlier \(earlierValues == 1 ? "value" : "values")") }
        guard !parts.isEmpty else { return nil }
        return "not in this list: \(parts.joined(separator: ", and ")); JSON and KDBX include them"
    }

    /// The maximum number of attributes that are named.
    private static let mostNamed = 20

    /// Returns the key's fields by column, with binary fields in Base64.
    private static func values(_ key: ItemKey) -> [String: String] {
        var values: [String: String] = [:]
        for (field, value) in key.fields where field != .account {
            values[field.name] = value.bytes.map(base64) ?? ItemText.value(value)
        }
        if let server = key.server {
            values["URL"] = url(server, key[.protocol]?.text ?? "", key[.port]?.number ?? 0, key[.path]?.text ?? "")
        }
        return values
    }

    private static func url(_ server: String, _ proto: String, _ port: UInt32, _ path: String) -> String {
        let host = server.contains(":") ? "[\(server)]" : server
        return (proto.isEmpty ? "" : "\(proto)://") + host + (port == 0 ? "" : ":\(port)") + path
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private func write(secret bytes: UnsafeRawBufferPointer, isText: Bool) throws {
        guard !isText else { return try write(field: bytes) }
        try output.write("base64:")
        try output.write(base64: bytes)
    }

    private func write(_ value: String) throws {
        var value = value
        try value.withUTF8 { utf8 in try write(field: UnsafeRawBufferPointer(utf8)) }
    }

    /// Writes a field, in quotes if it would otherwise be misread. Readers that trim spaces leave quoted fields alone.
    private func write(field bytes: UnsafeRawBufferPointer) throws {
        let quote = UInt8(ascii: "\"")
        let isPlain = bytes.allSatisfy { (0x21..<0x7F).contains($0) && $0 != quote && $0 != UInt8(ascii: ",") }
        guard !isPlain else { return try output.write(bytes) }
        try output.write(byte: quote)
        for byte in bytes {
            if byte == quote { try output.write(byte: quote) }
            try output.write(byte: byte)
        }
        try output.write(byte: quote)
    }
}
