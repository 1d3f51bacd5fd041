internal import Glibc
internal import VaultExchange
internal import VaultFmt

/// A connection of a client: what it has sent, and what it has not read yet. Both are bounded: no further request is
/// read before the reply to the last one was.
final class ClientConnection {
    let descriptor: Int32
    /// The number under which it asks questions.
    let number: UInt64
    var client: AgentService.Client
    /// Whether the reply to a request waits for a person.
    var isWaiting = false
    /// Whether it waits because the vault is to be opened first.
    var awaitsVault = false
    /// How often the vault was locked before its question was added.
    var lockCount: UInt64 = 0
    private var header: [UInt8] = []
    private var length = 0
    /// The request, which may contain a private key; it is wiped when it was answered.
    private var body = SecretBuffer(capacity: 1)
    private var output: ArraySlice<UInt8> = []

    /// The most that is read at once.
    static let chunkSize = 16_384

    init(_ descriptor: Int32, _ number: UInt64, _ client: AgentService.Client) {
        self.descriptor = descriptor
        self.number = number
        self.client = client
        UnixSocket.prepare(descriptor)
    }

    deinit { close(descriptor) }

    /// What to poll for.
    var events: Int16 {
        if !output.isEmpty { return Int16(POLLOUT) }
        return isWaiting ? 0 : Int16(POLLIN)
    }

    /// What reading has led to.
    enum Progress {
        case incomplete
        case request
        /// The client has gone, or sent what is no message.
        case closed
    }

    /// Reads what there is of the next request.
    ///
    /// - `chunk`: A buffer of `chunkSize` bytes for all connections, which is wiped again.
    func read(by chunk: inout Secret) -> Progress {
        if header.count < 4 {
            var bytes = [UInt8](repeating: 0, count: 4 - header.count)
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return count < 0 && Self.isTemporary ? .incomplete : .closed }
            header += bytes.prefix(count)
            guard header.count == 4 else { return .incomplete }
            length = Int(header.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            guard (1...AgentMessage.longest).contains(length) else { return .closed }
            // It grows with what has arrived, so that an announced length costs nothing.
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

    /// Queues the reply to the request, and forgets the request.
    func reply(_ message: [UInt8]) {
        (isWaiting, awaitsVault) = (false, false)
        header = []
        body = SecretBuffer(capacity: 1)
        var framed: [UInt8] = []
        framed.append(string: message)
        output = framed[...]
    }

    /// Writes as much of the reply as the client reads; returns false if it has gone.
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
