import ArgumentParser
import VaultFmt

/// `get`: hands out one secret.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write an item's secret to standard output, and nothing else.",
        discussion: """
            The bytes are exact; on a terminal a newline follows, and what is not text is shown with --force only.

            Examples:
              vaultfmt get github.com alice --clip
              vaultfmt get db.example.org --field account
              vaultfmt get --class certificate --label host.example --pem
              vaultfmt get github.com alice --earlier 1
            """)

    @OptionGroup var chosen: ItemChoice

    @Option("Write this field or attribute instead of the secret.")
    var field: String?

    @Flag(help: "Write a certificate, a key or an identity as PEM.")
    var pem = false

    @Flag(help: "Write the item as a JSON object, the secret included.")
    var json = false

    @Option(
        defaultAsFlag: Clipboard.standardSeconds, parsing: .next,
        help: ArgumentHelp(
            "Put it into the clipboard, cleared after so many seconds if unchanged.", valueName: "seconds"))
    var clip: Int?

    @Flag(help: "Show it on the terminal even if it is not text.")
    var force = false

    @OptionGroup var choice: EarlierOption

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !pem || (field == nil && !json) else {
            throw ValidationError("--pem excludes --field and --json; leave one out")
        }
        guard [field != nil && json, json && clip != nil].allSatisfy({ !$0 }) else {
            throw ValidationError("--json excludes --field and --clip; leave one out")
        }
        if let clip, !(1...86_400).contains(clip) { throw ValidationError("--clip takes 1 to 86400 seconds") }
    }

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened)
        if choice.earlier != nil { return try deliver(choice.value(of: item, in: opened), in: opened) }
        if json { return try writeJSON(try opened.open(item), opened) }
        if pem { return try deliver(try Self.pem(item.key, opened.open(item).secret)) }
        try deliver(ItemField.value(field, of: item, in: opened))
    }

    private static func pem(_ key: ItemKey, _ secret: borrowing Secret) throws -> Secret {
        guard let text = PEMText.text(key.itemClass, secret) else {
            throw CommandFailure(
                .noSuchItem,
                "\(ItemText.summary(key)) has no PEM form: it is not a certificate, key or identity in DER")
        }
        return text
    }

    private func deliver(_ value: borrowing Secret) throws {
        if let clip { return try Clipboard.copy(value, clearAfter: clip) }
        try Output.deliver(value, force: force)
    }

    /// The same of an earlier value.
    private func deliver(_ value: EarlierValue, in vault: Vault) throws {
        guard json || pem else { return try deliver(ItemField.value(field, of: value, in: vault)) }
        let whole = try vault.open(value)
        if pem { return try deliver(try Self.pem(whole.key, whole.secret)) }
        var writer = JSONWriter(Output.standard())
        let (key, attributes) = (whole.key, whole.attributes)
        let secret = whole.secret.copy()
        try writer.object { writer in
            try writer.member("class", key.itemClass.name)
            try writer.members(ofKey: key)
            try writer.member("group", key.group)
            try writer.member("synchronizable", key.synchronizable)
            try writer.member("revision", value.revision)
            try writer.member("replaced", Timestamp.text(value.replaced))
            try writer.member("modified", Timestamp.text(value.modified))
            try writer.attributes(attributes) { name throws(VaultError) in try vault.attribute(name, of: value) }
            try writer.member("secret", secret)
        }
        try writer.finish()
    }

    private func writeJSON(_ whole: borrowing OpenedItem, _ vault: Vault) throws {
        var writer = JSONWriter(Output.standard())
        let item = whole.item
        let secret = whole.secret.copy()
        try writer.object { writer in
            try writer.members(of: item) { name throws(VaultError) in try vault.attribute(name, of: item) }
            try writer.member("secret", secret)
        }
        try writer.finish()
    }
}
