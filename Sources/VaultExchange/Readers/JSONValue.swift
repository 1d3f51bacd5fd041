import FoundationEssentials
import VaultFmt

/// A JSON value of any shape as decoded by Foundation, in memory that is not wiped.
indirect enum JSONValue: Decodable {
    case nothing
    /// A string, or a number or Boolean as text.
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    /// A part of a value that is neither an array nor an object.
    struct Leaf: Equatable {
        /// The names of the members that lead to the part, joined by dots.
        let name: String
        let text: String
        /// True if the program that wrote the part marks it as hidden.
        var isHidden = false
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .nothing
        } else if let text = Self.scalar(value) {
            self = .text(text)
        } else {
            do { self = .list(try value.decode([JSONValue].self)) } catch {
                self = .object(try value.decode([String: JSONValue].self))
            }
        }
    }

    private static func scalar(_ value: any SingleValueDecodingContainer) -> String? {
        do { return try value.decode(String.self) } catch {}
        do { return try value.decode(Bool.self) ? "true" : "false" } catch {}
        do { return String(try value.decode(Int64.self)) } catch {}
        // The number has more digits than a floating-point number can represent.
        do { return String(try value.decode(UInt64.self)) } catch {}
        do { return try value.decode(Decimal.self).description } catch {}
        do { return String(try value.decode(Double.self)) } catch { return nil }
    }

    /// The maximum number of apparent parts in a text: each part takes a hundred times the memory of its bytes.
    private static let mostParts = 100_000

    /// Parses a text; returns nil if the text is not JSON or has too many parts.
    init?(_ text: borrowing Secret) {
        let parsed = text.withUnsafeBytes { bytes -> JSONValue? in
            let parts = bytes.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "[") }
            guard let start = bytes.baseAddress, parts <= Self.mostParts else { return nil }
            let data = Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
            do { return try JSONDecoder().decode(JSONValue.self, from: data) } catch { return nil }
        }
        guard let parsed else { return nil }
        self = parsed
    }

    /// The text of a value that is neither an array nor an object.
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The elements of an array; empty for every other value.
    var elements: [JSONValue] {
        if case .list(let elements) = self { elements } else { [] }
    }

    /// The number of members, including those of nested objects.
    var members: Int {
        switch self {
        case .nothing, .text: 0
        case .list(let elements): elements.reduce(0) { $0 + $1.members }
        case .object(let members): members.values.reduce(members.count) { $0 + $1.members }
        }
    }

    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// Returns the parts that are neither arrays nor objects, sorted by name. An object with a field's name and its
    /// content, as Proton Pass writes custom fields, counts as one part.
    func leaves(_ name: String = "") -> [Leaf] {
        switch self {
        case .nothing: return []
        case .text(let text): return [Leaf(name: name, text: text)]
        case .list(let elements): return elements.flatMap { $0.leaves(name) }
        case .object(let members):
            let data = members["data"]
            if let field = members["fieldName"]?.text, let content = data?["content"]?.text {
                return [Leaf(name: field, text: content, isHidden: members["type"]?.text == "hidden")]
            }
            // A seed of one-time passwords.
            if let field = members["fieldName"]?.text, let address = data?["totpUri"]?.text {
                return [Leaf(name: field, text: address, isHidden: true)]
            }
            return members.sorted { $0.key < $1.key }.flatMap { key, value in
                value.leaves(name.isEmpty ? key : "\(name).\(key)")
            }
        }
    }
}
