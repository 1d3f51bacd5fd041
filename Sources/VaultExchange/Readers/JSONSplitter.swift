import FoundationEssentials
import VaultFmt
import VaultLocal

/// Splits a JSON object while reading it: into its members, and into the elements of its member `items` one by one. A
/// text of any length therefore needs only as much memory as its largest item. The splitter parses only nesting and
/// strings; Foundation decodes each piece.
package struct JSONSplitter: ~Copyable {
    package enum Piece: Equatable {
        /// A member of the object, with its name.
        case member(String)
        /// An element of `items`.
        case element
    }

    /// The maximum length of a piece: an item with its attributes and earlier values, each of which may have up to 16
    /// MiB.
    static let longestPiece = 1 << 30
    /// The maximum nesting depth within a piece.
    static let deepest = 16

    private enum State {
        case start
        case inObject(isFirst: Bool)
        case inItems(isFirst: Bool)
        case done
    }

    private var reader: SourceReader
    private var state = State.start
    /// The piece that `next` found.
    private(set) var piece = SecretBuffer(capacity: 4096)
    /// The byte offset at which the piece starts.
    private(set) var offset: UInt64 = 0
    /// The number of members in the piece, including those of nested objects.
    private(set) var members = 0
    /// The number of commas in the piece outside strings. Together with `members`, this number gives the number of
    /// values.
    private var commas = 0
    /// True if the member `items` was found.
    private(set) var hasItems = false

    package init(_ reader: consuming SourceReader) {
        self.reader = reader
    }

    /// Finds the next piece; returns nil after the end of the object, which must be the end of the text.
    package mutating func next() throws -> Piece? {
        while true {
            switch state {
            case .start:
                try skipByteOrderMark()
                try expect("{", "a JSON object")
                state = .inObject(isFirst: true)
            case .inObject(let isFirst):
                if try takeClosing("}", isFirst: isFirst) {
                    state = .done
                    continue
                }
                state = .inObject(isFirst: false)
                let name = try readName()
                if name == "items", !hasItems, try skipSpace() == UInt8(ascii: "[") {
                    hasItems = true
                    try advance()
                    state = .inItems(isFirst: true)
                    continue
                }
                try readValue()
                return .member(name)
            case .inItems(let isFirst):
                if try takeClosing("]", isFirst: isFirst) {
                    state = .inObject(isFirst: false)
                    continue
                }
                state = .inItems(isFirst: false)
                try readValue()
                return .element
            case .done:
                guard try skipSpace() == nil else {
                    throw failure("there is extra data after the end of the JSON object")
                }
                return nil
            }
        }
    }

    /// Throws an error if the piece has so many small values that decoding it would require many times its size in
    /// memory.
    borrowing func requireSparse() throws {
        guard members + commas > Self.mostValues + piece.count / Self.bytesPerValue else { return }
        throw ExchangeError(
            .overLimit,
            "byte \(offset): the value that starts here has \(members + commas) parts, too many for its size",
            .allowMemory)
    }

    /// The number of values that any piece may have, and the number of bytes that the piece must have for each further
    /// value.
    private static let mostValues = 131_072
    private static let bytesPerValue = 64

    /// Decodes the piece that `next` found. Foundation keeps copies of the decoded values in memory that is not wiped.
    package borrowing func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let place = "byte \(offset)"
        let values = members + commas
        if values > Self.mostValues / 4 {
            try SourceMemory.require(
                SourceMemory.base + SourceMemory.timesDecoded * piece.count + SourceMemory.value * values,
                for: "the value at \(place)")
        }
        return try piece.withUnsafeBytes { bytes -> T in
            guard let start = bytes.baseAddress else { throw ExchangeError.damaged(place, "a value is missing") }
            let data = Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
            do {
                return try JSONDecoder().decode(type, from: data)
            } catch {
                throw ExchangeError.damaged(place, Self.describe(error))
            }
        }
    }

    /// Describes the error without quoting the input, which may be secret.
    private static func describe(_ error: any Error) -> String {
        switch error {
        case let fault as JSONFault: path(fault.path) + fault.what
        case DecodingError.typeMismatch(_, let context): path(context.codingPath) + "is of the wrong type"
        case DecodingError.valueNotFound(_, let context): path(context.codingPath) + "is null"
        case DecodingError.keyNotFound(let key, let context):
            path(context.codingPath) + "lacks \(TerminalText.quoted(key.stringValue))"
        default: "this is not valid JSON"
        }
    }

    private static func path(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "this " : TerminalText.quoted(path.map(\.stringValue).joined(separator: ".")) + " "
    }
}

