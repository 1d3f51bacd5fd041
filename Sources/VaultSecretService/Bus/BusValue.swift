package import VaultExchange

/// A value in a D-Bus message. A byte array may be a secret, so it is kept in memory that is wiped.
package indirect enum BusValue: Sendable {
    case boolean(Bool)
    /// `t`.
    case number(UInt64)
    case text(String)
    /// The path of an object.
    case path(String)
    case bytes(SharedSecret)
    case structure([BusValue])
    /// The signature of the elements, and the elements themselves.
    case array(String, [BusValue])
    /// An entry of a dictionary; a dictionary is an array of entries.
    case entry(BusValue, BusValue)
    case variant(BusValue)
    /// A value of a type that this service does not use.
    case other

    /// The type signature, as defined by D-Bus.
    package var signature: String {
        switch self {
        case .boolean: "b"
        case .number: "t"
        case .text: "s"
        case .path: "o"
        case .bytes: "ay"
        case .structure(let parts): "(" + parts.map(\.signature).joined() + ")"
        case .array(let element, _): "a" + element
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        case .other: ""
        }
    }
}

extension BusValue {
    /// The approximate size of the value in a message, in bytes.
    var size: Int {
        switch self {
        case .boolean, .number, .other: 8
        case .text(let text), .path(let text): text.utf8.count + 8
        case .bytes(let bytes): bytes.count + 8
        case .structure(let parts), .array(_, let parts): parts.reduce(8) { $0 + $1.size }
        case .entry(let key, let value): key.size + value.size
        case .variant(let value): value.size + 8
        }
    }

    /// Makes an array of object paths.
    package static func paths(_ paths: [String]) -> BusValue { .array("o", paths.map { .path($0) }) }

    /// Makes a dictionary that maps names to values of any type.
    package static func properties(_ all: [(name: String, value: BusValue)]) -> BusValue {
        .array("{sv}", all.map { .entry(.text($0.name), .variant($0.value)) })
    }

    /// Makes a dictionary of strings.
    static func texts(_ all: [(name: String, value: String)]) -> BusValue {
        .array("{ss}", all.map { .entry(.text($0.name), .text($0.value)) })
    }

    /// The path that represents no object: no prompt, or no collection.
    static let noPath = BusValue.path("/")
}
