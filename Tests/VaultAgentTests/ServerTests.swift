import Foundation
import Synchronization
import TestSupport
import Testing
import VaultFmt

@testable import VaultAgent

/// A server in a thread of its own.
final class RunningServer {
    let folder: SocketFolder
    private let stop: [Int32]
    private let ended = DispatchSemaphore(value: 0)

    /// - `vault`: The keys of a vault; without it, there are none.
    init(
        _ folder: SocketFolder, vault: ServedVault? = nil, asking: AskingPrograms = AskingPrograms(),
        attached: (any AttachedService)? = nil
    ) throws {
        self.folder = folder
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        stop = ends
        let keys =
            vault
            ?? ServedVault(
                path: "none", groups: [], limits: .init(), vault: nil, isKept: false, now: 0, reopening: { nil })
        nonisolated(unsafe) var server: AgentServer? = try AgentServer(
            keys, at: AgentPlace(folder), asking: asking, attached: attached)
        let (reading, ended) = (ends[0], self.ended)
        Thread.detachNewThread {
            do throws(AgentError) { try server?.run(wakenBy: reading) { true } } catch { Issue.record(error) }
            server = nil
            ended.signal()
        }
    }

    /// Lets the server end.
    func beginEnd() {
        var byte: UInt8 = 0
        _ = write(stop[1], &byte, 1)
    }

    /// Ends the server, and waits for that.
    func end() {
        beginEnd()
        ended.wait()
        stop.forEach { close($0) }
    }
}

/// A service that asks a question, does something for somebody when that cannot be put, and notes its end.
private final class AskingService: AttachedService {
    private let socket: String
    private var events: [(action: String, peer: AgentPeer)] = []
    private var isAsked = false
    /// Whether the agent's socket was there when the service ended; nil before that.
    private(set) var hadSocket: Bool?

    init(_ socket: String) { self.socket = socket }

    var wait: (descriptor: Int32, events: Int16)? { nil }
    var nextEnd: UInt64? { nil }
    let state = "served"
    func serve(now: UInt64) {}

    func takeEvents() -> [(action: String, peer: AgentPeer)] {
        defer { events = [] }
        return events
    }

    func nextQuestion(now: UInt64) -> AttachedQuestion? {
        defer { isAsked = true }
        return isAsked ? nil : AttachedQuestion(number: 7, text: "Allow it?")
    }

    func isAwaited(_ question: UInt64) -> Bool { true }

    func take(_ answer: PersonAnswer, to question: UInt64, now: UInt64) {
        events.append(("\(question): \(answer.refusal ?? "yes")", AgentPeer(process: 1, program: "p")))
    }

    func end() { hadSocket = access(socket, F_OK) == 0 }
}

@Suite("The agent's sockets", .serialized)
struct ServerTests {
    private let base: Folder
    private let folder: SocketFolder

    init() throws {
        base = try Folder()
        folder = SocketFolder(path: base.file("vaultfmt"))
    }

    private func list(_ client: AgentClient) throws -> [UInt8] {
        try [AgentMessage.requestIdentities].withRawBytes { (bytes) throws(AgentError) in try client.ask(bytes) }
    }

    private let none: [UInt8] = [AgentMessage.identitiesAnswer, 0, 0, 0, 0]

