internal import Fuzzing
internal import VaultCrypto
internal import VaultExchange
internal import VaultSecretService

/// Makes calls of bytes, and of the paths in earlier answers. Most have arguments of the types that the method expects.
struct BusCaller {
    static let clients = 3

    private static let root = "/org/freedesktop/secrets"
    private static let prefix = "org.freedesktop.Secret."
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let mostPaths = 200

    private var paths = [
        root, root + "/aliases/default", root + "/collection/desktop", root + "/collection/bank",
        root + "/session/1", root + "/prompt/1", root + "/collection", "/", root + "/x",
    ]
    private(set) var calls = 0

    private static let members: [(interface: String, member: String)] = [
        (prefix + "Service", "OpenSession"), (prefix + "Service", "SearchItems"), (prefix + "Service", "Unlock"),
        (prefix + "Service", "Lock"), (prefix + "Service", "GetSecrets"), (prefix + "Service", "CreateCollection"),
        (prefix + "Service", "ReadAlias"), (prefix + "Service", "SetAlias"), (prefix + "Collection", "CreateItem"),
        (prefix + "Collection", "Delete"), (prefix + "Collection", "SearchItems"), (prefix + "Item", "GetSecret"),
        (prefix + "Item", "SetSecret"), (prefix + "Item", "Delete"), (prefix + "Session", "Close"),
        (prefix + "Prompt", "Prompt"), (prefix + "Prompt", "Dismiss"), (properties, "Get"), (properties, "GetAll"),
        (properties, "Set"), ("org.freedesktop.DBus.Introspectable", "Introspect"),
    ]
    private static let texts = [
        "", "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7", "default", "s", "u", "service", "username", "bank", "Label",
        "Attributes", "Locked", prefix + "Item", prefix + "Collection", prefix + "Item.Label",
        prefix + "Item.Attributes", prefix + "Collection.Label", "text/plain", "ssh", "sealed:a",
        String(repeating: "x", count: 5000),
    ]

    static func client(_ number: Int) -> BusClient {
        BusClient(name: ":1.\(number)", process: UInt32(truncatingIfNeeded: 10 + number), program: "fuzz '\(number)")
    }

    mutating func learn(_ path: String) {
        if paths.count < Self.mostPaths, !paths.contains(path) { paths.append(path) }
    }

    mutating func call(_ choices: inout ByteChoices) -> BusCall {
        calls += 1
        let client = Self.client(choices.below(Self.clients))
        let (interface, member) = choices.pick(Self.members)
        let object = path(&choices)
        // One in eight calls has another interface, and one in eight any arguments.
        let kind = choices.below(8)
        let arguments =
            kind == 7 ? (0..<choices.below(5)).map { _ in value(&choices, depth: 0) } : fitting(member, &choices)
        return BusCall(client, object, kind == 6 ? text(&choices) : interface, member, arguments)
    }

    // MARK: arguments

    private func path(_ choices: inout ByteChoices) -> String { choices.pick(paths) }

    /// One of the texts, or any.
    private func text(_ choices: inout ByteChoices) -> String {
        let number = choices.below(Self.texts.count + 1)
        guard number == Self.texts.count else { return Self.texts[number] }
        return String(decoding: bytes(choices.below(64), &choices), as: UTF8.self)
    }

    private func bytes(_ count: Int, _ choices: inout ByteChoices) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: choices.below(256)) }
    }

    private func secretBytes(_ choices: inout ByteChoices) -> BusValue {
        let all: [UInt8] =
            switch choices.below(4) {
            case 0: []
            case 1: [UInt8](repeating: 7, count: 16)
            // A public number of the group.
            case 2: [UInt8](repeating: 0x5A, count: 128)
            default: bytes(choices.below(256), &choices)
            }
        return .bytes(SharedSecret(Secret(bytes: all)))
    }

    private func fitting(_ member: String, _ choices: inout ByteChoices) -> [BusValue] {
        switch member {
        case "OpenSession":
            [.text(text(&choices)), .variant(choices.below(2) == 0 ? .text("") : secretBytes(&choices))]
        case "SearchItems": [attributes(&choices)]
        case "Unlock", "Lock": [.paths(list(&choices))]
        case "GetSecrets": [.paths(list(&choices)), .path(path(&choices))]
        case "CreateCollection": [itemProperties(&choices), .text(text(&choices))]
        case "ReadAlias", "Prompt", "GetAll": [.text(text(&choices))]
        case "SetAlias": [.text(text(&choices)), .path(path(&choices))]
        case "CreateItem": [itemProperties(&choices), secret(&choices), .boolean(choices.below(2) == 0)]
        case "GetSecret": [.path(path(&choices))]
        case "SetSecret": [secret(&choices)]
        case "Get": [.text(text(&choices)), .text(text(&choices))]
        case "Set":
            [
                .text(text(&choices)), .text(text(&choices)),
                .variant(choices.below(2) == 0 ? attributes(&choices) : .text(text(&choices))),
            ]
        default: []
        }
    }

    private func list(_ choices: inout ByteChoices) -> [String] {
        (0..<choices.below(4)).map { _ in path(&choices) }
    }

    private func attributes(_ choices: inout ByteChoices) -> BusValue {
        .array("{ss}", (0..<choices.below(4)).map { _ in .entry(.text(text(&choices)), .text(text(&choices))) })
    }

    private func itemProperties(_ choices: inout ByteChoices) -> BusValue {
        .properties([
            (Self.prefix + "Item.Label", .text(text(&choices))),
            (Self.prefix + "Item.Attributes", attributes(&choices)),
            (Self.prefix + "Collection.Label", .text(text(&choices))),
        ])
    }

    private func secret(_ choices: inout ByteChoices) -> BusValue {
        .structure([.path(path(&choices)), secretBytes(&choices), secretBytes(&choices), .text(text(&choices))])
    }

    /// A value of any type. Containers may have what no bus lets through: the service must not rely on that.
    private func value(_ choices: inout ByteChoices, depth: Int) -> BusValue {
        switch choices.below(depth < 4 ? 12 : 6) {
        case 0: .text(text(&choices))
        case 1: .path(path(&choices))
        case 2: .boolean(choices.below(2) == 0)
        case 3: .other
        case 4: secretBytes(&choices)
        case 5: .number(UInt64(choices.below(65_536)))
        case 6: .structure((0..<choices.below(5)).map { _ in value(&choices, depth: depth + 1) })
        case 7: .array(text(&choices), (0..<choices.below(4)).map { _ in value(&choices, depth: depth + 1) })
        case 8: .array("{sv}", (0..<choices.below(3)).map { _ in value(&choices, depth: depth + 1) })
        case 9: .entry(value(&choices, depth: depth + 1), value(&choices, depth: depth + 1))
        case 10: .variant(value(&choices, depth: depth + 1))
        default: secret(&choices)
        }
    }
}
