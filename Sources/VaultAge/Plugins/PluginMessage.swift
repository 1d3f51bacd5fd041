internal import CSodium
package import VaultCrypto

/// A command or response of the plugin protocol (C2SP age-plugin.md, *IPC protocol*): a stanza whose body may be
/// secret.
package struct PluginMessage: ~Copyable {
    /// The first word of the command.
    package let type: String
    /// The words after the type. They are never secret, because a secret identity is written only with `PluginText`.
    package let arguments: [String]
    /// The decoded body.
    package let body: Secret

    /// The maximum length of a body, in bytes.
    package static let longestBody = AgeLimit.stanza
    /// The maximum length of the first line, in bytes: a stanza's maximum, plus a command and an index before it.
    static let longestHead = AgeLimit.stanza + 64
    static let columns = 64

    package init(_ type: String, _ arguments: [String] = [], body: consuming Secret = Secret(count: 0)) {
        self.type = type
        self.arguments = arguments
        self.body = body
    }

    /// The body as text for messages to a person; invalid UTF-8 becomes replacement characters.
    package var text: String {
        body.withUnsafeBytes {
            String(decoding: $0.prefix(Self.longestShown), as: UTF8.self) + ($0.count > Self.longestShown ? "…" : "")
        }
    }

    /// The maximum number of bytes of a message that are shown.
    private static let longestShown = 4096

    /// Returns the stanza that follows the first `count` arguments, or nil if the rest is not a stanza.
    package func stanza(after count: Int) -> Stanza? {
        guard arguments.count > count else { return nil }
        let rest = arguments[(count + 1)...]
        do throws(AgeError) {
            return try Stanza(
                type: arguments[count], arguments: Array(rest), body: body.withUnsafeBytes { Array($0) })
        } catch { return nil }
    }
}

/// The text of messages to a plugin, in memory that is wiped after use.
package struct PluginText: ~Copyable {
    private(set) var bytes = Secret(count: 1024)
    private(set) var count = 0

    package init() {}

    /// Appends a message without a body.
    package mutating func append(_ words: [String]) { append(words, body: Secret(count: 0)) }

    /// Appends a message.
    package mutating func append(_ words: [String], body: borrowing Secret) {
        append(Array("-> \(words.joined(separator: " "))\n".utf8))
        appendBody(body)
    }

    /// Appends a message with one argument, which may be secret, and no body.
    mutating func append(_ type: String, secretArgument: borrowing Secret) {
        append(Array("-> \(type) ".utf8))
        secretArgument.withUnsafeBytes { append($0) }
        append(Array("\n\n".utf8))
    }

    private mutating func appendBody(_ body: borrowing Secret) {
        let variant = Int32(sodium_base64_VARIANT_ORIGINAL_NO_PADDING)
        var text = Secret(count: sodium_base64_encoded_len(body.count, variant))
        text.withUnsafeMutableBytes { text in
            guard let start = text.baseAddress else { return }
            body.withUnsafeBytes { body in
                _ = sodium_bin2base64(
                    start.assumingMemoryBound(to: CChar.self), text.count, body.u8, body.count, variant)
            }
        }
        text.withUnsafeBytes { text in
            // libsodium appends a zero byte, which is dropped. The last line must be shorter than the others and can be
            // empty.
            var rest = text.dropLast()
            while rest.count >= PluginMessage.columns {
                append(UnsafeRawBufferPointer(rebasing: rest.prefix(PluginMessage.columns)))
                append([UInt8(ascii: "\n")])
                rest = rest.dropFirst(PluginMessage.columns)
            }
            append(UnsafeRawBufferPointer(rebasing: rest))
        }
        append([UInt8(ascii: "\n")])
    }

    private mutating func append(_ new: [UInt8]) { new.withUnsafeBytes { append($0) } }

    private mutating func append(_ new: UnsafeRawBufferPointer) {
        if count + new.count > bytes.count { grow(to: max(bytes.count * 2, count + new.count)) }
        let start = count
        bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyMemory(from: new) }
        count += new.count
    }

    private mutating func grow(to size: Int) {
        var larger = Secret(count: size)
        bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
        bytes = larger
    }
}
