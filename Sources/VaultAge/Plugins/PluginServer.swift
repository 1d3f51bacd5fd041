public import VaultCrypto

/// The plugin's side of the protocol (C2SP age-plugin.md), for a program that is started as `age-plugin-NAME`.
///
/// The plugin's identities refer to identities that are stored elsewhere. The plugin does not have recipients: files
/// are encrypted to the recipients of the stored identities.
public struct PluginServer: ~Copyable {
    /// Finds the stored identities that the data of a plugin identity refers to. If this throws an error, the error's
    /// detail is shown to the user.
    public typealias Finder = (_ data: borrowing Secret, _ client: inout PluginClient) throws(AgeError) ->
        [any NativeIdentity]

    private let name: String
    private let machine: PluginStateMachine
    private var client: PluginClient

    /// - Parameters:
    ///   - name: The plugin's name.
    ///   - stateMachine: The value of the argument `--age-plugin`. The initializer returns nil for an unknown value.
    ///   - reading: The descriptor from which to read age's output. The caller keeps ownership of both descriptors.
    ///   - writing: The descriptor to which to write age's input.
    public init?(name: String, stateMachine: String, reading: Int32, writing: Int32) {
        guard let machine = PluginStateMachine(rawValue: stateMachine) else { return nil }
        self.name = name
        self.machine = machine
        client = PluginClient(reading: reading, writing: writing)
    }

    /// Communicates with age until everything is done. If a file key cannot be wrapped or unwrapped, the failure is
    /// reported to age, which reports it to the user; an error is thrown only if age violates the protocol or closes
    /// the connection.
    public mutating func run(_ find: Finder) throws(AgeError) {
        var told = Told()
        while try told.note(try client.receive()) {}
        let isRecipientKnown = told.recipients == 0
        if !isRecipientKnown {
            try client.report(
                ["recipient", "0"], "the plugin '\(name)' does not support recipients; use one that starts with age1")
        }
        if let kept = try identities(told, find), isRecipientKnown {
            switch machine {
            case .wrapping: try wrap(told, kept)
            case .unwrapping: try unwrap(told, kept.flatMap { $0 })
            }
        }
        try client.send(["done"])
    }

    /// Returns the stored identities that each plugin identity refers to. If one of them cannot be used, reports that
    /// to age and returns nil.
    private mutating func identities(_ told: borrowing Told, _ find: Finder) throws(AgeError) -> [[any NativeIdentity]]?
    {
        var all: [[any NativeIdentity]] = []
        for (index, text) in told.identities.enumerated() {
            do throws(AgeError) {
                guard let data = PluginIdentity.data(of: text, name: name) else {
                    throw AgeError(.invalidIdentity, "this identity does not belong to the plugin '\(name)'")
                }
                all.append(try find(data, &client))
            } catch {
                // The connection to age is lost, so the error cannot be reported to age.
                guard client.isConnected else { throw error }
                try client.report(["identity", String(index)], error.detail)
                return nil
            }
        }
        return all
    }

    /// Wraps file keys for the first of the stored identities that each plugin identity refers to, because a plugin
    /// must not return more stanzas than it was given identities.
    private mutating func wrap(_ told: borrowing Told, _ kept: [[any NativeIdentity]]) throws(AgeError) {
        let recipients = kept.compactMap { $0.first?.recipient }
        var made: [[WrappedFileKey]] = []
        for index in 0..<told.fileKeys.count {
            var wrapped: [WrappedFileKey] = []
            for recipient in recipients {
                do throws(AgeError) { wrapped.append(try recipient.wrap(told.fileKeys[index].key)) } catch {
                    return try client.report(["internal"], error.detail)
                }
            }
            made.append(wrapped)
        }
        if told.wantsLabels, let first = made.first?.first {
            // A label that only some of the recipients have does not apply to the file.
            let labels = made.joined().reduce(first.labels) { $0.intersection($1.labels) }
            try client.command(["labels"] + labels.sorted())
        }
        for (index, wrapped) in made.enumerated() {
            for stanza in wrapped.flatMap(\.stanzas) {
                try client.command(
                    ["recipient-stanza", String(index), stanza.type] + stanza.arguments, Secret(bytes: stanza.body))
            }
        }
    }

