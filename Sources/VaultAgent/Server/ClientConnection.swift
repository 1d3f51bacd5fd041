internal import Glibc
internal import VaultExchange
internal import VaultFmt

/// A client's connection: the request being received, and the part of the reply not yet sent. Both are bounded, because
/// no further request is read before the last reply has been sent.
final class ClientConnection {
    let descriptor: Int32
    /// The number that identifies the connection when it asks questions.
    let number: UInt64
    var client: AgentService.Client
    /// True if a request is waiting for a person.
    var isWaiting = false
    /// True if the request is waiting for the vault to be opened.
    var awaitsVault = false
    /// The vault's lock count before the connection's question was added.
    var lockCount: UInt64 = 0
    private var header: [UInt8] = []
    private var length = 0
    /// The request, which may contain a private key. Its bytes are wiped once it has been answered.
    private var body = SecretBuffer(capacity: 1)
    private var output: ArraySlice<UInt8> = []

    /// The maximum number of bytes to read at once.
    static let chunkSize = 16_384

    init(_ descriptor: Int32, _ number: UInt64, _ client: AgentService.Client) {
        self.descriptor = descriptor
        self.number = number
        self.client = client
        UnixSocket.prepare(descriptor)
    }

    deinit { close(descriptor) }

    /// The events to poll for.
    var events: Int16 {
        if !output.isEmpty { return Int16(POLLOUT) }
        return isWaiting ? 0 : Int16(POLLIN)
    }

    /// The result of reading.
    enum Progress {
        case incomplete
        case request
        /// The client disconnected, or sent something that is not a message.
        case closed
    }

    /// Reads the available bytes of the next request.
    ///
    /// - `chunk`: A buffer of `chunkSize` bytes shared by all connections, which is wiped after use.
    func read(by chunk: inout Secret) -> Progress {
        if header.count < 4 {
            var bytes = [UInt8](repeating: 0, count: 4 - header.count)
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return count < 0 && Self.isTemporary ? .incomplete : .closed }
            header += bytes.prefix(count)
            guard header.count == 4 else { return .incomplete }
            length = Int(header.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            guard (1...AgentMessage.longest).contains(length) else { return .closed }
            // The buffer grows with the data received, so announcing a large request allocates nothing.
            body = SecretBuffer(capacity: min(length, 4096))
        }
        let wanted = min(length - body.count, Self.chunkSize)
        let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, wanted) }
        guard count > 0 else { return count < 0 && Self.isTemporary ? .incomplete : .closed }
        chunk.withUnsafeMutableBytes { chunk in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: chunk[..<count])
            body.append(UnsafeRawBufferPointer(bytes))
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
        }
        return body.count == length ? .request : .incomplete
    }

    private static var isTemporary: Bool { errno == EAGAIN || errno == EINTR }

    /// Passes the request to a closure.
    func withRequest<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { self.body.withUnsafeBytes(body) }

    /// Queues the reply to the request, and wipes the request.
    func reply(_ message: [UInt8]) {
        (isWaiting, awaitsVault) = (false, false)
        header = []
        body = SecretBuffer(capacity: 1)
        var framed: [UInt8] = []
        framed.append(string: message)
        output = framed[...]
    }

    /// Sends as much of the reply as the client accepts; returns false if it has disconnected.
    func write() -> Bool {
        while !output.isEmpty {
            let count = output.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count >= 0 else { return Self.isTemporary }
            output = output.dropFirst(count)
        }
        output = []
        return true
    }
}
