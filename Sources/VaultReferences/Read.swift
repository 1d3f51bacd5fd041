package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `read`: writes the secret named by a reference.
package struct Read: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Write the secret named by a reference, for configuration files and scripts.",
        discussion: """
            A reference is vaultfmt:SERVICE or vaultfmt:SERVICE/ACCOUNT, percent-encoded (a slash within a name is %2F), with ?field=NAME, \
            ?group=NAME or ?class=NAME, joined by &. The exact bytes are written; on a terminal, a newline follows.

            With --aws, it writes the JSON that 'credential_process' in ~/.aws/config expects: the account is the access key ID, and the secret \
            is the secret access key. The attributes sealed:session-token or else session-token, which --secret-attribute stores, and \
            expiration (RFC 3339) are included if present.

            Examples:
              vaultfmt read vaultfmt:db.example.org/app
              vaultfmt read --aws vaultfmt:aws-production
            """)

    @Argument(
        help: "The reference, such as vaultfmt:SERVICE/ACCOUNT.", completion: .custom(ReferenceCompletion.references))
    var reference: String

    @Flag(help: "Print credentials for AWS.")
    var aws = false

    @Flag(help: "Show the secret on the terminal even if it is not text.")
    var force = false

    @OptionGroup var vault: VaultOptions

    package init() {}

    package func run() throws {
        let reference = try Reference(reference)
        let opened = try vault.openVault()
        guard aws else { return try Output.deliver(reference.value(in: opened), force: force) }
        guard reference.field == nil else {
            throw CommandFailure(.usage, "--aws uses the whole item; leave out ?field=")
        }
        let item = try reference.item(in: opened)
        try writeAWS(try opened.open(item), in: opened)
    }

    private func writeAWS(_ opened: borrowing OpenedItem, in vault: Vault) throws {
        let secret = opened.secret.copy()
        let item = opened.item
        guard let account = TwinName.userName(item), !account.isEmpty, SecretText.isUTF8(secret) else {
            throw CommandFailure(
                .unavailable, "--aws requires an item whose account is an access key ID and whose secret is text")
        }
        // The prefix seals an attribute that no option has sealed.
        let token =
            try Self.text("sealed:session-token", of: item, in: vault)
            ?? Self.text("session-token", of: item, in: vault)
        let expiration = try Self.text("expiration", of: item, in: vault)
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("Version", 1)
            try writer.member("AccessKeyId", account)
            try writer.member("SecretAccessKey", secret)
            if let token { try writer.member("SessionToken", token.secret) }
            if let expiration { try writer.member("Expiration", expiration.secret) }
        }
        try writer.finish()
    }

    /// Returns an attribute's value, of any size; nil if the item does not have the attribute.
    /// - Throws: `CommandFailure` if the value is not text.
    private static func text(_ name: String, of item: Item, in vault: Vault) throws -> SharedSecret? {
        guard let value = try vault.attribute(name, of: item) else { return nil }
        guard SecretText.isUTF8(value) else {
            throw CommandFailure(
                .unavailable, "\(ItemText.summary(item.key)): the attribute \(TerminalText.quoted(name)) is not text")
        }
        return SharedSecret(value)
    }
}
