package import ArgumentParser
import Glibc
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// Attributes that are as secret as an item's secret, such as the answer to a security question. Their values are
/// entered at a prompt or read from a pipe, and are never given as an argument.
package struct SecretAttributes: ParsableArguments {
    @Option(
        """
        Store a secret attribute: ask for its value, or read it from a pipe; may be repeated on a terminal. A readable \
        value that it replaces is not kept.
        """,
        value: "name")
    package var secretAttribute: [String] = []

    package init() {}

    package var isGiven: Bool { !secretAttribute.isEmpty }

    /// True if the user is prompted for the values.
    package var asks: Bool { isGiven && Terminal.inputIsTerminal }

    /// Fails before any prompt if there would be no value to read, or if an attribute has the name that is reserved for
    /// one-time codes.
    /// - `others`: The attributes that other options specify.
    /// - `oneTime`: The seed of one-time codes, which may also be read from standard input.
    package func check(_ others: Attributes, _ oneTime: OneTimeSource, _ access: AccessOptions) throws {
        guard isGiven else { return }
        for (index, name) in secretAttribute.enumerated() {
            guard name != AttributeName.oneTimePassword else {
                throw CommandFailure(.usage, "one-time codes are stored by --otp; use that instead")
            }
            guard !name.contains("=") else {
                throw CommandFailure(
                    .usage,
                    "--secret-attribute takes only a name, because other programs can read arguments; the value is asked for, or piped in"
                )
            }
            guard !secretAttribute[..<index].contains(name), others.attribute(name) == nil else {
                throw CommandFailure(
                    .usage, "the attribute \(TerminalText.quoted(name)) is given twice; leave one out")
            }
        }
        guard access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage,
                "standard input cannot provide both the passphrase and an attribute; read the passphrase from a file")
        }
        if Terminal.inputIsTerminal {
            guard !access.noInput else {
                throw CommandFailure(.usage, "no value is given, and --no-input forbids prompting; pipe it in")
            }
        } else if secretAttribute.count > 1 || oneTime.otp {
            throw CommandFailure(
                .usage,
                "standard input provides a single value; use one attribute at a time, or type the values on a terminal"
            )
        }
    }

    /// Refuses new attributes whose names could be mistaken for the secret. Imports keep such fields of other programs,
    /// so those that the item already has can still be changed.
    /// - `item`: The item before the change; nil for a new item.
    package func checkNames(in item: Item?) throws {
        let mistakable = secretAttribute.first { name in
            AttributeRules.isMistakable(name) && item?.attributes.attribute(name) == nil
        }
        guard let name = mistakable else { return }
        throw CommandFailure(
            .usage,
            "the attribute \(TerminalText.quoted(name)) could be mistaken for the secret, which 'vaultfmt set' changes; choose another name"
        )
    }

    /// Prompts for the values, or reads a single value. The line ending of a single line is not part of the value.
    /// - `item`: The item's name in questions.
    /// - `existing`: The item before the change; nil for a new item.
    package func read(for item: String, replacing existing: Item?) throws -> [Attribute] {
        for name in secretAttribute where existing?.attributes.attribute(name)?.flags.contains(.sealed) == false {
            Terminal.note(
                "this replaces the readable value of \(TerminalText.quoted(name)), which does not become an earlier value, because others could read it"
            )
        }
        return try secretAttribute.map { name in
            let value =
                asks
                ? try Prompt.newSecret("\(TerminalText.escaped(name)) of \(item)", instead: "pipe it in")
                : SecretSource.withoutLoneLineEnd(
                    try Descriptor.readAll(
                        STDIN_FILENO, name: "the attribute on standard input", limit: SecretSource.longest))
            guard value.count > 0 else {
                throw CommandFailure(.usage, "the value of \(TerminalText.quoted(name)) is empty; nothing was stored")
            }
            return Attribute(name, secret: value, flags: .sealed)
        }
    }
}
