/// A cursor over the encodings of the SSH protocol (RFC 4251, section 5). Every length is checked against the remaining
/// bytes. The cursor must not outlive the bytes.
package struct WireReader {
    private var rest: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The bytes that have not been read.
    var remaining: UnsafeRawBufferPointer { rest }

    mutating func byte() throws(AgentError) -> UInt8 {
        let bytes = try take(1)
        return bytes[0]
    }

    mutating func boolean() throws(AgentError) -> Bool { try byte() != 0 }

    mutating func number() throws(AgentError) -> UInt32 {
        try take(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func number64() throws(AgentError) -> UInt64 {
        try take(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func string() throws(AgentError) -> UnsafeRawBufferPointer {
        guard let count = Int(exactly: try number()) else { throw .malformed }
        return try take(count)
    }

    /// Reads a string that is not secret and has at most `limit` bytes.
    mutating func bytes(limit: Int = AgentMessage.longest) throws(AgentError) -> [UInt8] {
        let bytes = try string()
        guard bytes.count <= limit else { throw .malformed }
        return Array(bytes)
    }

    /// Reads a string that must be UTF-8 and has at most `limit` bytes.
    mutating func text(limit: Int = 4096) throws(AgentError) -> String {
        let bytes = try string()
        guard bytes.count <= limit,
            let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self)
        else { throw .malformed }
        return text
    }

    /// Reads a number greater than zero, without its leading zeros.
    mutating func magnitude() throws(AgentError) -> UnsafeRawBufferPointer {
        let bytes = try string()
        guard let first = bytes.first, first < 0x80 else { throw .malformed }
        let significant = bytes.drop { $0 == 0 }
        guard !significant.isEmpty else { throw .malformed }
        return UnsafeRawBufferPointer(rebasing: significant)
    }

    /// Throws if any bytes remain.
    func end() throws(AgentError) {
        guard rest.isEmpty else { throw .malformed }
    }

    private mutating func take(_ count: Int) throws(AgentError) -> UnsafeRawBufferPointer {
        guard count <= rest.count else { throw .malformed }
        let taken = UnsafeRawBufferPointer(rebasing: rest[..<count])
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        return taken
    }
}

extension [UInt8] {
    /// Passes the bytes to a closure. Unlike `withUnsafeBytes`, this preserves the type of thrown errors.
    func withRawBytes<R: ~Copyable>(_ body: (UnsafeRawBufferPointer) throws(AgentError) -> R) throws(AgentError) -> R {
        try span.withUnsafeBytes(body)
    }
}
