import VaultFmt

/// Writes items as `Spec/export-json.md` has them: everything that `import` needs for an equal vault, an item a line.
struct JSONExport {
    static let format = "vaultfmt-export"
    static let version = 1

    private let output: Output
    private var isFirst = true

    init(_ output: Output) {
        self.output = output
    }

    func begin(_ vault: Vault) throws(CommandFailure) {
        try output.write(
            """
            {
              "format": "\(Self.format)",
              "version": \(Self.version),
              "vault": "\(vault.id)",
              "generation": \(vault.anchor.generation),
              "items": [
            """)
    }

    mutating func write(_ opened: borrowing OpenedItem) throws(CommandFailure) {
        try output.write(isFirst ? "\n" : ",\n")
        isFirst = false
        let item = opened.item
        var writer = JSONWriter(output, isOnOneLine: true)
        try writer.object { writer throws(CommandFailure) in
            try writer.member("class", item.key.itemClass.name)
            try writer.members(of: item.key.fields)
            try writer.member("group", item.key.group)
            try writer.member("synchronizable", item.key.synchronizable)
            try writer.member("accessible", item.accessibility.name)
            try writer.member("id", item.id.description)
            try writer.member("revision", item.revision)
            try writer.member("created", time: item.created)
            try writer.member("modified", time: item.modified)
            try writer.name("attributes")
            try writer.object { writer throws(CommandFailure) in
                for name in item.attributes.names {
                    guard let value = item.attributes[name] else { continue }
                    try writer.name(name)
                    try writer.attribute(value)
                }
            }
            try writer.name("secret")
            try writer.value(opened.secret)
        }
    }

    func end() throws(CommandFailure) {
        try output.write("\n  ]\n}\n")
    }
}

extension JSONWriter {
    /// A time: RFC 3339 where that says it exactly, else milliseconds since 1970.
    fileprivate mutating func member(_ key: String, time: Int64) throws(CommandFailure) {
        if (0..<253_402_300_800_000).contains(time) {
            try member(key, Timestamp.text(time))
        } else {
            try member(key, time)
        }
    }
}