    private mutating func unwrap(_ told: borrowing Told, _ identities: [any NativeIdentity]) throws(AgeError) {
        for file in told.files {
            var found: FileKey?
            var flaw: (position: Int, detail: String)?
            for (position, stanza) in file.stanzas.enumerated() {
                for identity in identities where found == nil {
                    do throws(AgeError) { found = try identity.unwrap(stanza) } catch {
                        flaw = flaw ?? (position, error.detail)
                    }
                }
            }
            // A file with a malformed stanza is not opened.
            if let flaw {
                try client.report(["stanza", file.index, String(flaw.position)], flaw.detail)
            } else if let key = found {
                try client.command(["file-key", file.index], key.secret)
            }
        }
    }
}

/// The connection to age, from the plugin's side.
public struct PluginClient: ~Copyable {
    private var stream: PluginStream
    /// False once the connection has failed.
    private(set) var isConnected = true

    init(reading: Int32, writing: Int32) { stream = PluginStream(reading: reading, writing: writing) }

    /// Asks the user for a secret.
    /// - Returns: The secret, or nil if no one can be asked or no one answers.
    public mutating func askForSecret(_ question: String) throws(AgeError) -> Secret? {
        try send(["request-secret"], Secret(text: question))
        let answer = try receive()
        return answer.type == "ok" ? answer.body.copy() : nil
    }

    /// Shows a message to the user, if that is possible.
    public mutating func show(_ message: String) throws(AgeError) { try command(["msg"], Secret(text: message)) }

    /// Reports an error. After an error is reported for an identity or file, nothing else about it is sent.
    fileprivate mutating func report(_ what: [String], _ detail: String) throws(AgeError) {
        try command(["error"] + what, Secret(text: detail))
    }

    /// Sends a command, and waits until it has been answered.
    fileprivate mutating func command(
        _ words: [String], _ body: borrowing Secret = Secret(count: 0)
    ) throws(AgeError) {
        try send(words, body)
        _ = try receive()
    }

    fileprivate mutating func send(
        _ words: [String], _ body: borrowing Secret = Secret(count: 0)
    ) throws(AgeError) {
        var text = PluginText()
        text.append(words, body: body)
        do throws(PluginStreamFailure) { try stream.send(text) } catch { throw failure(error) }
    }

    fileprivate mutating func receive() throws(AgeError) -> PluginMessage {
        do throws(PluginStreamFailure) { return try stream.receive() } catch { throw failure(error) }
    }

    private mutating func failure(_ failure: PluginStreamFailure) -> AgeError {
        isConnected = false
        switch failure {
        case .closed: return AgeError(.pluginFailed, "the program that started this plugin closed the connection")
        case .timedOut: return AgeError(.timedOut, "the program that started this plugin does not respond")
        case .malformed(let what):
            return AgeError(.pluginFailed, "the program that started this plugin broke the protocol: \(what)")
        case .system(let number):
            return AgeError(
                .pluginFailed,
                "cannot communicate with the program that started this plugin: \(PluginProcess.message(number))")
        }
    }
}

/// The commands that a plugin receives in phase 1.
private struct Told {
    /// The number of recipients. Their contents are not needed.
    private(set) var recipients = 0
    /// Identities as text, because their data is not secret.
    private(set) var identities: [String] = []
    private(set) var fileKeys: [ToldFileKey] = []
    private(set) var wantsLabels = false
    private(set) var files: [(index: String, stanzas: [Stanza])] = []

    /// Records a command; returns false for the last one. Unknown commands are ignored. Throws `pluginFailed`.
    mutating func note(_ message: borrowing PluginMessage) throws(AgeError) -> Bool {
        switch message.type {
        case "done": return false
        case "add-recipient": recipients += 1
        case "add-identity": identities.append(try Self.word(message))
        case "extension-labels": wantsLabels = true
        case "wrap-file-key": fileKeys.append(ToldFileKey(try FileKey(message.body.copy())))
        case "recipient-stanza":
            let index = try Self.word(message)
            guard let stanza = message.stanza(after: 1) else {
                throw AgeError(.pluginFailed, "the program that started this plugin sent a malformed stanza")
            }
            if files.last?.index == index {
                files[files.count - 1].stanzas.append(stanza)
            } else {
                files.append((index, [stanza]))
            }
        default: break
        }
        return true
    }

    private static func word(_ message: borrowing PluginMessage) throws(AgeError) -> String {
        guard let word = message.arguments.first else {
            throw AgeError(.pluginFailed, "the program that started this plugin omitted an argument")
        }
        return word
    }
}

/// A copyable box for a file key.
private final class ToldFileKey: Sendable {
    let key: FileKey

    init(_ key: consuming FileKey) { self.key = key }
}
