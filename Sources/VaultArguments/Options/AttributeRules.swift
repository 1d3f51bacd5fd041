import VaultAgent
package import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The rules for attributes that a user writes, as an option or as a line in an editor. An import has its own rules: it
/// keeps what another program stored.
package enum AttributeRules {
    /// How the user writes an attribute, which determines the advice in a message.
    package enum Form: Sendable {
        /// `--attribute NAME=VALUE`.
        case option
        /// A line in an editor, or a text that is the value of one attribute.
        case line

        /// The option or the line that sets how often a secret should be changed.
        fileprivate func every(_ interval: String) -> String {
            switch self {
            case .option: "--rotate-every \(interval)"
            case .line: "'\(AttributeName.changeInterval): \(interval)'"
            }
        }

        /// An attribute as the user writes it.
        fileprivate func example(_ name: String, _ value: String) -> String {
            switch self {
            case .option: "\(name)=\(value)"
            case .line: "'\(name): \(value)'"
            }
        }
    }

    /// Returns the attribute that an edited text describes.
    /// - `item`: The item, whose own attributes stay editable under any name.
    /// - Throws: `CommandFailure` if an option with this name and value would be refused.
    package static func edited(
        _ name: String, _ value: consuming Secret, of item: Item
    ) throws(CommandFailure) -> Attribute {
        if item.attributes.attribute(name) == nil { try requireNotSecret(name, .line) }
        if name == AttributeName.oneTimePassword {
            let issuer = item.attributes.label ?? item.key.service ?? item.key.server ?? ""
            let seed = try OneTimeSeed(value, issuer: issuer, account: item.key.account ?? "")
            seed.warnIfShort()
            return seed.attribute
        }
        if restrictsValue(of: name) {
            let text = value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            try check(name, text, .line)
        }
        return Attribute(name, keeping: value, flags: nil)
    }

    // MARK: refusals

    /// Returns whether an attribute with this name could be mistaken for the item's secret.
    static func isMistakable(_ name: String) -> Bool { ["secret", "password"].contains(name.lowercased()) }

    /// Throws an error if a new attribute could be mistaken for the item's secret.
    static func requireNotSecret(_ name: String, _ form: Form) throws(CommandFailure) {
        guard isMistakable(name) else { return }
        let change =
            switch form {
            case .option: "'vaultfmt set' changes the secret, and"
            case .line: "the line 'secret:' changes the secret, and 'vaultfmt update' with"
            }
        throw CommandFailure(
            .usage,
            "the attribute \(TerminalText.quoted(name)) would be stored in the index, and could be mistaken for the secret; "
                + "\(change) --secret-attribute stores another one under another name")
    }

    /// Returns whether `check` has rules for the values of this attribute.
    static func restrictsValue(of name: String) -> Bool {
        [AttributeName.expires, AttributeName.changeInterval, AttributeName.check, SSHAttribute.use].contains(name)
            || ineffective.contains(name)
    }

    /// Names that look like the name of the interval attribute, but have no effect.
    private static let ineffective: Set<String> = [
        "rotate", "rotate-every", "rotation", "max-age", "rotation-interval",
    ]

    /// Throws an error if an attribute that 'vaultfmt check' or the agent reads has an invalid value, because the value
    /// would be ignored, or the key not offered.
    static func check(_ name: String, _ value: String, _ form: Form) throws(CommandFailure) {
        let isTime = Age(argument: value) != nil
        switch name {
        case AttributeName.expires where ImportedTime.milliseconds(dayOrTime: value) == nil:
            let every = form.every(isTime ? value : "90d")
            throw CommandFailure(
                .usage,
                "\(TerminalText.quoted(value)) is not a date; use a date such as \(form.example(name, "2026-12-31")), "
                    + "or \(every) if the secret should be changed regularly")
        case AttributeName.changeInterval where !isTime:
            throw CommandFailure(.usage, "\(TerminalText.quoted(value)) is not an interval; use \(form.every("90d"))")
        case AttributeName.check where value != "off":
            throw CommandFailure(
                .usage,
                "the attribute 'check' can only be 'off', which exempts the item from 'vaultfmt check'; use \(form.example(name, "off"))"
            )
        case SSHAttribute.use where KeyUse(rawValue: value) == nil:
            throw CommandFailure(
                .usage,
                "the attribute 'ssh' can only be offer, confirm or off; use \(form.example(name, KeyUse.offer.rawValue)), for example"
            )
        case _ where ineffective.contains(name) && isTime:
            throw CommandFailure(
                .usage, "the attribute \(TerminalText.quoted(name)) has no effect; use \(form.every(value)) instead")
        default: return
        }
    }

    // MARK: notices

    /// Reports the attribute `note`, because only `notes` is sealed.
    package static func noteNotes(_ name: String) {
        guard name == "note" else { return }
        Terminal.note("the attribute 'note' is stored in the index and shown in lists; 'notes' is sealed like a secret")
    }

    /// Reports an attribute that has the name of a secret, or contains an address with a password, but is stored
    /// readably.
    /// - `items`: The items before the change, in which a sealed attribute stays sealed; none for a new item.
    package static func noteReadable(_ attribute: Attribute, in items: [Item], _ form: Form) {
        let name = attribute.name
        let isNamed = SecretName.isSecret(name) && !AttributeName.meaningful.contains(name)
        let hasPassword = attribute.withUnsafeBytes { WebAddress.hasPassword($0) } ?? false
        guard isNamed || hasPassword, !attribute.flags.contains(.sealed) else { return }
        let isSealed = items.map { $0.attributes.attribute(name)?.flags.contains(.sealed) ?? false }
        guard isSealed.isEmpty || isSealed.contains(false) else { return }
        let what = isNamed ? "" : "contains an address with a password, and "
        let option =
            switch form {
            case .option: "--secret-attribute"
            case .line: "'vaultfmt update' with --secret-attribute"
            }
        Terminal.note(
            "the attribute \(TerminalText.quoted(name)) \(what)is stored in the index and shown in lists; "
                + "\(option) stores one that is sealed like a secret")
    }
}
