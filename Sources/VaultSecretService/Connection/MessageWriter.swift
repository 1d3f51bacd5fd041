internal import CUserBus
internal import VaultExchange

/// Writes values into a message for the bus. Secrets are copied only into the message's own memory, which libsystemd
/// erases when it frees a message that is marked as sensitive.
struct MessageWriter {
    private let message: UnsafeMutableRawPointer

    init(_ message: UnsafeMutableRawPointer) { self.message = message }

    /// Appends values; returns false if libsystemd refuses one, or has not enough memory.
    func append(_ values: [BusValue]) -> Bool { values.allSatisfy { append($0) } }

    private func append(_ value: BusValue) -> Bool {
        switch value {
        case .boolean(let value):
            var number: CInt = value ? 1 : 0
            return user_bus_append(message, Self.type("b"), &number) >= 0
        case .number(var number): return user_bus_append(message, Self.type("t"), &number) >= 0
        case .text(let text): return user_bus_append(message, Self.type("s"), text) >= 0
        case .path(let path): return user_bus_append(message, Self.type("o"), path) >= 0
        case .bytes(let secret):
            var space: UnsafeMutableRawPointer?
            guard user_bus_append_bytes(message, secret.count, &space) >= 0 else { return false }
            if let space {
                secret.withBytes { bytes in
                    UnsafeMutableRawBufferPointer(start: space, count: bytes.count).copyMemory(from: bytes)
                }
            }
            return true
        case .structure(let parts): return container("r", parts.map(\.signature).joined(), parts)
        case .array(let element, let values): return container("a", element, values)
        case .entry(let key, let value): return container("e", key.signature + value.signature, [key, value])
        case .variant(let value): return container("v", value.signature, [value])
        case .other: return false
        }
    }

    private func container(_ type: UnicodeScalar, _ contents: String, _ values: [BusValue]) -> Bool {
        user_bus_open_container(message, Self.type(type), contents) >= 0 && append(values)
            && user_bus_close_container(message) >= 0
    }

    private static func type(_ letter: UnicodeScalar) -> CChar { CChar(truncatingIfNeeded: letter.value) }
}
