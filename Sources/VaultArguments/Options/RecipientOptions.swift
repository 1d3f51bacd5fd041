import ArgumentParser
package import VaultAge
import VaultConsole
import VaultFmt
import VaultLocal

/// The recipients of a slot: public keys, so no secret is needed.
package struct RecipientOptions: ParsableArguments {
    @Option(
        "An age recipient for the slot: age1…, age1pq1…, a plugin's age1NAME1…, or 'ssh-ed25519 …'; may be repeated.",
        value: "recipient")
    var recipient: [String] = []

    @Option("A file of age recipients, one per line; may be repeated.", isFile: true)
    var recipientsFile: [String] = []

    @Flag(
        help: "Let post-quantum and other recipients share a slot, which is then only as strong as the weakest of them."
    )
    var mixRecipients = false

    package init() {}

    package var isAnyGiven: Bool { !(recipient.isEmpty && recipientsFile.isEmpty) }

    package func validate() throws {
        guard isAnyGiven || !mixRecipients else { throw ValidationError("--mix-recipients requires --recipient") }
    }

    /// The factor that creates a slot for the recipients; nil if no recipient is given.
    package func factor(mayAsk: Bool) throws -> AgeFactor? {
        guard isAnyGiven else { return nil }
        let resolve = AgeKeys.resolver(AgeKeys.plugins(mayAsk: mayAsk))
        var all: [any Recipient] = []
        for text in try texts() {
            do throws(AgeError) { all.append(try resolve(text)) } catch { throw CommandFailure(error) }
        }
        return AgeFactor(recipients: all, mixesLabels: mixRecipients)
    }

    private func texts() throws -> [RecipientText] {
        var all: [RecipientText] = []
        for text in recipient {
            do throws(AgeError) { all.append(try RecipientText(text)) } catch {
                throw CommandFailure(error, at: "--recipient \(TerminalText.quoted(text, limit: 24))")
            }
        }
        for path in recipientsFile {
            let content = try whileOpening {
                try FactorInput.file(path, what: "recipients file", limit: AgeLimit.identityFile)
            }
            // These are public keys, so the text contains no secret.
            let text = content.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let place = "recipients file \(TerminalText.path(path))"
            do throws(AgeError) { all += try RecipientText.list(text) } catch {
                throw CommandFailure(error, at: place)
            }
            guard !all.isEmpty else {
                throw CommandFailure(.usage, "\(place) contains no recipients; add one per line")
            }
        }
        return all
    }
}
