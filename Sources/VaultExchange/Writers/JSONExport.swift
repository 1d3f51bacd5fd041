package import VaultFmt

/// Writes items in the format of `Spec/export-json.md`: everything that `import` needs to recreate an equal vault, one
/// item per line.
package struct JSONExport {
    package static let format = "vaultfmt-export"
    package static let version = 2

    private let output: Output
    private let vault: Vault
    private var isFirst = true
    /// Earlier values that can be opened only on another device, and damaged values.
    package private(set) var leftOut: LeftOutValues

    /// `warn`: called with one line for each item whose values are omitted.
    package init(_ output: Output, of vault: Vault, warn: @escaping (String) -> Void) {
        self.output = output
        self.vault = vault
        leftOut = LeftOutValues(report: warn)
    }

    package func begin() throws {
        try output.write(
            """
            {
              "format": "\(Self.format)",
              "version": \(Self.version),
              "vault": "\(vault.id)",
              "generation": \(vault.state.generation),
              "items": [
            """)
    }

    package mutating func write(_ opened: borrowing OpenedItem) throws {
        try output.write(isFirst ? "\n" : ",\n")
        isFirst = false
        let item = opened.item
        let vault = vault
        var refused = 0
        let damaged = DamagedParts(of: item)
        defer {
            leftOut.add(refused, of: item)
            leftOut.add(damaged)
        }
        var writer = JSONWriter(output, isOnOneLine: true)
        try writer.object { writer in
            try writer.member("class", item.key.itemClass.name)
            try writer.members(ofKey: item.key)
            try writer.member("group", item.key.group)
            try writer.member("synchronizable", item.key.synchronizable)
            try writer.member("accessible", item.accessibility.name)
            try writer.member("id", item.id.description)
            try writer.member("revision", item.revision)
            try writer.member("created", time: item.created)
            try writer.member("modified", time: item.modified)
            var attributes = item.attributes
            attributes.stateDate(ofSecretOf: item, lastChange: item.modified)
            try writer.flagged(attributes) { name throws(VaultError) in
                try damaged.reading { () throws(VaultError) -> Secret? in try vault.attribute(name, of: item) }
            }
            try writer.member("secret", opened.secret)
            let states = try EarlierState.all(of: opened, in: vault, without: damaged) { _ in refused += 1 }
            try write(states, of: item, &writer)
        }
    }

    private func write(_ states: [EarlierState], of item: Item, _ writer: inout JSONWriter) throws {
        guard !states.isEmpty else { return }
        try writer.array("earlier") { writer in
            for state in states {
                try writer.object { writer in
                    if let modified = state.modified { try writer.member("modified", time: modified) }
                    try writer.member("replaced", time: state.replaced)
                    if !state.group.utf8.elementsEqual(item.key.group.utf8) { try writer.member("group", state.group) }
                    try writer.flagged(state.attributes) { _ throws(VaultError) in nil }
                    try writer.member("secret", state.secret.secret)
                }
            }
        }
    }

    package func end() throws {
        try output.write("\n  ]\n}\n")
    }
}

extension JSONWriter {
    /// Writes the member `attributes`, with flags for the attributes whose flags differ from the default.
    fileprivate mutating func flagged(
        _ attributes: Attributes, _ read: @escaping (String) throws(VaultError) -> Secret?
    ) throws {
        try object("attributes") { writer in
            for attribute in attributes.all {
                guard let value = try Self.value(of: attribute, read) else { continue }
                try writer.name(attribute.name)
                guard attribute.flags != .usual(for: attribute.name) else {
                    try writer.value(value)
                    continue
                }
                try writer.object { writer in
                    try writer.bytes(value)
                    try writer.array("flags") { writer in
                        for flag in AttributeFlag.allCases where attribute.flags.contains(flag.value) {
                            try writer.value(flag.rawValue)
                        }
                    }
                }
            }
        }
    }

    /// Writes bytes as a member: `text` if they are UTF-8, otherwise `base64`.
    private mutating func bytes(_ value: borrowing Secret) throws {
        let isText = SecretText.isUTF8(value)
        try name(isText ? "text" : "base64")
        try value.withUnsafeBytes { bytes in
            if isText { try self.value(utf8: bytes) } else { try self.value(base64: bytes) }
        }
    }

    /// Writes a time: in RFC 3339 form if that is exact, otherwise in milliseconds since 1970.
    fileprivate mutating func member(_ key: String, time: Int64) throws {
        if (0..<253_402_300_800_000).contains(time) {
            try member(key, Timestamp.text(time))
        } else {
            try member(key, time)
        }
    }
}

/// The flags of attributes, by their names in an export.
enum AttributeFlag: String, CaseIterable {
    case sealed
    case concealed
    case binary

    var value: Attribute.Flags {
        switch self {
        case .sealed: .sealed
        case .concealed: .concealed
        case .binary: .binary
        }
    }
}
