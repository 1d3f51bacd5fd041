internal import Glibc
internal import VaultExchange
package import VaultFmt
internal import VaultLocal

/// A connection to an agent, which may be this program's or another one.
package final class AgentClient {
    private let descriptor: Int32

    /// The number of seconds to wait for a reply; a person may have to confirm the request first.
    package static let patience = 120

    /// Connects to an agent. Throws `unavailable` if there is no agent at the path, and `busy` if the agent does not
    /// answer in time.
    ///
    /// - `patience`: The number of seconds to wait for the connection and for each reply.
    package init(_ path: String, patience: Int = AgentClient.patience) throws(AgentError) {
        descriptor = try UnixSocket.make()
        let descriptor = descriptor
        // Connecting also blocks while many other clients are waiting.
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let result = try UnixSocket.withAddress(path) { connect(descriptor, $0, $1) }
        guard result == 0 else {
            guard errno != EAGAIN else {
                throw AgentError(.busy, "the agent at \(TerminalText.path(path)) does not answer")
            }
            throw AgentError(.unavailable, "no agent answers at \(TerminalText.path(path)): \(SystemText.error(errno))")
        }
    }

    deinit { close(descriptor) }

    /// The process id of the agent; nil if the system does not report it, or if the agent is in another namespace.
    package var process: Int32? { UnixSocket.peer(of: descriptor).flatMap { $0.process > 0 ? $0.process : nil } }

    /// The constraints for a key to be added.
    package struct Limits: Sendable {
        package var lifetime: UInt32?
        package var needsConfirmation = false

        package init() {}
    }

    /// Adds the private key in an item's secret, and then the same key with its certificate, as 'ssh-add' does.
    package func add(
        _ secret: borrowing Secret, certificate: Certificate?, comment: String, limits: Limits
    ) throws(AgentError) {
        let key = try StoredKey.wire(secret)
        try add(wire: key, comment: comment, limits: limits)
        guard let certificate else { return }
        try add(wire: try KeyWireForm.certified(key, by: certificate), comment: comment, limits: limits)
    }

    private func add(wire key: borrowing Secret, comment: String, limits: Limits) throws(AgentError) {
        var message = SecretBuffer(capacity: 8192)
        let isConstrained = limits.lifetime != nil || limits.needsConfirmation
        message.append(isConstrained ? AgentMessage.addConstrained : AgentMessage.addIdentity)
        message.append(key)
        message.append(text: KeyComment.shown(comment))
        if let lifetime = limits.lifetime {
            message.append(AgentMessage.constrainLifetime)
            message.append(number: lifetime)
        }
        if limits.needsConfirmation { message.append(AgentMessage.constrainConfirm) }
        let reply = try message.withUnsafeBytes { (bytes) throws(AgentError) -> [UInt8] in try ask(bytes) }
        guard reply == [AgentMessage.success] else { throw AgentError(.refused, "the agent refused the key") }
    }

    /// Returns the state of this program's agent. Requires a connection to its control socket.
    package func status() throws(AgentError) -> AgentStatus {
        try request(AgentMessage.status) { (reader) throws(AgentError) in try AgentStatus(&reader) }
    }

    /// Locks the vault of this program's agent. Requires a connection to its control socket.
    ///
    /// - `path`: The vault's path without symbolic links, or nil to lock any vault.
    /// - Returns: Whether the vault was open.
    package func lockVault(at path: String?) throws(AgentError) -> Bool {
        var argument: [UInt8] = []
        argument.append(text: path ?? "")
        return try request(AgentMessage.lockVault, argument) { (reader) throws(AgentError) in
            let wasOpen = try reader.boolean()
            try reader.end()
            return wasOpen
        }
    }

    /// Stops this program's agent, and returns when its sockets are gone. Requires a connection to its control socket.
    package func stop() throws(AgentError) {
        try request(AgentMessage.stop) { (reader) throws(AgentError) in try reader.end() }
        // The agent removes its sockets before it closes its connections.
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) < 0, errno == EINTR {}
    }

    /// Sends a request to the control socket, and decodes the reply.
    private func request<R>(
        _ name: String, _ argument: [UInt8] = [], _ read: (inout WireReader) throws(AgentError) -> R
    ) throws(AgentError) -> R {
        var message = [AgentMessage.extension]
        message.append(text: name)
        message += argument
        let reply = try message.withRawBytes { (bytes) throws(AgentError) -> [UInt8] in try ask(bytes) }
        return try reply.withRawBytes { (bytes) throws(AgentError) -> R in
            var reader = WireReader(bytes)
            guard try reader.byte() == AgentMessage.extensionResponse, try reader.text(limit: 256) == name else {
                throw AgentError(.refused, "the agent did not answer as expected; is it a different version?")
            }
            return try read(&reader)
        }
    }

    /// Sends a request and returns the reply.
    package func ask(_ request: UnsafeRawBufferPointer) throws(AgentError) -> [UInt8] {
        var length: [UInt8] = []
        length.append(number: UInt32(clamping: request.count))
        try length.withRawBytes { (bytes) throws(AgentError) -> Void in try write(bytes) }
        try write(request)
        let header = try read(4)
        let count = Int(header.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        guard (1...AgentMessage.longest).contains(count) else { throw .malformed }
        return try read(count)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(AgentError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = send(descriptor, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.gone }
            rest = rest.dropFirst(count)
        }
    }

    private func read(_ count: Int) throws(AgentError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var used = 0
        while used < count {
            let start = used
            let got = bytes.withUnsafeMutableBytes { buffer in
                recv(descriptor, buffer.baseAddress.map { $0 + start }, count - start, 0)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw Self.gone }
            used += got
        }
        return bytes
    }

    private static let gone = AgentError(.unavailable, "the agent does not answer")
}
