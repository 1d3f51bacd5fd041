import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultExchange

@testable import VaultAgent

/// An agent without sockets, whose clock the test sets.
final class TestAgent {
    let service: AgentService
    let vault: ServedVault
    var now: UInt64 = 1_000_000

    /// - `vault`: The keys of a vault; an empty agent has none.
    init(_ vault: ServedVault? = nil, canConfirm: Bool = false) {
        self.vault =
            vault
            ?? ServedVault(
                path: "none", groups: [], limits: .init(), vault: nil, isKept: false, now: 1_000_000, reopening: { nil }
            )
        service = AgentService(self.vault, canConfirm: canConfirm)
    }

    /// Sends a request, and returns the reply; nil if a person is to be asked.
    func ask(_ request: [UInt8], from client: inout AgentService.Client, isConfirmed: Bool = false) -> [UInt8]? {
        let answer = request.withUnsafeBytes {
            service.answer($0, from: &client, isConfirmed: isConfirmed, now: now)
        }
        guard case .reply(let reply) = answer else { return nil }
        return reply
    }

    /// Does the same over a connection of its own.
    func ask(_ request: [UInt8], isConfirmed: Bool = false) -> [UInt8]? {
        var client = AgentService.Client.test
        return ask(request, from: &client, isConfirmed: isConfirmed)
    }

    /// The question to a person that a request leads to.
    func question(_ request: [UInt8], from client: inout AgentService.Client) -> String? {
        let answer = request.withUnsafeBytes { service.answer($0, from: &client, now: now) }
        guard case .confirm(let question) = answer else { return nil }
        return question
    }

    /// The comments of the keys that are listed.
    func list(from client: inout AgentService.Client) throws -> [String] {
        let reply = try #require(ask([AgentMessage.requestIdentities], from: &client))
        return try reply.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            #expect(try reader.byte() == AgentMessage.identitiesAnswer)
            var comments: [String] = []
            for _ in 0..<(try reader.number()) {
                _ = try reader.bytes()
                comments.append(try reader.text())
            }
            try reader.end()
            return comments
        }
    }

    /// The state that the control socket tells.
    func status() throws -> AgentStatus {
        var client = AgentService.Client(peer: AgentPeer(process: 7, program: "p"), isControl: true)
        let request = Request.one(AgentMessage.extension, Array(AgentMessage.status.utf8))
        let reply = try #require(ask(request, from: &client))
        return try reply.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            #expect(try reader.byte() == AgentMessage.extensionResponse)
            _ = try reader.text()
            return try AgentStatus(&reader)
        }
    }

    func list() throws -> [String] {
        var client = AgentService.Client.test
        return try list(from: &client)
    }
}

extension AgentService.Client {
    static var test: AgentService.Client { .init(peer: AgentPeer(process: 1, program: "test"), isControl: false) }
}

/// The requests of clients.
enum Request {
    static func add(_ seed: UInt8, comment: String, constraints: [UInt8] = []) -> [UInt8] {
        var message = [constraints.isEmpty ? AgentMessage.addIdentity : AgentMessage.addConstrained]
        message += privateKey(seed)
        message.append(text: comment)
        return message + constraints
    }

    private static func privateKey(_ seed: UInt8) -> [UInt8] {
        let point = point(seed)
        var out: [UInt8] = []
        out.append(text: "ssh-ed25519")
        out.append(string: point)
        out.append(string: [UInt8](repeating: seed, count: 32) + point)
        return out
    }

    static func key(_ seed: UInt8) -> PrivateKey {
        PrivateKey(seed: Secret(bytes: [UInt8](repeating: seed, count: 32)))
    }

    static func blob(_ seed: UInt8) -> [UInt8] { key(seed).publicKey.blob }

    private static func point(_ seed: UInt8) -> [UInt8] { Array(blob(seed).suffix(32)) }

    /// A certificate of a user, or a host, with a signature that is none.
    static func certificate(_ seed: UInt8, kind: Certificate.Kind, authority: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.append(text: KeyType.ed25519.certificateName)
        out.append(string: [UInt8](repeating: 0, count: 32))
        out.append(string: point(seed))
        out.append(number64: 1)
        out.append(number: kind.rawValue)
        out.append(text: "id")
        out.append(text: "")
        out.append(number64: 0)
        out.append(number64: .max)
        for _ in 0..<3 { out.append(text: "") }
        out.append(string: authority)
        out.append(string: signature(seed, [0]))
        return out
    }

    /// Adds the key of a seed with a certificate.
    static func add(_ seed: UInt8, certificate: [UInt8], comment: String) -> [UInt8] {
        let point = point(seed)
        var message = [AgentMessage.addIdentity]
        message.append(text: KeyType.ed25519.certificateName)
        message.append(string: certificate)
        message.append(string: point)
        message.append(string: [UInt8](repeating: seed, count: 32) + point)
        message.append(text: comment)
        return message
    }

    static func sign(_ identity: [UInt8], _ data: [UInt8], flags: UInt32 = 0) -> [UInt8] {
        var message = [AgentMessage.signRequest]
        message.append(string: identity)
        message.append(string: data)
        message.append(number: flags)
        return message
    }

    static func one(_ type: UInt8, _ text: [UInt8]) -> [UInt8] {
        var message = [type]
        message.append(string: text)
        return message
    }

    /// The proof of a host, which has the key of a seed.
    static func bind(host seed: UInt8, session: [UInt8], forwarding: Bool, signedBy other: UInt8? = nil) -> [UInt8] {
        var message = [AgentMessage.extension]
        message.append(text: AgentMessage.sessionBind)
        message.append(string: blob(seed))
        message.append(string: session)
        message.append(string: signature(other ?? seed, session))
        message.append(forwarding ? 1 : 0)
        return message
    }

