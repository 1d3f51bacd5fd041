import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt

/// `otp`: prints the current one-time code of an item.
struct OneTime: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "otp",
        abstract: "Print an item's current one-time code.",
        discussion: """
            Codes follow RFC 6238 or Steam's scheme. On a terminal, standard error shows how long the code remains \
            valid. 'vaultfmt update ITEM --otp' stores the key shown by a site.

            Examples:
              vaultfmt otp github.com alice
              vaultfmt otp github.com alice --clip --fresh
            """,
        aliases: ["totp"])

    @OptionGroup var chosen: ItemChoice

    @Option(
        defaultAsFlag: Clipboard.standardSeconds, parsing: .next,
        help: ArgumentHelp(
            "Copy the code to the clipboard, which is cleared after this many seconds if unchanged.",
            valueName: "seconds"))
    var clip: Int?

    @Flag(help: "Wait for the next code if this one expires in less than 10 seconds.")
    var fresh = false

    @Flag(help: "Print a JSON object with the code, the seconds for which it remains valid, and its period.")
    var json = false

    @Flag(help: "Print the otpauth: address, for setting up the codes on another device.")
    var address = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !json || (clip == nil && !address) else {
            throw ValidationError("--json cannot be combined with --clip or --address; leave one out")
        }
        if let clip, !(1...86_400).contains(clip) {
            throw ValidationError("--clip must be between 1 and 86400 seconds")
        }
    }

    func run() throws {
        try chosen.check()
        guard ![chosen.name.service, chosen.name.account].compactMap(\.self).contains(where: OneTimeSource.isAddress)
        else {
            throw CommandFailure(
                .usage,
                "'vaultfmt otp' shows codes; 'vaultfmt update NAME --otp' asks for the address or reads it from a pipe, because other programs can read arguments"
            )
        }
        let opened = try vault.openVault()
        let item = try found(in: opened)
        guard address else {
            return try OneTimeDelivery(waitsForFresh: fresh, clip: clip, json: json).deliver(item, in: opened)
        }
        let address = try OneTimeDelivery.address(of: item, in: opened)
        if let clip { return try Clipboard.copy(address, clearAfter: clip) }
        try Output.deliver(address, force: false)
    }

    /// Finds the item. An extra word may be the secret key for the codes, so the message does not repeat that word.
    private func found(in vault: Vault) throws -> Item {
        do { return try chosen.find(in: vault) } catch let failure as CommandFailure
            where failure.status == .noSuchItem && chosen.name.account != nil
        {
            throw CommandFailure(
                .noSuchItem,
                "no item has this name and account; 'vaultfmt update NAME --otp' stores codes, and asks for their key")
        }
    }
}
