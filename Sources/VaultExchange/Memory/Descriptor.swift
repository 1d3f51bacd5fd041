import Glibc

/// Operations on the descriptors through which exchanged data passes. Vaults are read and written by the library
/// instead.
package enum Descriptor {
    /// Writes all bytes; returns 0 or the error number.
    package static func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, piece.baseAddress, piece.count)
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, -1)
                    continue
                }
                return errno
            }
            rest = rest.dropFirst(count)
        }
        return 0
    }

    /// Returns the system's message for an error number.
    package static func message(_ number: Int32) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }
}
