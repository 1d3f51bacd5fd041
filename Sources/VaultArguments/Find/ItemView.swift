import VaultConsole
package import VaultExchange
package import VaultFmt
import VaultLocal

/// The full view of an item, line by line: the item's properties, and either its secrets or a note in place of each
/// secret.
package struct ItemView {
    private let item: Item
    private let vault: Vault
    private let showsSecrets: Bool
    private let output: Output
    private let isForPeople: Bool
    /// The attributes in the item's record, if this vault can open it.
    private let attributes: Attributes
    private let width: Int

    /// - `showsSecrets`: Whether secret, sealed and concealed values are shown.
    package init(
        _ item: Item, in vault: Vault, showsSecrets: Bool, to output: Output,
        isTerminal: Bool = Terminal.outputIsTerminal
    ) throws {
        self.item = item
        self.vault = vault
        self.showsSecrets = showsSecrets
        self.output = output
        isForPeople = isTerminal
        attributes =
            try showsSecrets || item.unreadAttributes > 0 ? Self.attributes(of: item, in: vault) : item.attributes
        let names =
            Self.metadata + item.key.itemClass.fields.map(\.name)
            + attributes.names.map { TerminalText.escaped(Self.shown($0, of: item)) }
        width = min(names.map { TerminalText.width($0) }.max() ?? 0, 24)
    }

    private static let metadata = ["accessible", "synchronizable", "earlier values"]

    /// The names of lines that are not attributes, besides those of the key's fields.
    private static let reserved: Set<String> = [
        "class", "group", "secret", "accessible", "device", "synchronizable", "created", "modified", "change due",
        "earlier values", "conflicts", "id",
    ]

    /// Returns an attribute's name for its line; as in the columns of lists, the name of another line gets a prefix.
    private static func shown(_ name: String, of item: Item) -> String {
        let isTaken = reserved.contains(name) || item.key.itemClass.fields.contains { $0.name == name }
        return isTaken ? "attribute:" + name : name
    }

    /// The attributes in the item's record, or those in the index if only another slot or device can open the record.
    /// Those of an item without a secret are read one by one.
    private static func attributes(of item: Item, in vault: Vault) throws(VaultError) -> Attributes {
        guard !item.lacksSecret else { return item.attributes }
        do throws(VaultError) { return try vault.open(item).item.attributes } catch {
            guard error.code == .notPermitted || error.code == .deviceBound || error.code == .locked else {
                throw error
            }
            return item.attributes
        }
    }

    /// Writes the whole view.
    package func write() throws {
        try line("class", item.key.itemClass.name)
        for field in item.key.itemClass.fields {
            guard let value = item.key[field].map(ItemText.value), !value.isEmpty, value != "0" else { continue }
            try line(field.name, value)
        }
        for (index, text) in item.key.texts.enumerated() { try line("field\(index + 1)", text) }
        if !item.key.group.isEmpty { try line("group", item.key.group) }
        try writeSecret()
        for attribute in attributes.all { try write(attribute) }
        try line("accessible", item.accessibility.name)
        if let device = item.device { try line("device", device.description) }
        if item.key.synchronizable { try line("synchronizable", "true") }
        try line("created", time(item.created))
        try line("modified", time(item.modified))
        if let due = ChangeInterval.due(item, since: try SecretDate(of: item, in: vault)) {
            try line("change due", time(due))
        }
        if let count = try EarlierValues.count(of: item, in: vault) { try line("earlier values", String(count)) }
        if item.needsSettling { try line("conflicts", note: "to settle; see 'vaultfmt conflicts show'") }
        try line("id", item.id.description)
        try output.flush()
    }

    /// Writes the line for the item's secret.
    private func writeSecret() throws {
        guard item.lacksSecret else { return try writeSecret("secret") { try vault.open(item).takeSecret() } }
        let reason = try vault.missingSecret(of: item)
        try line("secret", note: reason == .unknown ? "none" : "none: \(reason.words)")
    }

    private func write(_ attribute: Attribute) throws {
        let name = Self.shown(attribute.name, of: item)
        guard attribute.flags.isDisjoint(with: [.sealed, .concealed]) else {
            return try writeSecret(name) { try self.value(of: attribute) }
        }
        let value: Secret
        do { value = try self.value(of: attribute) } catch let error as VaultError {
            guard error.code == .notPermitted || error.code == .deviceBound || error.code == .locked else {
                throw error
            }
            return try line(name, note: "not readable here")
        }
        try write(name, value)
    }

    private func value(of attribute: Attribute) throws -> Secret {
        guard let value = try vault.attribute(attribute.name, of: item) else {
            throw VaultError(.noSuchItem, "no value")
        }
        return value
    }

    /// The maximum length of a password. Revealing the length of anything longer does not help an attacker guess it.
    private static let longestGuessed = 1024

    /// Writes a line for a secret value: the value itself if requested, otherwise only a note, with the size if the
    /// value is a file.
    private func writeSecret(_ name: String, _ value: () throws -> Secret) throws {
        if showsSecrets { return try write(name, try value()) }
        let count: Int
        do { count = try value().count } catch let error as VaultError {
            guard error.code == .notPermitted || error.code == .deviceBound || error.code == .locked else {
                throw error
            }
            return try line(name, note: "hidden; not readable here")
        }
        let isFile = count > Self.longestGuessed || name.hasPrefix(AttributeName.filePrefix)
        try line(name, note: isFile ? "hidden; \(MemorySize.text(bytes: UInt64(count)))" : "hidden")
    }

    /// Writes a value as text, or only its size if the value is not text.
    private func write(_ name: String, _ value: borrowing Secret) throws {
        guard isForPeople ? SecretText.isPlain(value) : SecretText.isUTF8(value) else {
            return try line(name, note: "\(MemorySize.text(bytes: UInt64(value.count))), not text")
        }
        try begin(name)
        try value.withUnsafeBytes { bytes in try isForPeople ? writeAligned(bytes) : writeOnOneLine(bytes) }
        try output.write(byte: 0x0A)
    }

    /// Writes the lines of a value below each other, for a terminal.
    private func writeAligned(_ bytes: UnsafeRawBufferPointer) throws {
        for byte in bytes where byte != 0x0D {
            if byte == 0x0A {
                try output.write("\n" + String(repeating: " ", count: width + 2))
            } else {
                try output.write(byte: byte)
            }
        }
    }

    /// Writes a value of UTF-8 for programs, in the form of `Table.machineReadable`, without a copy of it.
    private func writeOnOneLine(_ bytes: UnsafeRawBufferPointer) throws {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while case .valid(let encoded) = parser.parseScalar(from: &iterator) {
            if let escape = Table.escape(Unicode.UTF8.decode(encoded)) {
                try output.write(escape)
            } else {
                for byte in encoded { try output.write(byte: byte) }
            }
        }
    }

    private func line(_ name: String, _ value: String) throws { try write(name, Secret(text: value)) }

    /// Writes a line that describes a value instead of showing it.
    private func line(_ name: String, note: String) throws {
        try begin(name)
        try output.line("(\(note))")
    }

    private func begin(_ name: String) throws {
        guard isForPeople else { return try output.write(Table.machineReadable(name) + "\t") }
        let shown = TerminalText.escaped(name)
        let padding = String(repeating: " ", count: max(0, width - TerminalText.width(shown)) + 2)
        try output.write(Style.standardOutput.apply(.heading, to: shown) + padding)
    }

    private func time(_ milliseconds: Int64) -> String {
        isForPeople ? Timestamp.short(milliseconds) + " UTC" : Timestamp.text(milliseconds)
    }
}
