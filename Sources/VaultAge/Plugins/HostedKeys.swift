internal import VaultCrypto

/// A recipient for which a plugin wraps file keys.
struct HostedRecipient: Recipient {
    let host: PluginHost
    let recipient: PluginRecipient

    var text: String { recipient.text }
    /// The maximum number of characters of a recipient that an error message shows.
    private static let shown = 24
    var kind: RecipientKind { .plugin(recipient.name) }

    func wrap(_ fileKey: borrowing FileKey) throws(AgeError) -> WrappedFileKey {
        var session = try host.start(recipient.name, .wrapping)
        var text = PluginText()
        text.append(["add-recipient", recipient.text])
        Grease.append(to: &text)
        text.append(["wrap-file-key"], body: fileKey.secret)
        text.append(["extension-labels"])
        text.append(["done"])
        try session.tell(text)
        var stanzas: [Stanza] = []
        var labels: Set<String>?
        try session.answer { (message) throws(AgeError) in
            switch message.type {
            case "recipient-stanza":
                guard message.arguments.first == "0", let stanza = message.stanza(after: 1) else {
                    throw AgeError(.malformedStanza, "returned a malformed stanza")
                }
                guard stanzas.isEmpty else {
                    throw AgeError(.malformedStanza, "returned more stanzas than there are recipients")
                }
                stanzas.append(stanza)
            case "labels":
                guard labels == nil else { throw AgeError(.malformedStanza, "sent its labels twice") }
                labels = Set(message.arguments)
            default: return false
            }
            return true
        }
        if let reported = session.reported {
            throw AgeError(reported.code, "\(reported.detail) (recipient \(recipient.text.prefix(Self.shown))…)")
        }
        guard !stanzas.isEmpty else {
            throw AgeError(.pluginFailed, "the age plugin '\(recipient.name)' returned no stanza")
        }
        return WrappedFileKey(stanzas: stanzas, labels: labels ?? [])
    }
}

/// Identities of one plugin.
struct HostedIdentities: Identity {
    let host: PluginHost
    let name: String
    let identities: [PluginIdentity]

    func unwrap(_ headers: [[Stanza]], into found: inout FoundFileKeys) throws(AgeError) {
        var session = try host.start(name, .unwrapping)
        try session.tell(request(headers))
        var keys: [FileKeyBox?] = headers.map { _ in nil }
        try session.answer { (message) throws(AgeError) in
            guard message.type == "file-key" else { return false }
            guard let index = keys.indices.first(where: { [String($0)] == message.arguments }) else {
                throw AgeError(.malformedStanza, "returned a file key for a file that it was not asked about")
            }
            guard keys[index] == nil else { throw AgeError(.malformedStanza, "returned two file keys for one file") }
            guard message.body.count == FileKey.size else {
                throw AgeError(
                    .malformedStanza, "returned a file key of \(message.body.count) bytes, not \(FileKey.size)")
            }
            keys[index] = FileKeyBox(try FileKey(message.body.copy()))
            return true
        }
        for (index, key) in keys.enumerated() {
            if let key { found.add(key.key.copy(), for: index) }
        }
        // If a key was found, failures of the other identities do not matter.
        if let reported = session.reported, keys.allSatisfy({ $0 == nil }) { throw reported }
    }

    private func request(_ headers: [[Stanza]]) -> PluginText {
        var text = PluginText()
        for identity in identities { text.append("add-identity", secretArgument: identity.text) }
        Grease.append(to: &text)
        for (index, stanzas) in headers.enumerated() {
            for stanza in stanzas {
                text.append(
                    ["recipient-stanza", String(index), stanza.type] + stanza.arguments,
                    body: Secret(bytes: stanza.body))
            }
        }
        text.append(["done"])
        return text
    }
}

/// A copyable box for a file key.
private final class FileKeyBox: Sendable {
    let key: FileKey

    init(_ key: consuming FileKey) { self.key = key }
}

/// Unknown commands, sent to ensure that plugins ignore commands that they do not know.
private enum Grease {
    static func append(to text: inout PluginText) {
        let word = String(UInt32.random(in: 0...UInt32.max), radix: 36)
        text.append(["grease-\(word)", word], body: Secret.random(count: Int.random(in: 0...100)))
    }
}
