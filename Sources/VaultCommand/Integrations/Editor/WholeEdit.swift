import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// Changes a whole item in an editor.
struct WholeEdit: ~Copyable {
    private let item: Item
    private let vault: Vault
    private let showsSecrets: Bool
    /// The item's attributes, including large ones.
    private let attributes: Attributes
    private let secret: Secret

    /// - `showsSecrets`: Whether the text includes secret, sealed and concealed values.
    init(_ item: Item, in vault: Vault, showsSecrets: Bool) throws {
        guard let whole = try vault.whole(item.key) else {
            throw CommandFailure(
                .noSuchItem, "the item was removed by another process in the meantime; 'vaultfmt list' shows the items")
        }
        self.item = item
        self.vault = vault
        self.showsSecrets = showsSecrets
        attributes = whole.item.attributes
        secret = whole.secret.copy()
    }

    /// Opens the editor repeatedly until the result can be stored or the user gives up.
    func run() throws {
        var text = template()
        var fault: ItemTemplate.Fault?
        while true {
            if let edited = try SecretEditor.edit(text) {
                do {
                    return try store(edited)
                } catch {
                    fault = try Self.correctable(error)
                    text = Self.marked(edited, fault)
                }
            }
            guard let fault else { return Terminal.note("nothing was changed") }
            guard Prompt.isPossible else {
                let place = fault.line > 0 ? "line \(fault.line): " : ""
                throw CommandFailure(.usage, "\(place)\(fault.message); nothing was changed")
            }
            Terminal.note(fault.message)
            guard try !Prompt.confirm("Nothing has been stored yet. Discard the edited text?", instead: "") else {
                return Terminal.note("nothing was changed")
            }
        }
    }

    /// Returns errors that the user can correct in the text; rethrows every other error.
    private static func correctable(_ error: any Error) throws -> ItemTemplate.Fault {
        switch error {
        case let fault as ItemTemplate.Fault: return fault
        case let error as VaultError where [.usage, .noSuchItem, .unavailable].contains(ExitStatus(error)):
            return ItemTemplate.Fault(line: 0, message: CommandFailure(error).message)
        default: throw error
        }
    }

    private static let mark = "# NOT STORED: "

    /// Returns the text with the error noted above the line on which it occurs, and with earlier notes removed.
    private static func marked(_ text: borrowing Secret, _ fault: ItemTemplate.Fault?) -> Secret {
        var result = SecretBuffer()
        let note = Array((mark + (fault?.message ?? "") + "\n").utf8)
        if fault?.line == 0 { result.append(contentsOf: note) }
        text.withUnsafeBytes { bytes in
            var line = 0
            var rest = bytes[...]
            while !rest.isEmpty {
                line += 1
                let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
                if line == fault?.line { result.append(contentsOf: note) }
                if !rest.starts(with: mark.utf8) {
                    result.append(UnsafeRawBufferPointer(rebasing: rest[..<end]))
                }
                rest = rest[end...]
            }
        }
        return result.secret()
    }

    // MARK: the text

    private func template() -> Secret {
        var text = SecretBuffer()
        text.append(ItemTemplate.heading)
        for (name, value) in fields { ItemTemplate.append(name, Secret(text: value), to: &text) }
        if showsSecrets {
            ItemTemplate.append("secret", secret, to: &text)
        } else {
            ItemTemplate.append("secret", marker: ItemTemplate.hidden, to: &text)
        }
        text.append("\n")
        for attribute in attributes.all {
            let isQuoted = Self.isReserved(attribute.name)
            let isHidden = !showsSecrets && !attribute.flags.isDisjoint(with: [.sealed, .concealed])
            if isHidden {
                ItemTemplate.append(attribute.name, isQuoted: isQuoted, marker: ItemTemplate.hidden, to: &text)
            } else if let value = attribute.secret {
                ItemTemplate.append(attribute.name, isQuoted: isQuoted, value, to: &text)
            } else {
                ItemTemplate.append(attribute.name, isQuoted: isQuoted, marker: ItemTemplate.notText, to: &text)
            }
        }
        return text.secret()
    }

    /// The fields of the key that can be changed, and the accessibility. Binary fields are omitted because they
    /// identify the object to which they belong.
    private var fields: [(name: String, value: String)] {
        let own = item.key.itemClass.fields.filter { $0.kind != .bytes }.map { field in
            (name: field.name, value: item.key[field].map(ItemText.value) ?? "")
        }
        return own + [("group", item.key.group), ("accessible", item.accessibility.name)]
    }

    /// Returns whether an unquoted name refers to a field.
    private static func isReserved(_ name: String) -> Bool {
        ["secret", "group", "accessible"].contains(name) || ItemKey.Field.allCases.contains { $0.name == name }
    }

    // MARK: changes

    /// Returns the changes that an edited text describes.
    private struct Changes: ~Copyable {
        var key: ItemKey
        var attributes = AttributeChanges()
        var accessibility: Accessibility?
        var secret: Secret
        var isSecretNew = false
    }

