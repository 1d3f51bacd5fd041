internal import Foundation

/// The value of an attribute, converted from the `Any` in a dictionary.
package enum AttributeValue: Sendable, Equatable {
    case text(String)
    case bytes([UInt8])
    case number(Int64)
    case flag(Bool)
    /// Milliseconds since 1970.
    case date(Int64)

    /// The kind of value that an attribute accepts.
    enum Kind: Sendable {
        case text, bytes, number, flag, date
        /// A number, or text that is not a number.
        case numberOrText
        /// A number that Apple's constants represent as a string of digits.
        case digits
        /// Text, unless it was given as bytes.
        case textOrBytes
        /// Bytes, unless they were given as text.
        case bytesOrText
    }

    /// Strings are equal only if their bytes are, whereas Swift would treat canonically equivalent strings as equal.
    package static func == (left: AttributeValue, right: AttributeValue) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.number(let left), .number(let right)), (.date(let left), .date(let right)): left == right
        case (.flag(let left), .flag(let right)): left == right
        default: false
        }
    }

    /// Returns whether this value equals a value of another type: text is compared as its UTF-8 bytes.
    func hasSameBytes(as other: AttributeValue) -> Bool {
        guard let left = rawBytes, let right = other.rawBytes else { return self == other }
        return left == right
    }

    /// The bytes of a text value or of a byte value.
    var rawBytes: [UInt8]? {
        switch self {
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        case .number, .flag, .date: nil
        }
    }

    // MARK: dictionaries

    /// Converts a value from a dictionary; returns nil if the attribute does not accept its type.
    init?(_ value: Any, _ kind: Kind) {
        switch kind {
        case .text: guard let text = Self.text(value) else { return nil }; self = .text(text)
        case .bytes: guard let bytes = Self.bytes(value) else { return nil }; self = .bytes(bytes)
        case .textOrBytes, .bytesOrText:
            if let text = value as? String {
                self = .text(text)
            } else {
                guard let bytes = Self.bytes(value) else { return nil }
                self = .bytes(bytes)
            }
        case .number, .digits: guard let number = Self.number(value) else { return nil }; self = .number(number)
        case .numberOrText:
            if let number = Self.number(value) {
                self = .number(number)
            } else {
                guard let text = Self.text(value) else { return nil }
                self = .text(text)
            }
        case .flag:
            if let flag = value as? Bool {
                self = .flag(flag)
            } else {
                guard let number = Self.number(value), number == 0 || number == 1 else { return nil }
                self = .flag(number == 1)
            }
        case .date:
            guard let date = value as? Date,
                let milliseconds = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded())
            else {
                return nil
            }
            self = .date(milliseconds)
        }
    }

    /// Returns the value in the form used in a dictionary of results.
    func object(_ kind: Kind) -> Any {
        switch self {
        case .text(let text): return text
        case .bytes(let bytes): return Data(bytes)
        case .number(let number): return kind == .digits ? String(number) as Any : Int(number)
        case .flag(let flag): return flag
        case .date(let milliseconds): return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        }
    }

    private static func text(_ value: Any) -> String? {
        if let text = value as? String { return text }
        guard let data = value as? Data else { return nil }
        return String(data: data, encoding: .utf8)
    }

    private static func bytes(_ value: Any) -> [UInt8]? {
        if let data = value as? Data { return Array(data) }
        if let bytes = value as? [UInt8] { return bytes }
        return (value as? String).map { Array($0.utf8) }
    }

    private static func number(_ value: Any) -> Int64? {
        if let flag = value as? Bool { return flag ? 1 : 0 }
        if let number = value as? any BinaryInteger { return Int64(exactly: number) }
        if let number = value as? NSNumber {
            return NSNumber(value: number.int64Value) == number ? number.int64Value : Int64(exactly: number.doubleValue)
        }
        return (value as? String).flatMap { Int64($0) }
    }

    // MARK: vaults

    /// The bytes that represent this value in a vault.
    var stored: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        case .number(let number), .date(let number): Array(String(number).utf8)
        case .flag(let flag): Array((flag ? "true" : "false").utf8)
        }
    }

    /// Parses the form written by `stored`; returns nil for anything else, which another program may have stored.
    ///
    /// - `isOtherType`: Whether the value was given as bytes where text is usual, or as text where bytes are usual.
    ///   Bytes that are not UTF-8 stay bytes.
    init?(stored bytes: [UInt8], _ kind: Kind, isOtherType: Bool = false) {
        let text = String(validating: bytes, as: UTF8.self)
        switch kind {
        case .bytes: self = .bytes(bytes)
        case .bytesOrText: self = isOtherType ? text.map { .text($0) } ?? .bytes(bytes) : .bytes(bytes)
        case .textOrBytes: self = isOtherType ? .bytes(bytes) : text.map { .text($0) } ?? .bytes(bytes)
        case .text, .number, .flag, .date, .numberOrText, .digits:
            guard let text else { return nil }
            self.init(text, kind)
        }
    }

    private init?(_ text: String, _ kind: Kind) {
        switch kind {
        case .text, .bytes, .textOrBytes, .bytesOrText: self = .text(text)
        case .numberOrText: self = Int64(text).map { .number($0) } ?? .text(text)
        case .number, .digits: guard let number = Int64(text) else { return nil }; self = .number(number)
        case .date: guard let number = Int64(text) else { return nil }; self = .date(number)
        case .flag: guard ["true", "false"].contains(text) else { return nil }; self = .flag(text == "true")
        }
    }
}
