import Foundation
import VaultBytes

@testable import VaultFmt

/// The cases that the model exports (`Spec/model/cases.py` has their schema).
struct ModelCases: Decodable, Sendable {
    struct Item: Decodable, Sendable {
        struct Sibling: Decodable, Sendable {
            let main: [String: String?]
            let earlier: [String: [String]]
        }

        let siblings: [String: Sibling]
        let open: [String: [String]]
    }

    struct View: Decodable, Sendable {
        let name: String
        let item: Item
        let values: [String: [String: String]]
        let forgotten: [String: [String]]
        let limit: Int
        let shown: [String: String?]
        let marks: [String: [String]]
        let kept: [String: [String]]
        let earlier: [String: [String]]
    }

    struct Vector: Decodable, Sendable {
        let rows: [String: UInt64]
        let floor: UInt64
    }

    struct Side: Decodable, Sendable {
        let vector: Vector
        let split: [UInt64]
        let item: Item?
    }

    struct Merge: Decodable, Sendable {
        let name: String
        let ours: Side
        let theirs: Side
        let result: Item?
    }

    struct Change: Decodable, Sendable {
        let name: String
        let item: Item
        let values: [String: [String: String]]
        let forgotten: [String: [String]]
        let limit: Int
        let dot: String
        let write: [String: String]
        let settle: [String]
        let absent: [String]
        let forget: [String: [String]]
        let result: Item
        let newlyForgotten: [String: [String]]
    }

    struct Taking: Decodable, Sendable {
        let name: String
        let ours: Item?
        let theirs: Item
        let values: [String: [String: String]]
        let forgotten: [String: [String]]
        let limit: Int
        let known: [String]
        let dots: [String]
        let result: Item?
        let newValues: [String: [String: String]]
    }

    struct Names: Decodable, Sendable {
        struct Named: Decodable, Sendable {
            let key: String
            let group: String
        }

        let name: String
        let items: [String: Named]
        let plain: [String]
    }

    let views: [View]
    let merges: [Merge]
    let changes: [Change]
    let takings: [Taking]
    let names: [Names]

    static let all: ModelCases? = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("cases.json")
        return (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(ModelCases.self, from: $0) }
    }()
}

/// Converts what a case says. Values are texts, which stand for the bytes of secrets that a test never seals.
struct CaseReader {
    private let texts: [String: [String: String]]
    private var groups: [String: UInt64] = [:]

    init(_ values: [String: [String: String]] = [:]) { texts = values }

    static func dot(_ text: String) -> Dot {
        let parts = text.split(separator: ".").map { UInt64($0) ?? 0 }
        return Dot(revision: parts[0], replica: parts[1])
    }

    static func field(_ name: String) -> FieldName {
        switch name {
        case "key": .key
        case "place": .place
        case "secret": .secret
        default: .attribute(name)
        }
    }

    static func names(_ held: [String: [String]]) -> Set<ValueName> {
        Set(held.flatMap { field, dots in dots.map { ValueName(Self.field(field), dot($0)) } })
    }

    static func fields(_ main: [String: String?]) -> [FieldName: Dot] {
        var out: [FieldName: Dot] = [:]
        for case (let name, let text?) in main { out[field(name)] = dot(text) }
        return out
    }

    func item(_ item: ModelCases.Item) -> ItemState {
        var siblings: [Dot: Sibling] = [:]
        for (dot, sibling) in item.siblings {
            siblings[Self.dot(dot)] = Sibling(Self.fields(sibling.main), earlier: Self.names(sibling.earlier))
        }
        var state = ItemState(siblings: siblings, open: Self.names(item.open), values: [:])
        let held = state.held
        for (field, values) in texts {
            for (dot, text) in values {
                let name = ValueName(Self.field(field), Self.dot(dot))
                if held.contains(name) { state.values[name] = Self.value(field, text) }
            }
        }
        return state
    }

    static func value(_ field: String, _ text: String) -> HeldValue {
        let record = RecordRef(
            record: ObjectRef(offset: 0, length: 0, hash: .zero), revision: 0, compartment: number(text))
        switch field {
        case "key": return HeldValue(.key(Array(text.utf8)))
        case "place":
            let parts = text.split(separator: " ")
            let device = parts[2] == "-" ? Bytes16.zero : Bytes16(high: 1, low: (UInt64(parts[2]) ?? 0) + 1)
            return HeldValue(
                .place(Place(group: Array(parts[0].utf8), accessibility: UInt8(parts[1]) ?? 0, device: device)))
        case "secret": return HeldValue(.secret(record, attributes: []))
        case "sealed": return HeldValue(.attribute(flags: [.sealed, .inItemRecord], .inRecord(record)))
        default: return HeldValue(.attribute(flags: [], .inPage(Array(text.utf8))))
        }
    }

    /// A number for a text: equal for equal ones, and with certainty different for those of the cases.
    private static func number(_ text: String) -> UInt64 {
        text.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    }
}

extension ItemState {
    /// Classifies values by what the case says of them, which for a sealed one is in its reference.
    func classOfCase(_ name: ValueName) -> ValueClass {
        guard let value = values[name] else { return .unknown(name) }
        return value.plainClass ?? .plain(value.sealedText, [])
    }
}

extension HeldValue {
    /// What stands for the bytes of a sealed value.
    var sealedText: [UInt8] { "\(record?.compartment ?? 0)".utf8.map { $0 } }
}
