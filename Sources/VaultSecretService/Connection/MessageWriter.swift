internal import CUserBus
internal import VaultExchange

/// Writes values into a message for the bus. Secrets are copied only into the message's own memory, which libsystemd
/// erases when it frees a message marked as sensitive.
///
/// When a message grows, libsystemd moves it and does not erase the old memory. Therefore, secrets are filled in only
/// after the message has reached its final size.
struct MessageWriter {
    private let message: UnsafeMutableRawPointer

    init(_ message: UnsafeMutableRawPointer) { self.message = message }

    /// Appends all values of a message; only a reply can contain byte arrays. Returns false if libsystemd rejects a
    /// value or runs out of memory; the message must then not be sent.
    func append(_ values: [BusValue]) -> Bool {
        guard values.allSatisfy({ add($0) }) else { return false }
        guard values.contains(where: \.hasBytes) else { return true }
        return user_bus_seal_reply(message) >= 0 && values.allSatisfy { fill($0) }
    }

    // MARK: appending

    private func add(_ value: BusValue) -> Bool {
        switch value {
        case .boolean(let value):
            var number: CInt = value ? 1 : 0
            return user_bus_append(message, Self.type("b"), &number) >= 0
        case .number(var number): return user_bus_append(message, Self.type("t"), &number) >= 0
        case .text(let text): return user_bus_append(message, Self.type("s"), text) >= 0
        case .path(let path): return user_bus_append(message, Self.type("o"), path) >= 0
        case .bytes(let bytes): return user_bus_append_space(message, bytes.count) >= 0
        case .structure, .array, .entry, .variant:
            guard let container = Container(value) else { return false }
            return user_bus_open_container(message, Self.type(container.type), container.contents) >= 0
                && container.values.allSatisfy { add($0) } && user_bus_close_container(message) >= 0
        case .other: return false
        }
    }

    // MARK: filling

    /// Fills in the bytes of a value and moves past it.
    private func fill(_ value: BusValue) -> Bool {
        guard value.hasBytes else { return user_bus_skip(message, value.signature) > 0 }
        if case .bytes(let bytes) = value {
            return bytes.withBytes { user_bus_fill_bytes(message, $0.baseAddress, $0.count) } >= 0
        }
        guard let container = Container(value) else { return false }
        return user_bus_enter(message, Self.type(container.type), container.contents) > 0
            && container.values.allSatisfy { fill($0) } && user_bus_exit(message) >= 0
    }

    /// A value that contains others, in libsystemd's terms.
    private struct Container {
        let type: UnicodeScalar
        let contents: String
        let values: [BusValue]

        init?(_ value: BusValue) {
            switch value {
            case .structure(let parts): (type, contents, values) = ("r", parts.map(\.signature).joined(), parts)
            case .array(let element, let all): (type, contents, values) = ("a", element, all)
            case .entry(let key, let value):
                (type, contents, values) = ("e", key.signature + value.signature, [key, value])
            case .variant(let value): (type, contents, values) = ("v", value.signature, [value])
            case .boolean, .number, .text, .path, .bytes, .other: return nil
            }
        }
    }

    private static func type(_ letter: UnicodeScalar) -> CChar { CChar(truncatingIfNeeded: letter.value) }
}

extension BusValue {
    /// True if this is or contains a byte array, which may be a secret.
    fileprivate var hasBytes: Bool {
        switch self {
        case .bytes: true
        case .structure(let parts), .array(_, let parts): parts.contains(where: \.hasBytes)
        case .entry(let key, let value): key.hasBytes || value.hasBytes
        case .variant(let value): value.hasBytes
        case .boolean, .number, .text, .path, .other: false
        }
    }
}
