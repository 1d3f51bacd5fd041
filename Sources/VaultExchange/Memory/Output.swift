import Glibc
import VaultFmt

/// A buffered writer to a descriptor. Its buffer is wiped after use, so it can be used to write secrets.
///
/// A closed pipe ends the process quietly, as SIGPIPE does by default; any other error is `ExchangeError.Code.io`.
package final class Output {
    private let descriptor: Int32
    private let name: String
    private var buffer: Secret
    private var used = 0

    /// Creates a writer to a descriptor that still belongs to the caller.
    /// - `name`: The descriptor's name in error messages.
    package init(descriptor: Int32, name: String, capacity: Int = 16_384) {
        self.descriptor = descriptor
        self.name = name
        buffer = Secret(count: capacity)
    }

    /// A writer to standard output.
    package static func standard() -> Output { Output(descriptor: STDOUT_FILENO, name: "standard output") }

    /// Appends bytes.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            if used == buffer.count { try flush() }
            let step = min(rest.count, buffer.count - used)
            let start = used
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(step))
            buffer.withUnsafeMutableBytes { target in
                UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: piece)
            }
            used += step
            rest = rest.dropFirst(step)
        }
    }

    /// Appends text as UTF-8.
    package func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { utf8 in try write(UnsafeRawBufferPointer(utf8)) }
    }

    /// Appends one byte.
    package func write(byte: UInt8) throws {
        if used == buffer.count { try flush() }
        let position = used
        buffer.withUnsafeMutableBytes { $0[position] = byte }
        used += 1
    }

    /// Appends text and a newline.
    package func line(_ text: String) throws {
        try write(text)
        try write(byte: 0x0A)
    }

    /// Writes out everything in the buffer.
    package func flush() throws {
        let count = used
        used = 0
        let failure: Int32 = buffer.withUnsafeMutableBytes { bytes in
            let pending = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
            let failure = Descriptor.writeAll(descriptor, UnsafeRawBufferPointer(pending))
            pending.initializeMemory(as: UInt8.self, repeating: 0)
            return failure
        }
        guard failure == 0 else {
            let advice =
                failure == ENOSPC || failure == EDQUOT ? "free some disk space, or write elsewhere" : "write elsewhere"
            throw ExchangeError(.io, "cannot write to \(name): \(Descriptor.message(failure)); \(advice)")
        }
    }
}
