import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt

/// `get`: prints one secret.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Write an item's secret to standard output.",
        discussion: """
            The secret is written byte for byte. On a terminal, a newline is added, and binary data is shown only with \
            --force.

            Examples:
              vaultfmt get github.com alice --clip
              vaultfmt get passport --field scan.pdf --output scan.pdf
              vaultfmt get github.com alice --otp --clip
              vaultfmt get --class certificate --label host.example --pem
              vaultfmt get github.com alice --earlier 1
            """)

    @OptionGroup var chosen: ItemChoice

    @Option("Write this field, attribute or attached file instead of the secret.")
    var field: String?

    @Flag(help: "Write a certificate, a key or an identity as PEM.")
    var pem = false

    @Flag(help: "Write an Ed25519 key in the format of ssh-keygen.")
    var openssh = false

    @Flag(help: "Print the one-time code, like 'vaultfmt otp'.")
    var otp = false

    @Flag(help: "With --otp: wait for the next code if this one expires in less than 10 seconds.")
    var fresh = false

    @Flag(help: "Print the item as a JSON object, including the secret.")
    var json = false

    @Option(
        defaultAsFlag: Clipboard.standardSeconds, parsing: .next,
        help: ArgumentHelp(
            "Copy the secret to the clipboard, which is cleared after this many seconds if unchanged.",
            valueName: "seconds"))
    var clip: Int?

    @Flag(help: "Show the secret on the terminal even if it is not text.")
    var force = false

    @Option("Write to a new file that only you can read.", value: "file", isFile: true)
    var output: String?

    @OptionGroup var choice: EarlierOption

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !otp || (field == nil && !pem && !openssh && choice.earlier == nil) else {
            throw ValidationError("--otp cannot be combined with --field, --pem, --openssh or --earlier; leave one out")
        }
        guard otp || !fresh else { throw ValidationError("--fresh requires --otp; add it") }
        guard !pem || (field == nil && !json) else {
            throw ValidationError("--pem cannot be combined with --field or --json; leave one out")
        }
        guard !openssh || (field == nil && !json && !pem) else {
            throw ValidationError("--openssh cannot be combined with --pem, --field or --json; leave one out")
        }
        guard [field != nil && json, json && clip != nil].allSatisfy({ !$0 }) else {
            throw ValidationError("--json cannot be combined with --field or --clip; leave one out")
        }
        guard output == nil || (clip == nil && !json && !otp) else {
            throw ValidationError("--output cannot be combined with --clip, --json or --otp; leave one out")
        }
        if let clip, !(1...86_400).contains(clip) {
            throw ValidationError("--clip must be between 1 and 86400 seconds")
        }
    }

    func run() throws {
        try chosen.check()
        let output = outputFile
        if let output { try NewFile.check(output, what: "file") }
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened, mayAsk: !vault.access.noInput)
        if otp { return try OneTimeDelivery(waitsForFresh: fresh, clip: clip, json: json).deliver(item, in: opened) }
        if choice.earlier != nil { return try deliver(choice.value(of: item, field, in: opened), in: opened) }
        if json { return try writeJSON(try opened.open(item), opened) }
        if pem { return try deliver(try Self.pem(item.key, opened.open(item).secret)) }
        if openssh { return try deliver(try OpenSSHForm.text(of: item.key, item.attributes, opened.open(item).secret)) }
        try deliver(ItemField.value(field, of: item, in: opened))
    }

    private var outputFile: String? { output == "-" ? nil : output }

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
        if let output = outputFile { return try NewFile.create(output, what: "file", value) }
        try Output.deliver(value, force: force)
    }

    /// Delivers an earlier value in the same way as the current one.
    private func deliver(_ value: EarlierValue, in vault: Vault) throws {
        guard json || pem || openssh else { return try deliver(ItemField.value(field, of: value, in: vault)) }
        guard value.attribute == nil else {
            guard json else {
                throw CommandFailure(.usage, "an attribute is not a key; leave out \(pem ? "--pem" : "--openssh")")
            }
            return try writeJSON(value, try vault.secret(of: value))
        }
        let whole = try vault.open(value)
        if pem { return try deliver(try Self.pem(whole.key, whole.secret)) }
        if openssh { return try deliver(try OpenSSHForm.text(of: whole.key, whole.attributes, whole.secret)) }
        var writer = JSONWriter(Output.standard())
        let (key, attributes) = (whole.key, whole.attributes)
        let secret = whole.secret.copy()
        try writer.object { writer in
            try writer.member("class", key.itemClass.name)
            try writer.members(ofKey: key)
            try writer.member("group", key.group)
            try writer.member("synchronizable", key.synchronizable)
            try writer.members(naming: value)
            try writer.attributes(attributes) { name throws(VaultError) in try vault.attribute(name, of: value) }
            try writer.member("secret", secret)
        }
        try writer.finish()
    }

    /// Writes an earlier value of a sealed attribute.
    private func writeJSON(_ value: EarlierValue, _ bytes: borrowing Secret) throws {
        var writer = JSONWriter(Output.standard())
        let bytes = bytes.copy()
        try writer.object { writer in
            try writer.members(naming: value)
            try writer.member("value", bytes)
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
