/// A recipient stanza (C2SP age.md, *Recipient stanza*): one file key, wrapped for one recipient. No part of it is
/// secret.
public struct Stanza: Sendable, Hashable {
    /// The first argument, which names the kind of recipient.
    public let type: String
    /// The other arguments.
    public let arguments: [String]
    /// The data that the recipient stored.
    public let body: [UInt8]

    /// The length of a full body line.
    private static let columns = 64

    /// Creates a stanza. Throws `malformedStanza` if an argument is empty or is not printable ASCII without spaces, or
    /// `tooLarge`.
    public init(type: String, arguments: [String] = [], body: [UInt8]) throws(AgeError) {
        self.type = type
        self.arguments = arguments
        self.body = body
        guard arguments.count < AgeLimit.arguments else {
            throw AgeError(.tooLarge, "a stanza has more than \(AgeLimit.arguments) arguments")
        }
        for argument in [type] + arguments {
            guard !argument.isEmpty, argument.utf8.allSatisfy({ (33...126).contains($0) }) else {
                throw AgeError(.malformedStanza, "a stanza's argument is empty or not printable ASCII")
            }
        }
        guard encodedSize <= AgeLimit.stanza else {
            throw AgeError(.tooLarge, "a stanza is longer than \(AgeLimit.stanza) bytes")
        }
    }

    private var encodedSize: Int {
        let head = 3 + ([type] + arguments).reduce(0) { $0 + $1.utf8.count + 1 }
        let text = (body.count * 4 + 2) / 3
        return head + text + text / Self.columns + 1
    }

    /// The text form: the arguments, then the body in Base64, in lines of 64 columns; the last line is shorter.
    public var encoded: [UInt8] {
        var out = Array("-> \(([type] + arguments).joined(separator: " "))\n".utf8)
        var text = Array(Base64.encode(body).utf8)[...]
        while text.count >= Self.columns {
            out += text.prefix(Self.columns) + [UInt8(ascii: "\n")]
            text = text.dropFirst(Self.columns)
        }
        return out + text + [UInt8(ascii: "\n")]
    }

    /// Returns the text form of several consecutive stanzas, which is the form of an age slot's parameters.
    public static func encode(_ stanzas: [Stanza]) -> [UInt8] { stanzas.flatMap(\.encoded) }

    /// Reads the text form of one to 64 stanzas, with nothing after them; `encode` turns the stanzas back into the same
    /// bytes. Throws `malformedStanza` or `tooLarge`.
    public static func decode(_ bytes: [UInt8]) throws(AgeError) -> [Stanza] {
        var lines = StanzaLines(bytes)
        var stanzas: [Stanza] = []
        while let head = try lines.next() {
            guard stanzas.count < AgeLimit.stanzas else {
                throw AgeError(.tooLarge, "there are more than \(AgeLimit.stanzas) stanzas")
            }
            stanzas.append(try stanza(head, &lines))
        }
        guard !stanzas.isEmpty else { throw AgeError(.malformedStanza, "there are no stanzas") }
        return stanzas
    }

    private static func stanza(_ head: ArraySlice<UInt8>, _ lines: inout StanzaLines) throws(AgeError) -> Stanza {
        guard head.starts(with: Array("-> ".utf8)) else {
            throw AgeError(.malformedStanza, "a stanza does not start with an arrow")
        }
        let words = head.dropFirst(3).split(
            separator: UInt8(ascii: " "), maxSplits: AgeLimit.arguments, omittingEmptySubsequences: false)
        guard words.count <= AgeLimit.arguments else {
            throw AgeError(.tooLarge, "a stanza has more than \(AgeLimit.arguments) arguments")
        }
        let text = try body(&lines)
        guard let body = Base64.decode(text) else {
            throw AgeError(.malformedStanza, "a stanza's body is not canonical base64")
        }
        let arguments = words.map { String(decoding: $0, as: UTF8.self) }
        return try Stanza(type: arguments[0], arguments: Array(arguments[1...]), body: body)
    }

    private static func body(_ lines: inout StanzaLines) throws(AgeError) -> [UInt8] {
        var text: [UInt8] = []
        while let line = try lines.next() {
            guard line.count <= columns else {
                throw AgeError(.malformedStanza, "a line in a stanza's body is longer than \(columns) columns")
            }
            text += line
            guard text.count <= AgeLimit.stanza else {
                throw AgeError(.tooLarge, "a stanza is longer than \(AgeLimit.stanza) bytes")
            }
            if line.count < columns { return text }
        }
        throw AgeError(.malformedStanza, "a stanza is truncated")
    }
}

/// An iterator over lines that end with a line feed.
private struct StanzaLines {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Returns the next line without its line feed, or nil after the last line.
    mutating func next() throws(AgeError) -> ArraySlice<UInt8>? {
        guard !rest.isEmpty else { return nil }
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            throw AgeError(.malformedStanza, "the last line of a stanza does not end with a newline")
        }
        defer { rest = rest[(end + 1)...] }
        return rest[..<end]
    }
}