/// An error for a value that is valid JSON but not of the expected form.
struct JSONFault: Error {
    package let path: [any CodingKey]
    package let what: String
}

extension JSONSplitter {
    private static let space = ASCIISet(" \t\n\r")
    private static let quotes = ASCIISet("\"\\")
    private static let marks = ASCIISet("\"{}[]:,")
    private static let ends = ASCIISet(" \t\n\r,:{}[]\"")

    private func failure(_ what: String) -> ExchangeError { .damaged("byte \(reader.offset)", what) }

    private mutating func skipByteOrderMark() throws {
        guard try reader.peek() == 0xEF else { return }
        for byte in [0xEF, 0xBB, 0xBF] as [UInt8] {
            guard try reader.next() == byte else { throw failure("this is not JSON") }
        }
    }

    /// Skips white space and returns the next byte without consuming it.
    private mutating func skipSpace() throws -> UInt8? {
        while let byte = try reader.peek() {
            guard Self.space.contains(byte) else { return byte }
            try advance()
        }
        return nil
    }

    private mutating func advance() throws {
        guard try reader.next() != nil else { throw failure("the JSON text ends too early") }
    }

    private mutating func expect(_ mark: Unicode.Scalar, _ what: String) throws {
        let byte = try skipSpace()
        guard byte != nil else { throw failure("the JSON text ends too early") }
        guard byte == UInt8(ascii: mark) else { throw failure("\(what) is expected here") }
        try advance()
    }

    /// Consumes the closing bracket if it comes next; otherwise consumes the comma required before every element except
    /// the first.
    private mutating func takeClosing(_ bracket: Unicode.Scalar, isFirst: Bool) throws -> Bool {
        if try skipSpace() == UInt8(ascii: bracket) {
            try advance()
            return true
        }
        if !isFirst { try expect(",", "a comma or '\(bracket)'") }
        return false
    }

    private mutating func readName() throws -> String {
        let first = try skipSpace()
        guard first != nil else { throw failure("the JSON text ends too early") }
        guard first == UInt8(ascii: "\"") else { throw failure("a member's name is expected here") }
        try readValue()
        let name = try decode(String.self)
        try expect(":", "a colon")
        return name
    }

    /// Reads a value into `piece`.
    private mutating func readValue() throws {
        let first = try skipSpace()
        piece.removeAll()
        offset = reader.offset
        (members, commas) = (0, 0)
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): try readNested()
        case UInt8(ascii: "\""): try readString()
        default: try readScalar()
        }
    }

    private mutating func readNested() throws {
        var depth = 0
        repeat {
            try reader.take(upTo: Self.marks, into: &piece, limit: Self.longestPiece)
            guard let byte = try reader.peek() else {
                throw failure("the JSON text ends within the value that starts at byte \(offset)")
            }
            switch byte {
            case UInt8(ascii: "\""):
                try readString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ":"): members += 1
            case UInt8(ascii: ","): commas += 1
            default: break
            }
            guard depth <= Self.deepest else {
                throw failure("the value that starts at byte \(offset) is nested too deeply")
            }
            try keep(byte)
        } while depth > 0
    }

    private mutating func readString() throws {
        try keep(UInt8(ascii: "\""))
        while true {
            try reader.take(upTo: Self.quotes, into: &piece, limit: Self.longestPiece)
            guard let byte = try reader.peek() else { break }
            try keep(byte)
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\"), let escaped = try reader.peek() { try keep(escaped) }
        }
        throw failure("the JSON text ends within a string")
    }

    private mutating func readScalar() throws {
        try reader.take(upTo: Self.ends, into: &piece, limit: Self.longestPiece)
        guard !piece.isEmpty else { throw failure("a value is expected here") }
    }

    private mutating func keep(_ byte: UInt8) throws {
        try advance()
        piece.append(byte)
        guard piece.count <= Self.longestPiece else {
            throw failure("the value that starts at byte \(offset) is larger than \(Self.longestPiece >> 20) MiB")
        }
    }
}
