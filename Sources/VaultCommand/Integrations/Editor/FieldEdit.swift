import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// Changes one field or attribute of an item in an editor.
enum FieldEdit {
    /// Attributes that can be created by editing them; any other name is assumed to be a misspelling.
    private static let known = [
        AttributeName.label, AttributeName.notes, "comment", AttributeName.kind, AttributeName.folder,
        AttributeName.tags, AttributeName.address, AttributeName.expires,
    ]

    /// Opens the editor and stores the changes.
    static func run(_ name: String, of item: Item, in vault: Vault) throws {
        let field = item.key.itemClass.fields.first { $0.name == name && $0.kind == .text }
        guard field != nil || name == "group" || item.attributes.attribute(name) != nil || known.contains(name) else {
            guard ItemField.names(of: item).contains(name) else {
                let names = item.key.itemClass.fields.filter { $0.kind == .text }.map(\.name) + ["secret", "group"]
                throw CommandFailure(
                    .noSuchItem,
                    "the item has no field \(TerminalText.quoted(name)); it has \(TerminalText.escaped((names + item.attributes.names).joined(separator: ", ")))"
                )
            }
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(name)) cannot be edited as text; try 'vaultfmt update' or 'vaultfmt move'"
            )
        }
        let isNew = field == nil && name != "group" && item.attributes.attribute(name) == nil
        let before = isNew ? Secret(count: 0) : try ItemField.value(name, of: item, in: vault)
        guard SecretText.isUTF8(before) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(name)) is not text; extract it with 'vaultfmt get --field'")
        }
        guard let edited = try SecretEditor.edit(before) else { return Terminal.note("nothing was changed") }
        let key = try key(item.key, field, name, edited)
        let attribute = try key == nil ? AttributeRules.edited(name, edited, of: item) : nil
        var dated = AttributeChanges(set: Attributes(attribute.map { [$0] } ?? []))
        dated.sealUsual(of: item)
        try dated.keepDate(ofSecretOf: item, in: vault)
        let changes = dated
        let conflicts = try ConflictsBefore(of: [item], in: vault)
        try NarrowingOption.changeAtOnce(vault) { (transaction) throws(VaultError) in
            guard try transaction.item(item.key)?.revision == item.revision else {
                throw VaultError(
                    .busy, "the item was changed by another process in the meantime; the edited text was not stored")
            }
            if let key {
                try transaction.move(item.key, to: key)
            }
            if !changes.isEmpty { try transaction.update(key ?? item.key, attributes: changes) }
        }
        if let attribute { AttributeRules.noteReadable(attribute, in: [item], .line) }
        try conflicts.report(in: vault)
    }

    /// Returns the key with the edited text, or nil if the text belongs to an attribute.
    private static func key(
        _ key: ItemKey, _ field: ItemKey.Field?, _ name: String, _ edited: borrowing Secret
    ) throws -> ItemKey? {
        guard field != nil || name == "group" else { return nil }
        guard let text = edited.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }),
            !text.isEmpty || (field != .service && field != .server)
        else {
            throw CommandFailure(
                .usage, "the edited \(name) is empty or not UTF-8, so the item was not changed; give it a name")
        }
        guard let field else { return try key.replacing([:], group: text) }
        return try key.replacing([field: .text(text)], group: nil)
    }
}
