internal import CTestSupport
internal import Fuzzing
internal import Glibc
internal import VaultAge
internal import VaultBytes
internal import VaultCrypto

/// What others have written and VaultAge reads, as `FuzzTarget` has the library's: the first byte says what it is.
public enum AgeTarget {
    /// The texts, in the order of the first byte.
    public enum Form: UInt8, CaseIterable, Sendable {
        /// A slot's parameters.
        case stanzas
        /// A file that `--identity` names: identities, an OpenSSH key, an encrypted file.
        case identities
        /// A file that `--recipients-file` names.
        case recipients
        /// What a plugin sends.
        case messages
    }

    /// Runs one input; traps if a property does not hold, or if it takes too long.
    public static func run(_ input: UnsafeRawBufferPointer) {
        do { try InputTime.limited(bytes: input.count) { try check(input) } } catch { fatalError("age: \(error)") }
    }

    /// What is accepted reads the same again, and what is refused is refused in one line; throws if it is not so.
    public static func check(_ input: UnsafeRawBufferPointer) throws { _ = try accepts(input) }

    /// Checks an input; returns whether it was accepted.
    public static func accepts(_ input: UnsafeRawBufferPointer) throws -> Bool {
        guard let first = input.first, let form = Form(rawValue: first % UInt8(Form.allCases.count)) else {
            return false
        }
        let text = Array(input.dropFirst())
        do {
            switch form {
            case .stanzas: try checkStanzas(text)
            case .identities: _ = try IdentityFile.read(Secret(bytes: text))
            case .recipients: try checkRecipients(text)
            case .messages: return try readMessages(text) > 0
            }
            return true
        } catch let error as AgeError {
            guard !error.detail.isEmpty, !error.detail.contains("\n") else {
                throw Mismatch("a refusal is not one line: \(error.detail)")
            }
            return false
        }
    }

    /// The stanzas of a conformance vector's age slot; nil if it has none.
    public static func seed(from vector: [UInt8]) -> [UInt8]? {
        guard let bytes = VectorSeeds.vault(in: vector) else { return nil }
        do throws(FormatError) {
            let length = try Header.length(bytes.span)
            guard length <= bytes.count else { return nil }
            let header = Array(bytes[..<length])
            let slots = try Header(header.span).slots
            let provider = slots.compactMap { $0.known?.provider }.first { $0.name == AgeFactor.name }
            return provider.map { [Form.stanzas.rawValue] + $0.parameters }
        } catch { return nil }
    }

    /// Those that most vectors have.
    private static let identities: [any NativeIdentity] = [
        "AGE-SECRET-KEY-1G9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9Q5ZS2PG9QSC006VW",
        "AGE-SECRET-KEY-PQ-129G4Z52329G4Z52329G4Z52329G4Z52329G4Z52329G4Z52329GSUX6V72",
    ].map { text in
        do throws(AgeError) {
            let decoded = try Secret(text: text).withUnsafeBytes { (text) throws(AgeError) in try IdentityText(text) }
            if case .native(let identity) = decoded { return identity }
        } catch {}
        fatalError("age: not an identity: \(text)")
    }

    /// What the stanzas of vectors and corpus wrap.
    private static let fileKeys = [[UInt8](0xF0...0xFF), [UInt8](repeating: 0x11, count: 16)]

    private static func checkStanzas(_ text: [UInt8]) throws {
        let stanzas = try Stanza.decode(text)
        guard Stanza.encode(stanzas) == text else { throw Mismatch("stanzas encode to another text") }
        for identity in identities {
            for stanza in stanzas {
                do throws(AgeError) {
                    guard let key = try identity.unwrap(stanza) else { continue }
                    let isOwn = key.secret.withUnsafeBytes { key in fileKeys.contains { $0.elementsEqual(key) } }
                    guard isOwn else { fatalError("age: a stanza opens with another file key") }
                } catch {
                    guard error.code == .malformedStanza else { throw error }
                }
            }
        }
    }

    private static func checkRecipients(_ text: [UInt8]) throws {
        for recipient in try RecipientText.list(String(decoding: text, as: UTF8.self)) {
            guard try RecipientText(recipient.text).text == recipient.text else {
                throw Mismatch("a recipient reads otherwise than it is stored")
            }
        }
    }

    /// The number of messages before the first that is refused, or the end.
    private static func readMessages(_ text: [UInt8]) throws -> Int {
        let descriptor = test_memory_file()
        guard descriptor >= 0 else { throw Mismatch("no memory file: error \(-descriptor)") }
        defer { close(descriptor) }
        guard write(descriptor, text, text.count) == text.count, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw Mismatch("the memory file could not be written")
        }
        var stream = PluginStream(reading: descriptor, writing: -1)
        var count = 0
        while true {
            let message: PluginMessage
            do throws(PluginStreamFailure) { message = try stream.receive() } catch { return count }
            guard !message.type.isEmpty, message.body.count <= PluginMessage.longestBody else {
                throw Mismatch("a message without a type, or too long")
            }
            if let stanza = message.stanza(after: 1), try Stanza.decode(Stanza.encode([stanza])) != [stanza] {
                throw Mismatch("a message's stanza encodes to another one")
            }
            count += 1
        }
    }
}
