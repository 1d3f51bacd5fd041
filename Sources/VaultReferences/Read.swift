package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt

/// `read`: writes the secret named by a reference.
package struct Read: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Write the secret named by a reference, for configuration files and scripts.",
        discussion: """
            A reference is vaultfmt:SERVICE or vaultfmt:SERVICE/ACCOUNT, percent-encoded (a slash within a name is %2F), with ?field=NAME, \
            ?group=NAME or ?class=NAME, joined by &. The exact bytes are written; on a terminal, a newline follows.

            With --aws, it writes the JSON that 'credential_process' in ~/.aws/config expects: the account is the access key ID, and the secret \
            is the secret access key. The attributes sealed:session-token and expiration (RFC 3339) are included if present.

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
        try writeAWS(try opened.open(item))
    }

    private func writeAWS(_ opened: borrowing OpenedItem) throws {
        let secret = opened.secret.copy()
        let attributes = opened.item.attributes
        guard let account = TwinName.userName(opened.item), !account.isEmpty, SecretText.isUTF8(secret) else {
            throw CommandFailure(
                .usage, "--aws requires an item whose account is an access key ID and whose secret is text")
        }
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("Version", 1)
            try writer.member("AccessKeyId", account)
            try writer.member("SecretAccessKey", secret)
            if let token = attributes.string("sealed:session-token") { try writer.member("SessionToken", token) }
            if let expiration = attributes.string("expiration") { try writer.member("Expiration", expiration) }
        }
        try writer.finish()
    }
}