    /// The proof of a host whose key is of a type that is not supported, which ssh may accept.
    static func bindUnsupported(session: [UInt8], forwarding: Bool) -> [UInt8] {
        var message = [AgentMessage.extension]
        message.append(text: AgentMessage.sessionBind)
        message.append(string: fidoBlob)
        message.append(string: session)
        message.append(string: signature(1, session))
        message.append(forwarding ? 1 : 0)
        return message
    }

    /// A public key of a FIDO device.
    static var fidoBlob: [UInt8] {
        var blob: [UInt8] = []
        blob.append(text: "sk-ssh-ed25519@openssh.com")
        blob.append(string: point(1))
        blob.append(text: "ssh:")
        return blob
    }

    private static func signature(_ seed: UInt8, _ data: [UInt8]) -> [UInt8] {
        do { return try data.withUnsafeBytes { try key(seed).sign($0, flags: 0) } } catch { return [] }
    }

    /// What a client signs to log in.
    static func login(_ identity: [UInt8], session: [UInt8], user: String, host: [UInt8]? = nil) -> [UInt8] {
        var data: [UInt8] = []
        data.append(string: session)
        data.append(50)
        data.append(text: user)
        data.append(text: "ssh-connection")
        data.append(text: host == nil ? "publickey" : "publickey-hostbound-v00@openssh.com")
        data.append(1)
        data.append(text: "ssh-ed25519")
        data.append(string: identity)
        if let host { data.append(string: host) }
        return data
    }
}

/// Where a key may be used.
enum Constraint {
    /// A hop by the seed of its host key; nil for the machine of the agent.
    static func hop(_ seed: UInt8?, user: String = "", name: String = "host") -> [UInt8] {
        var out: [UInt8] = []
        out.append(text: user)
        out.append(text: seed == nil ? "" : name)
        out.append(text: "")
        if let seed {
            out.append(string: Request.blob(seed))
            out.append(0)
        }
        return out
    }

    /// A hop with keys as they are encoded.
    static func hop(name: String, blobs: [[UInt8]]) -> [UInt8] {
        var out: [UInt8] = []
        for text in ["", name, ""] { out.append(text: text) }
        for blob in blobs {
            out.append(string: blob)
            out.append(0)
        }
        return out
    }

    static func destinations(_ steps: [(from: [UInt8], to: [UInt8])]) -> [UInt8] {
        var all: [UInt8] = []
        for step in steps {
            var one: [UInt8] = []
            one.append(string: step.from)
            one.append(string: step.to)
            one.append(text: "")
            all.append(string: one)
        }
        var out = [AgentMessage.constrainExtension]
        out.append(text: AgentMessage.restrictDestination)
        out.append(string: all)
        return out
    }

    static func lifetime(_ seconds: UInt32) -> [UInt8] {
        var out = [AgentMessage.constrainLifetime]
        out.append(number: seconds)
        return out
    }
}

extension Folder {
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }

    /// Runs ssh-keygen in the folder; it must succeed.
    func keygen(_ words: String...) throws { try keygen(words) }

    func keygen(_ words: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ssh-keygen")
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: path)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw KeygenFailed(words: words) }
    }
}

/// The memory of this process.
enum OwnMemory {
    /// Larger regions are those of sanitizers.
    private static let longestRegion: UInt = 1 << 30

    /// Counts the places that hold bytes. They are given with a mask, so that the search does not add a place.
    static func count(_ masked: [UInt8], mask: UInt8) throws -> Int {
        let memory = open("/proc/self/mem", O_RDONLY)
        try #require(memory >= 0)
        defer { close(memory) }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { piece.deallocate() }
        var hits = 0
        for region in try writableRegions() {
            var start = region.lowerBound
            while region.upperBound - start >= UInt(masked.count) {
                let count = pread(
                    memory, piece.baseAddress, min(piece.count, Int(region.upperBound - start)), Int(start))
                guard count >= masked.count else { break }
                hits += Self.count(masked, mask, in: UnsafeRawBufferPointer(rebasing: piece[..<count]))
                // What lies across two pieces is whole in the next one.
                start += UInt(count - masked.count + 1)
            }
        }
        return hits
    }

    private static func count(_ masked: [UInt8], _ mask: UInt8, in bytes: UnsafeRawBufferPointer) -> Int {
        guard let base = bytes.baseAddress, let first = masked.first else { return 0 }
        var (hits, place) = (0, 0)
        while place <= bytes.count - masked.count {
            let rest = bytes.count - masked.count + 1 - place
            guard let found = memchr(base + place, Int32(first ^ mask), rest) else { break }
            place = UnsafeRawPointer(found) - base
            if masked.indices.allSatisfy({ bytes[place + $0] == masked[$0] ^ mask }) { hits += 1 }
            place += 1
        }
        return hits
    }

    private static func writableRegions() throws -> [Range<UInt>] {
        let maps = open("/proc/self/maps", O_RDONLY)
        try #require(maps >= 0)
        defer { close(maps) }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(maps, &piece, piece.count), count > 0 { text += piece.prefix(count) }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, words[1].hasPrefix("rw") else { return nil }
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1], ends[1] - ends[0] <= longestRegion else { return nil }
            return ends[0]..<ends[1]
        }
    }
}

struct KeygenFailed: Error { let words: [String] }

/// The text of a key file, whose seed is a byte 32 times.
func keyText(_ byte: UInt8, comment: String = "") -> Secret {
    OpenSSHText.text(seed: Secret(bytes: [UInt8](repeating: byte, count: 32)), comment: comment) ?? Secret(count: 0)
}