    @Test("It serves many clients at once, whatever a slow or a broken one does, and leaves nothing behind")
    func clients() throws {
        let server = try RunningServer(folder)
        defer { server.end() }
        var status = stat()
        #expect(stat(folder.agentSocket, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let clients = try (0..<64).map { _ in try AgentClient(folder.agentSocket) }
        // Half a message, an empty one, and one that is too long.
        for start in [[0, 0], [0, 0, 0, 0], [0, 4, 0, 1], [0, 4, 0, 0, 11]] as [[UInt8]] {
            try Raw.send(start, to: folder.agentSocket, closes: start.count == 2)
        }
        for _ in 0..<3 { for client in clients { #expect(try list(client) == none) } }
        #expect(try AgentClient(folder.controlSocket).status().vault == "none")
    }

    @Test("The sockets are gone when it has ended, and a socket that a killed one left is replaced")
    func ending() throws {
        let server = try RunningServer(folder)
        server.end()
        #expect(access(folder.agentSocket, F_OK) != 0 && access(folder.controlSocket, F_OK) != 0)
        let descriptor = try UnixSocket.make()
        _ = try UnixSocket.withAddress(folder.agentSocket) { bind(descriptor, $0, $1) }
        close(descriptor)
        let second = try RunningServer(folder)
        #expect(try list(AgentClient(folder.agentSocket)) == none)
        second.end()
    }

    @Test("A client of the control socket knows the agent's process, and ends it")
    func stopping() throws {
        let server = try RunningServer(folder)
        defer { server.end() }
        let control = try AgentClient(folder.controlSocket)
        #expect(control.process == getpid())
        try control.stop()
        #expect(access(folder.agentSocket, F_OK) != 0 && access(folder.controlSocket, F_OK) != 0)
        // The folder is free.
        _ = try AgentPlace(folder)
    }

    @Test("What an attached service has done is told at once, and it ends before the sockets are gone")
    func attached() throws {
        let attached = AskingService(folder.agentSocket)
        let server = try RunningServer(folder, attached: attached)
        let status = try AgentClient(folder.controlSocket).status()
        #expect(status.attached == "served")
        #expect(status.events.map(\.action) == ["7: the program that asks for confirmation cannot be started"])
        server.end()
        #expect(attached.hadSocket == true)
    }

    @Test("Clients of the agent's socket, however many, do not keep those of the other one out")
    func full() throws {
        let server = try RunningServer(folder)
        defer { server.end() }
        // As many as are served, and some that wait.
        let clients = try (0..<AgentServer.mostClients + 20).map { _ in try AgentClient(folder.agentSocket) }
        for client in clients.prefix(AgentServer.mostClients) { #expect(try list(client) == none) }
        let control = try AgentClient(folder.controlSocket, patience: 60)
        #expect(try control.status().vault == "none" && control.lockVault(at: nil) == false)
        withExtendedLifetime(clients) {}
    }

    @Test("The folder is free for another agent only when the sockets are gone")
    func order() throws {
        for _ in 0..<20 {
            let server = try RunningServer(folder)
            server.beginEnd()
            var next: AgentPlace?
            while next == nil {
                do throws(AgentError) { next = try AgentPlace(folder) } catch { #expect(error.code == .busy) }
            }
            #expect(access(folder.agentSocket, F_OK) != 0 && access(folder.controlSocket, F_OK) != 0)
            next = nil
            server.end()
        }
    }

    @Test("A timer expires at its time, and not before")
    func timer() throws {
        let timer = try BootTimer()
        var polled = pollfd(fd: timer.descriptor, events: Int16(POLLIN), revents: 0)
        try timer.set(nil)
        #expect(poll(&polled, 1, 0) == 0)
        try timer.set(.max)
        #expect(poll(&polled, 1, 0) == 0)
        let end = AgentClock.now() + 50
        try timer.set(end)
        #expect(poll(&polled, 1, 120_000) == 1 && AgentClock.now() >= end)
        try timer.set(nil)
        #expect(poll(&polled, 1, 0) == 0)
    }

    @Test("A socket that others can use, or that is not the folder's, is not taken over")
    func passed() throws {
        let place = try AgentPlace(folder)
        let socket = try ListeningSocket(at: folder.agentSocket)
        let other = try ListeningSocket(at: folder.controlSocket)
        #expect(UnixSocket.listeningPath(socket.descriptor) == folder.agentSocket)
        try ListeningSocket.checkPassed(socket.descriptor, folder.agentSocket)
        #expect(throws: AgentError.self) { try ListeningSocket.checkPassed(other.descriptor, folder.agentSocket) }
        #expect(throws: AgentError.self) { try ListeningSocket.checkPassed(STDIN_FILENO, folder.agentSocket) }
        chmod(folder.agentSocket, 0o666)
        let error = #expect(throws: AgentError.self) {
            try ListeningSocket.checkPassed(socket.descriptor, folder.agentSocket)
        }
        #expect(error?.message.contains("SocketMode=0600") == true)
        withExtendedLifetime(place) {}
    }

    @Test("A socket of packets is not taken over, and neither is one that does not listen")
    func otherKinds() throws {
        let place = try AgentPlace(folder)
        let path = folder.agentSocket
        for (type, isListening) in [(SOCK_SEQPACKET, true), (SOCK_STREAM, false), (SOCK_STREAM, true)] {
            let descriptor = socket(AF_UNIX, Int32(type.rawValue), 0)
            defer {
                close(descriptor)
                unlink(path)
            }
            let result = try UnixSocket.withAddress(path) { bind(descriptor, $0, $1) }
            #expect(result == 0)
            chmod(path, 0o600)
            if isListening { #expect(listen(descriptor, 1) == 0) }
            let isTaken = type == SOCK_STREAM && isListening
            #expect(UnixSocket.listeningPath(descriptor) == (isTaken ? path : nil))
            if isTaken {
                try ListeningSocket.checkPassed(descriptor, path)
            } else {
                #expect(throws: AgentError.self) { try ListeningSocket.checkPassed(descriptor, path) }
            }
        }
        withExtendedLifetime(place) {}
    }

    @Test("A second agent in the folder is refused")
    func second() throws {
        let server = try RunningServer(folder)
        defer { server.end() }
        let error = #expect(throws: AgentError.self) { try RunningServer(folder) }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("(process \(getpid()))") == true)
        #expect(error?.message.contains(folder.agentSocket) == true)
        #expect(try list(AgentClient(folder.agentSocket)) == none)
    }

    @Test("A folder that others can enter, a link, and a file in the socket's place are refused")
    func folders() throws {
        #expect(mkdir(folder.path, 0o755) == 0)
        chmod(folder.path, 0o755)
        #expect(throws: AgentError.self) { try RunningServer(folder) }
        chmod(folder.path, 0o700)
        try Data().write(to: URL(fileURLWithPath: folder.agentSocket))
        #expect(throws: AgentError.self) { try RunningServer(folder) }
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(mkdir(base.file("elsewhere"), 0o700) == 0)
        #expect(symlink(base.file("elsewhere"), folder.path) == 0)
        #expect(throws: AgentError.self) { try RunningServer(folder) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: base.file("elsewhere")).isEmpty)
        chmod(base.path, 0o777)
        unlink(folder.path)
        let error = #expect(throws: AgentError.self) { try RunningServer(folder) }
        // That folder may be one of the system's, such as /tmp.
        #expect(error?.message.contains("set XDG_RUNTIME_DIR to a folder of your own") == true)
        #expect(error?.message.contains("remove") == false)
    }
}

/// Bytes that are no request.
private enum Raw {
    static func send(_ bytes: [UInt8], to path: String, closes: Bool) throws {
        let descriptor = try UnixSocket.make()
        _ = try UnixSocket.withAddress(path) { connect(descriptor, $0, $1) }
        _ = write(descriptor, bytes, bytes.count)
        // The others stay open until the test ends.
        if closes { close(descriptor) }
    }
}
