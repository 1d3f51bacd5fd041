import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt

/// `add`: stores a new item.
struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Store a new item; fail if the item already exists (exit 1).",
        discussion: """
            On a terminal, you are asked for the secret twice; otherwise, it is read from a pipe. It is never taken \
            from an argument. If the account is omitted, it is empty. With --otp, the key or otpauth: address for \
            one-time codes is read instead; the secret, if any, comes from --generate or --secret-file. The same holds \
            for --secret-attribute.

            Examples:
              vaultfmt add mail.example.org alice --generate=32
              vaultfmt add --server db.example.org --port 5432 --account app --secret-file password.txt
            """)

    @OptionGroup var name: ItemName
    @OptionGroup var source: SecretSource
    @OptionGroup(title: "One-time codes") var oneTime: OneTimeSource
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup(title: "Attributes") var secrets: SecretAttributes
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let key = try name.key()
        try source.check(key)
        var values = try attributes.values()
        try attributes.checkNames(in: [])
        try secrets.checkNames(in: nil)
        try ItemField.requireAttributes(
            values.names + secrets.secretAttribute, of: key.itemClass, nil, accessibility: attributes.accessibility)
        // The prompt or the pipe provides the seed or the attribute.
        let hasSecret = !(oneTime.isGiven || secrets.isGiven) || source.isStated
        if hasSecret { try source.check(vault.access) }
        try oneTime.check(name, vault.access)
        try secrets.check(values, oneTime, vault.access)
        if oneTime.asks || secrets.asks || hasSecret && source.asks { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        guard try opened.item(key) == nil else { throw Self.duplicate(key) }
        try ItemFields.requirePort(key[.port]?.number)
        let secret = try hasSecret ? source.read(for: ItemText.summary(key)) : Secret(count: 0)
        let made = try hasSecret ? source.describe(secret, in: &values, of: key) : nil
        if let seed = try oneTime.read(for: key, label: values.label) { values.set(seed) }
        for attribute in try secrets.read(for: ItemText.summary(key), replacing: nil) { values.set(attribute) }
        ControllingTerminal.end()
        try Progress.during("writing") {
            do throws(VaultError) {
                try opened.add(
                    key, secret: secret, attributes: values, accessibility: attributes.accessibility ?? .whenUnlocked)
            } catch {
                throw error.code == .duplicateItem ? Self.duplicate(key) : CommandFailure(error)
            }
        }
        try attributes.noteReadable(in: [])
        if let made { Terminal.note(made) }
        if !hasSecret { Terminal.note("\(ItemText.summary(key)) has no secret yet; 'vaultfmt set' stores one") }
    }

    private static func duplicate(_ key: ItemKey) -> CommandFailure {
        CommandFailure(.noSuchItem, "\(ItemText.summary(key)) already exists; replace its secret with 'vaultfmt set'")
    }
}
