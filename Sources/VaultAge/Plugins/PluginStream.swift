internal import CSodium
internal import CVaultShim
internal import Glibc
internal import VaultCrypto

/// The reason why a stream of messages ended.
package enum PluginStreamFailure: Error {
    /// The other side closed the stream.
    case closed
    /// The other side was silent for too long.
    case timedOut
    /// The other side sent too much data, or something that is not a message.
    case malformed(String)
    /// A system call failed with this error number.
    case system(Int32)
}

/// Messages over two descriptors, which the caller closes.
package struct PluginStream: ~Copyable {
    private let reading: Int32
    private let writing: Int32
    /// The plugin's standard error, or -1.
    private var errors: Int32
    /// How long the other side may be silent; nil for no limit.
    private let patience: Duration?
    private var buffer = Secret(count: PluginMessage.longestHead)
    private var filled = 0..<0
    private var messages = 0
    /// The last bytes that the plugin wrote to its standard error.
    private(set) var errorTail: [UInt8] = []

    /// The maximum number of messages that one plugin may send.
    static let mostMessages = 4096
    private static let longestTail = 512

    package init(reading: Int32, writing: Int32, errors: Int32 = -1, patience: Duration? = nil) {
        self.reading = reading
        self.writing = writing
        self.errors = errors
        self.patience = patience
    }

    // MARK: receiving

    /// Returns the next message.
    package mutating func receive() throws(PluginStreamFailure) -> PluginMessage {
        messages += 1
        guard messages <= Self.mostMessages else { throw .malformed("too many messages were sent") }
        let words = try head()
        return PluginMessage(words[0], Array(words[1...]), body: try body())
    }

    private mutating func head() throws(PluginStreamFailure) -> [String] {
        let line = try line()
        let words = buffer.withUnsafeBytes { buffer -> [String]? in
            let line = buffer[line]
            guard line.starts(with: "-> ".utf8) else { return nil }
            let words = line.dropFirst(3).split(
                separator: UInt8(ascii: " "), maxSplits: AgeLimit.words, omittingEmptySubsequences: false)
            guard words.count <= AgeLimit.words,
                words.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } })
            else { return nil }
            return words.map { String(decoding: $0, as: UTF8.self) }
        }
        guard let words else { throw .malformed("a message does not start like a stanza") }
        return words
    }

    private mutating func body() throws(PluginStreamFailure) -> Secret {
        var body = Secret(count: PluginMessage.longestBody)
        var used = 0
        while true {
            let line = try line()
            guard line.count <= PluginMessage.columns else {
                throw .malformed("a line in a message's data is longer than \(PluginMessage.columns) columns")
            }
            guard used + line.count * 3 / 4 <= body.count else { throw .malformed("a message has too much data") }
            guard let count = decode(line, into: &body, at: used) else {
                throw .malformed("a message's data is not canonical base64")
            }
            used += count
            if line.count < PluginMessage.columns { return body.prefix(used) }
        }
    }

    /// Decodes a line of Base64; returns nil if the line is not valid.
    private borrowing func decode(_ line: Range<Int>, into body: inout Secret, at start: Int) -> Int? {
        guard !line.isEmpty else { return 0 }
        let variant = Int32(sodium_base64_VARIANT_ORIGINAL_NO_PADDING)
        return buffer.withUnsafeBytes { buffer in
            body.withUnsafeMutableBytes { body in
                let text = UnsafeRawBufferPointer(rebasing: buffer[line])
                let room = UnsafeMutableRawBufferPointer(rebasing: body[start...])
                // libsodium 1.0.18 mistakes the byte 255 for a character of the alphabet.
                guard text.allSatisfy({ $0 < 0x80 }),
                    let characters = text.baseAddress?.assumingMemoryBound(to: CChar.self)
                else { return nil }
                var count = 0
                var end: UnsafePointer<CChar>?
                let isDecoded =
                    sodium_base642bin(
                        room.u8, room.count, characters, text.count, nil, &count, &end, variant) == 0
                return isDecoded && end == characters + text.count ? count : nil
            }
        }
    }

    /// Returns the next line without its line ending.
    private mutating func line() throws(PluginStreamFailure) -> Range<Int> {
        var scanned = filled.lowerBound
        while true {
            let unread = scanned..<filled.upperBound
            if let end = buffer.withUnsafeBytes({ $0[unread].firstIndex(of: UInt8(ascii: "\n")) }) {
                let line = filled.lowerBound..<end
                filled = (end + 1)..<filled.upperBound
                return line
            }
            let known = filled.count
            moveToFront()
            scanned = known
            guard filled.upperBound < buffer.count else { throw .malformed("a line is too long") }
            try fill()
        }
    }

    private mutating func moveToFront() {
        let from = filled
        buffer.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress, from.lowerBound > 0 else { return }
            memmove(base, base + from.lowerBound, from.count)
        }
        filled = 0..<from.count
    }

    private mutating func fill() throws(PluginStreamFailure) {
        try wait(for: reading, Int16(POLLIN))
        let (descriptor, start) = (reading, filled.upperBound)
        let count = buffer.withUnsafeMutableBytes { buffer in
            retrying { read(descriptor, buffer.baseAddress?.advanced(by: start), buffer.count - start) }
        }
        guard count >= 0 else { throw .system(errno) }
        guard count > 0 else { throw .closed }
        filled = filled.lowerBound..<(start + count)
    }

    // MARK: sending

    /// Sends messages. The descriptor may be non-blocking.
    package mutating func send(_ text: borrowing PluginText) throws(PluginStreamFailure) {
        var sent = 0
        while sent < text.count {
            try wait(for: writing, Int16(POLLOUT))
            let (descriptor, start, rest) = (writing, sent, text.count - sent)
            let count = text.bytes.withUnsafeBytes { bytes in
                Self.writeQuietly(descriptor, bytes.baseAddress?.advanced(by: start), rest)
            }
            guard count >= 0 else {
                if count == -Int(EAGAIN) || count == -Int(EINTR) { continue }
                if count == -Int(EPIPE) { throw .closed }
                throw .system(Int32(-count))
            }
            sent += count
        }
    }

    package mutating func send(_ words: String...) throws(PluginStreamFailure) {
        var text = PluginText()
        text.append(words)
        try send(text)
    }

    /// Calls write(2) without raising SIGPIPE, because that signal's handler belongs to the program that uses this
    /// library.
    private static func writeQuietly(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        var signal = sigset_t()
        var before = sigset_t()
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signal, &before)
        let written = write(descriptor, bytes, count)
        let failure = errno
        if written < 0, failure == EPIPE {
            var atOnce = timespec()
            while sigtimedwait(&signal, nil, &atOnce) < 0 && errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return written < 0 ? -Int(failure) : written
    }

    // MARK: waiting

    /// Waits until a descriptor is ready. Meanwhile, reads the plugin's standard error, so that the plugin never blocks
    /// on it.
    private mutating func wait(for descriptor: Int32, _ events: Int16) throws(PluginStreamFailure) {
        let clock = ContinuousClock()
        let end = patience.map { clock.now + $0 }
        while true {
            var polled = [
                pollfd(fd: descriptor, events: events, revents: 0),
                pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
            ]
            let left = end.map { clock.now.duration(to: $0).milliseconds } ?? -1
            guard end == nil || left > 0 else { throw .timedOut }
            guard poll(&polled, nfds_t(polled.count), left) >= 0 else {
                guard errno == EINTR else { throw .system(errno) }
                continue
            }
            if polled[1].revents != 0 { readErrors() }
            if polled[0].revents != 0 { return }
        }
    }

    /// Reads the available output on the plugin's standard error.
    private mutating func readErrors() {
        let descriptor = errors
        let new = [UInt8](unsafeUninitializedCapacity: 4096) { room, count in
            count = max(0, retrying { read(descriptor, room.baseAddress, room.count) })
        }
        if new.isEmpty { errors = -1 }
        errorTail = (errorTail + new).suffix(Self.longestTail)
    }

    /// Reads the rest of the plugin's standard error without waiting.
    mutating func finishErrors() {
        while errors >= 0 {
            var polled = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 50) > 0 else { return }
            readErrors()
        }
    }
}

/// Repeats a system call if a signal interrupts it.
private func retrying(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

extension Duration {
    /// Returns the timeout for poll(2): at most a day, and never zero while time is left.
    fileprivate var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return Int32(seconds) * 1000 + Int32(attoseconds / 1_000_000_000_000_000) + 1
    }
}
