import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `set`: stores a secret in a new or an existing item.
struct SetItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret in a new or an existing item.",
        discussion: """
            On a terminal, you are asked for the secret twice; otherwise, it is read from a pipe. It is never taken \
            from an argument. Attributes that are not given do not change. The name refers to the item that 'get' \
            would show: the only item, of any class, that matches all the given fields. If several match, the command \
            fails (exit 2); if none matches, it creates a generic password, or an internet password if --server or a \
            related option is given; the account defaults to empty. With --otp, the key or otpauth: address for one-time \
            codes is read instead, and the secret does not change unless --generate or --secret-file is given; the same \
            holds for --secret-attribute. The \
            newline at the end of a single line is not part of the secret unless --exact is given; multiple lines and \
            files are stored byte for byte. The replaced secret remains encrypted in the file until 'vaultfmt \
            compact' is run, and remains in older copies.

            Examples:
              vaultfmt set github.com alice
              vaultfmt set github.com alice --otp
              printf %s "$TOKEN" | vaultfmt set ci deploy --label 'Deploy token'
            """)

    @OptionGroup var name: ItemName
    @OptionGroup var source: SecretSource
    @OptionGroup(title: "One-time codes") var oneTime: OneTimeSource
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup(title: "Attributes") var secrets: SecretAttributes
    @OptionGroup var removal: AttributeRemoval
    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        var values = try attributes.values()
        let named = try name.key()
        try source.check(named)
        // The prompt or the pipe provides the seed or the attribute; the secret does not change.
        let hasSecret = !(oneTime.isGiven || secrets.isGiven) || source.isStated
        if hasSecret { try source.check(vault.access) }
        try oneTime.check(name, vault.access)
        try secrets.check(values, oneTime, vault.access)
        if oneTime.asks || secrets.asks || hasSecret && source.asks { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        let found = try name.findOnly(in: opened)
        let (key, isNew) = (found?.key ?? named, found == nil)
        if isNew { try ItemFields.requirePort(key[.port]?.number) }
        try secrets.checkNames(in: found)
        try attributes.checkNames(in: found.map { [$0] } ?? [])
        try ItemField.requireAttributes(
            values.names + secrets.secretAttribute, of: key.itemClass, found, accessibility: attributes.accessibility)
        let subject = ItemText.summary(key) + (isNew ? "" : ", replacing its current one")
        let secret = SharedSecret(try hasSecret ? source.read(for: subject) : Secret(count: 0))
        let made = try hasSecret ? source.describe(secret.secret, in: &values, of: key, found) : nil
        var removed = removal.removeAttribute + attributes.removed
        if hasSecret { removed += NewSSHKey.renew(secret.secret, in: &values, of: found, removed: removed) }
        if let seed = try oneTime.read(for: key, label: values.label ?? found?.attributes.label) { values.set(seed) }
        for attribute in try secrets.read(for: ItemText.summary(key), replacing: found) { values.set(attribute) }
        ControllingTerminal.end()
        var dated = AttributeChanges(set: values, remove: removed)
        dated.sealUsual(of: found)
        if hasSecret {
            try dated.keepDate(ofSecretOf: found, unlessNew: secret.secret, in: opened)
        } else if let found {
            try dated.keepDate(ofSecretOf: found, in: opened)
        }
        let changes = dated
        var (isThere, old) = (!isNew, (isDamaged: false, lost: [String]()))
        let conflicts = try ConflictsBefore(of: found.map { [$0] } ?? [], in: opened)
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            // Another process may have stored the item while the secret was being typed.
            isThere = try transaction.item(key) != nil
            if hasSecret || (isNew && !isThere) {
                var changes = changes
                old = try changes.dropDamaged(of: key, in: transaction)
                try transaction.set(
                    key, secret: secret.secret, attributes: changes, accessibility: attributes.accessibility)
            } else {
                try transaction.update(key, attributes: changes, accessibility: attributes.accessibility)
            }
        }
        if !isThere, let word = name.service, word.contains("*") {
            Terminal.note(
                "\(TerminalText.quoted(word)) was used as the name of a new item, because 'set' stores a single secret and takes no patterns"
            )
        }
        report(
            key, isNew: !isThere, isOther: key != named, hasSecret: hasSecret, showedNone: found?.lacksSecret ?? false,
            wasReadable: !old.isDamaged)
        try attributes.noteReadable(in: found.map { [$0] } ?? [])
        try conflicts.report(in: opened)
        for name in secrets.secretAttribute {
            try Update.reportKept(sealed: name, of: found.map { [$0] } ?? [], in: opened)
        }
        if let made { Terminal.note(made) }
        if let found, hasSecret { reportExpiry(of: found, changes) }
        guard old.lost.isEmpty else { throw CommandFailure.lost(old.lost, of: key) }
    }

    /// Reports that an expired item remains expired, because the date belongs to the site or card, not to the secret.
    private func reportExpiry(of item: Item, _ changes: AttributeChanges) {
        let name = AttributeName.expires
        guard changes.set[name] == nil, !changes.remove.contains(name), let date = item.attributes.string(name),
            let end = ImportedTime.milliseconds(dayOrTime: date), end <= Int64(time(nil)) * 1000
        else { return }
        Terminal.note(
            "the item's expiry date, \(TerminalText.escaped(date)), has passed; 'vaultfmt update --id \(item.id) --remove-attribute expires' removes the date, and --attribute expires=DATE sets a new one"
        )
    }

    /// The values that were stored instead of a secret, in words.
    private var stored: String {
        let names = secrets.secretAttribute.map { TerminalText.quoted($0) }
        return ((oneTime.isGiven ? ["the one-time codes"] : []) + names).joined(separator: " and ")
    }

    private func report(
        _ key: ItemKey, isNew: Bool, isOther: Bool, hasSecret: Bool, showedNone: Bool, wasReadable: Bool
    ) {
        let item = ItemText.summary(key)
        if isNew {
            let what = hasSecret ? "created \(item)" : "created \(item) with \(stored) and no secret"
            if Terminal.errorIsTerminal || !hasSecret || source.sshGenerate != nil { Terminal.note(what) }
        } else if !hasSecret {
            if Terminal.errorIsTerminal {
                Terminal.note("stored \(stored) of \(item); its secret is unchanged")
            }
        } else {
            // Scripts see this message too, because the old secret was replaced without confirmation.
            let which = isOther ? "\(item), the only item with that name" : item
            Terminal.note(
                showedNone
                    ? "gave a secret to \(which); it showed none before, and 'vaultfmt undo' leaves it without one again"
                    : "replaced the secret of \(which)" + (wasReadable ? "; 'vaultfmt undo' restores the old one" : ""))
        }
    }
}
