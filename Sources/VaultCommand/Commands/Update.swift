import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `update`: changes only attributes.
struct Update: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change the attributes of items; their secrets do not change.",
        discussion: """
            Attributes that are not given do not change. Only --otp and --secret-attribute read standard input. --folder, --tag, --all \
            and several names select the items; --add-tag and --remove-tag change their tags. A stricter --accessible \
            rewrites the file, because an old record would otherwise be easier to open than the item. So does \
            --secret-attribute with an attribute that was not secret, because every slot could read its old value.

            Examples:
              vaultfmt update github.com alice --label 'GitHub, private'
              vaultfmt update github.com --attribute url=https://github.com/login --remove-attribute note
              vaultfmt update aws-one aws-two --add-tag work
              vaultfmt update 'aws*' --add-tag cloud
              vaultfmt update passport --attach scan.pdf
              vaultfmt update 'tax office' --secret-attribute 'first pet'
            """)

    @OptionGroup var chosen: ItemSelection
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup(title: "Attributes") var secrets: SecretAttributes
    @OptionGroup(title: "One-time codes") var oneTime: OneTimeSource
    @OptionGroup var removal: AttributeRemoval

    @Option("Add a tag; may be repeated.", value: "tag", completion: .custom(VaultCompletion.tags))
    var addTag: [String] = []

    @Option("Remove a tag; may be repeated.", value: "tag", completion: .custom(VaultCompletion.tags))
    var removeTag: [String] = []

    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let values = try attributes.values()
        var changes = AttributeChanges(set: values, remove: removal.removeAttribute + attributes.removed)
        let changesTags = !addTag.isEmpty || !removeTag.isEmpty
        guard
            !changes.isEmpty || changesTags || oneTime.isGiven || secrets.isGiven || attributes.accessibility != nil
        else { throw nothingToChange }
        guard !changesTags || (values[AttributeName.tags] == nil && !changes.remove.contains(AttributeName.tags)) else {
            throw CommandFailure(
                .usage, "--add-tag and --remove-tag cannot be combined with the attribute 'tags' itself; leave one out")
        }
        guard !addTag.contains(where: { $0.isEmpty || $0.contains(where: \.isNewline) }) else {
            throw CommandFailure(.usage, "a tag must be a single line of text; correct --add-tag")
        }
        try chosen.check()
        try oneTime.check(chosen.names, vault.access)
        try secrets.check(values, oneTime, vault.access)
        if oneTime.asks || secrets.asks { ControllingTerminal.beginSeries() }
        if chosen.maySelectSeveral() { try chosen.requireConsent(vault.access, doing: Self.doing) }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        let criteria = try ItemCriteria(id: chosen.id, chosen.place)
        let items = try found(in: opened, criteria)
        try attributes.checkNames(in: items)
        for item in items {
            try secrets.checkNames(in: item)
            try ItemField.requireAttributes(
                values.names + secrets.secretAttribute, of: item.key.itemClass, item,
                accessibility: attributes.accessibility)
        }
        if oneTime.isGiven || secrets.isGiven {
            guard items.count == 1, let item = items.first else {
                throw CommandFailure(
                    .usage,
                    "these options store a value in a single item, not in \(items.count) items; specify one item")
            }
            let label = values.label ?? item.attributes.label
            if let seed = try oneTime.read(for: item.key, label: label) { changes.set.set(seed) }
            for attribute in try secrets.read(for: ItemText.summary(item.key), replacing: item) {
                changes.set.set(attribute)
            }
        }
        if items.count > 1, try !chosen.isConfirmed(items, "Change", vault.access, doing: Self.doing) {
            throw CommandFailure.declined("nothing was changed")
        }
        ControllingTerminal.end()
        let common = changes
        let dated = try items.map { item in
            var changes = common
            changes.sealUsual(of: item)
            try changes.keepDate(ofSecretOf: item, in: opened)
            return (item: item, changes: changes)
        }
        let conflicts = try ConflictsBefore(of: items, in: opened)
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            for (item, dated) in dated {
                var changes = dated
                if changesTags { try change(tagsOf: item.key, &changes, transaction) }
                guard !changes.isEmpty || attributes.accessibility != nil else { continue }
                try transaction.update(item.key, attributes: changes, accessibility: attributes.accessibility)
            }
        }
        try attributes.noteReadable(in: items)
        if items.count > 1 { Terminal.note("changed \(items.count) items") }
        try conflicts.report(in: opened)
        for name in removal.removeAttribute where !items.contains(where: { $0.attributes.attribute(name) != nil }) {
            let whose = items.count == 1 ? ItemText.summary(items[0].key) : "none of the items"
            Terminal.note(
                "\(whose) has \(items.count == 1 ? "no" : "an") attribute \(TerminalText.quoted(name)) to remove")
        }
        for tag in removeTag
        where !items.contains(where: {
            ItemPlace.tags(in: $0.attributes.string(AttributeName.tags) ?? "").contains(tag)
        }) {
            Terminal.note("\(items.count == 1 ? "the item has no" : "no item has the") tag \(TerminalText.quoted(tag))")
        }
        for (name, value) in try attributes.named() { reportReplaced(name, value, in: items) }
        for name in changes.remove { try Self.reportKept(name, of: items, in: opened) }
        for name in secrets.secretAttribute { try Self.reportKept(sealed: name, of: items, in: opened) }
    }

    /// Finds the items. An extra word may be the seed of one-time codes, so the message does not repeat that word.
    private func found(in vault: Vault, _ criteria: ItemCriteria) throws -> [Item] {
        do {
            return try chosen.find(in: vault, criteria, mayAsk: !chosen.yes && !self.vault.access.noInput)
        } catch let failure as CommandFailure
            where failure.status == .noSuchItem && oneTime.isGiven && chosen.names.count > 1
        {
            throw CommandFailure(
                .noSuchItem,
                "no item has this name; if the last argument is the key for the codes, leave it out: --otp asks for it, or reads it from a pipe"
            )
        }
    }

    /// Reports where a removed attribute can still be found, because the user may be about to share the vault.
    private static func reportKept(_ name: String, of items: [Item], in vault: Vault) throws {
        var kept: [(key: ItemKey, count: Int)] = []
        for before in items where before.attributes.attribute(name) != nil {
            guard let item = try vault.item(before.key), try EarlierValues.count(of: item, in: vault) != nil else {
                continue
            }
            let count = try vault.earlierValues(of: item).count { value in
                value.attribute == name || value.attributes.attribute(name) != nil
            }
            if count > 0 { kept.append((item.key, count)) }
        }
        guard let first = kept.first else { return }
        let isOne = kept.count == 1 && first.count == 1
        let values = isOne ? "an earlier value" : kept.count == 1 ? "\(first.count) earlier values" : "earlier values"
        let whose = kept.count == 1 ? ItemText.summary(first.key) : "\(kept.count) items"
        Terminal.note(
            "\(values) of \(whose) still \(isOne ? "contains" : "contain") \(TerminalText.quoted(name)), even after 'vaultfmt compact'; "
                + "'vaultfmt forget' drops earlier values, and 'vaultfmt copy' copies items to another vault without them"
        )
    }

    /// Reports where the value of an attribute that was sealed is still kept unsealed, which `history` shows to owners.
    static func reportKept(sealed name: String, of items: [Item], in vault: Vault) throws {
        let readable = items.filter { $0.attributes.attribute(name)?.flags.contains(.sealed) == false }
        try reportKept(name, of: readable, in: vault)
    }

    /// Reports a value that was replaced, because a user who meant to add a second value would otherwise not notice.
    private func reportReplaced(_ name: String, _ value: [UInt8], in items: [Item]) {
        let replaced = items.filter { item in
            guard let attribute = item.attributes.attribute(name), attribute.flags.isEmpty,
                let old = attribute.value, !old.isEmpty
            else { return false }
            return old != value
        }
        guard let first = replaced.first, let old = first.attributes.string(name) else { return }
        let whose =
            replaced.count == 1
            ? "\(TerminalText.quoted(old)) of \(ItemText.summary(first.key))" : "the values of \(replaced.count) items"
        let several =
            name == AttributeName.address
            ? "; to store several addresses, use one value with one address per line" : ""
        Terminal.note(
            "replaced the \(TerminalText.escaped(name)) \(whose); 'vaultfmt undo' restores \(replaced.count == 1 ? "it" : "them")\(several)"
        )
    }

    private static let doing = "changing several items"

    private var nothingToChange: CommandFailure {
        let isTag = !chosen.names.isEmpty && !chosen.place.tag.isEmpty
        let isFolder = !chosen.names.isEmpty && chosen.place.folder != nil
        let isName = !chosen.names.isEmpty && (chosen.fields.account ?? chosen.fields.service) != nil
        let advice =
            isName
            ? "--account and --service select items; to rename them, use 'vaultfmt move … --to-account ACCOUNT' or '--to-service SERVICE'"
            : isTag
                ? "--tag selects items; use --add-tag to add a tag"
                : isFolder
                    ? "--folder selects items; to move them into a folder, use 'vaultfmt move … --to-folder FOLDER'"
                    : "use --label, --comment, --attribute NAME=VALUE or a similar option"
        return CommandFailure(.usage, "nothing to change; \(advice)")
    }

    /// Adds an item's new tags to the changes, one per line and without duplicates.
    private func change(
        tagsOf key: ItemKey, _ changes: inout AttributeChanges, _ transaction: Transaction
    ) throws(VaultError) {
        let text = try transaction.attribute(AttributeName.tags, of: key)?.withUnsafeBytes { bytes in
            String(decoding: bytes, as: UTF8.self)
        }
        let before = ItemPlace.tags(in: text ?? "")
        var after = before.filter { !removeTag.contains($0) }
        for tag in addTag where !after.contains(tag) { after.append(tag) }
        guard after != before else { return }
        if after.isEmpty {
            changes.remove.append(AttributeName.tags)
        } else {
            changes.set[AttributeName.tags] = Array(after.joined(separator: "\n").utf8)
        }
    }
}