    private func changes(_ text: borrowing Secret) throws -> Changes {
        var changes = Changes(key: item.key, secret: secret.copy())
        var fields: [ItemKey.Field: ItemKey.Value] = [:]
        var group: String?
        var seen: Set<String> = []
        var added: [(line: Int, name: String)] = []
        try ItemTemplate.forEach(in: text) { (line, entry) throws(ItemTemplate.Fault) in
            let isField = !entry.isQuoted && Self.isReserved(entry.name)
            guard seen.insert((isField ? "" : "attribute ") + entry.name).inserted else {
                throw ItemTemplate.Fault(line: line, message: "\(TerminalText.quoted(entry.name)) occurs twice")
            }
            let name = entry.name
            guard let value = entry.value else {
                guard isField || attributes.attribute(name) != nil else {
                    throw ItemTemplate.Fault(
                        line: line,
                        message: "the item has no \(TerminalText.quoted(name)) whose value could be kept; "
                            + "write a value for a new name")
                }
                return
            }
            guard isField else {
                if attributes.attribute(name) == nil { added.append((line, name)) }
                let old = attributes.attribute(name)?.secret
                if let old, old.equals(value) { return }
                changes.attributes.set.set(try edited(name, value, line))
                return
            }
            guard entry.name != "secret" else {
                guard value.count > 0 else {
                    throw ItemTemplate.Fault(
                        line: line, message: "the secret is empty; write \(ItemTemplate.hidden) to keep it")
                }
                changes.isSecretNew = !value.equals(secret)
                changes.secret = value
                return
            }
            let text = try Self.text(value, line)
            switch entry.name {
            case "group": group = text
            case "accessible": changes.accessibility = try accessibility(text, line)
            default: try self.change(entry.name, to: text, line, &fields)
            }
        }
        try requireAll(seen)
        try requireNotHidden(added, changes.accessibility)
        changes.attributes.remove = attributes.names.filter { !seen.contains("attribute " + $0) }
        changes.key = try item.key.replacing(fields, group: group)
        return changes
    }

    private func requireAll(_ seen: Set<String>) throws(ItemTemplate.Fault) {
        guard let missing = (fields.map(\.name) + ["secret"]).first(where: { !seen.contains($0) }) else { return }
        throw ItemTemplate.Fault(
            line: 0, message: "the line '\(missing):' is missing; restore it, with no value if necessary")
    }

    /// Throws an error for a new attribute that a field with the same name would hide.
    /// - `accessibility`: The item's new accessibility, if it changes.
    private func requireNotHidden(
        _ added: [(line: Int, name: String)], _ accessibility: Accessibility?
    ) throws(ItemTemplate.Fault) {
        let isDeviceOnly = item.device != nil || accessibility?.isThisDeviceOnly == true
        let itemClass = item.key.itemClass
        for (line, name) in added where ItemField.isField(name, of: itemClass, isDeviceOnly: isDeviceOnly) {
            throw ItemTemplate.Fault(
                line: line,
                message: "\(TerminalText.quoted(name)) is a field of the item, and would hide an attribute of "
                    + "that name; choose another name")
        }
    }

    /// Returns a new or changed attribute, which must follow the same rules as one that is given as an option.
    private func edited(
        _ name: String, _ value: consuming Secret, _ line: Int
    ) throws(ItemTemplate.Fault) -> Attribute {
        do throws(CommandFailure) { return try AttributeRules.edited(name, value, of: item) } catch {
            throw ItemTemplate.Fault(line: line, message: error.message)
        }
    }

    private static func text(_ value: borrowing Secret, _ line: Int) throws(ItemTemplate.Fault) -> String {
        guard let text = value.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw ItemTemplate.Fault(line: line, message: "the value is not UTF-8")
        }
        return text
    }

    private func accessibility(_ text: String, _ line: Int) throws(ItemTemplate.Fault) -> Accessibility? {
        guard let value = Accessibility(name: text) else {
            let names = Accessibility.allCases.map(\.name).joined(separator: ", ")
            throw ItemTemplate.Fault(line: line, message: "accessible must be one of \(names)")
        }
        return value == item.accessibility ? nil : value
    }

    private func change(
        _ name: String, to text: String, _ line: Int, _ fields: inout [ItemKey.Field: ItemKey.Value]
    ) throws(ItemTemplate.Fault) {
        guard let field = item.key.itemClass.fields.first(where: { $0.name == name && $0.kind != .bytes }) else {
            throw ItemTemplate.Fault(
                line: line, message: "the item has no field '\(name)'; for an attribute of this name, write \"\(name)\""
            )
        }
        guard field.kind == .number else {
            if (field == .service || field == .server) && text.isEmpty {
                throw ItemTemplate.Fault(line: line, message: "the \(name) is empty; give it a name")
            }
            return fields[field] = .text(text)
        }
        guard let number = UInt32(text) else {
            throw ItemTemplate.Fault(line: line, message: "\(name) must be a number of at most \(UInt32.max)")
        }
        fields[field] = .number(number)
    }

    private func store(_ text: borrowing Secret) throws {
        let changes = try changes(text)
        let isMoved = changes.key != item.key
        guard isMoved || changes.isSecretNew || !changes.attributes.isEmpty || changes.accessibility != nil else {
            return Terminal.note("nothing was changed")
        }
        var dated = changes.attributes
        dated.sealUsual(of: item)
        try dated.keepDate(ofSecretOf: item, unlessNew: changes.secret, in: vault)
        let attributes = dated
        let conflicts = try ConflictsBefore(of: [item], in: vault)
        try NarrowingOption.changeAtOnce(vault) { (transaction) throws(VaultError) in
            guard try transaction.item(item.key)?.revision == item.revision else {
                throw VaultError(
                    .busy, "the item was changed by another process in the meantime; the edited text was not stored")
            }
            if isMoved { try transaction.move(item.key, to: changes.key) }
            if changes.isSecretNew {
                try transaction.set(
                    changes.key, secret: changes.secret, attributes: attributes,
                    accessibility: changes.accessibility)
            } else if !attributes.isEmpty || changes.accessibility != nil {
                try transaction.update(changes.key, attributes: attributes, accessibility: changes.accessibility)
            }
        }
        if Terminal.errorIsTerminal { Terminal.note("changed \(ItemText.summary(changes.key))") }
        for attribute in changes.attributes.set.all {
            AttributeRules.noteNotes(attribute.name)
            AttributeRules.noteReadable(attribute, in: [item], .line)
        }
        try conflicts.report(in: vault)
    }
}
