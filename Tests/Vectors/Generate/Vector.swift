import VaultBytes
import VaultFmt
import VaultForge
import VaultStore

/// One vector: a file, how it is read, and what comes out.
struct Vector {
    let name: String
    let spec: String
    let expect: Verdict
    let request: CheckRequest
    let comment: String
    let file: [UInt8]

    /// The whole vector file (Spec/vectors/README.md). Throws if the library reads the vault otherwise than expected.
    func encode() throws -> [UInt8] {
        let reading = try Reading("vault", request, fileSystem: MemoryFileSystem("vault", file))
        guard reading.verdict == expect else {
            throw ForgeError("\(name): expected \(expect.rawValue), read \(reading.verdict.rawValue)")
        }
        return try encode(reading)
    }

    /// The same, for what was read already.
    func encode(_ reading: Reading) throws -> [UInt8] {
        guard comment.utf8.allSatisfy({ (32..<127).contains($0) }) else { throw ForgeError("\(name): a comment is ASCII") }
        var lines = [("vector", name), ("spec", spec), ("expect", expect.rawValue)] + request.lines
        if !reading.dump.isEmpty {
            lines.append(("content", SHA256.hex(Array(reading.dump.map { $0 + "\n" }.joined().utf8))))
        }
        lines.append(("comment", comment))
        return Array((lines.map { "\($0.0): \($0.1)\n" }.joined() + "\n").utf8) + file
    }
}

/// Collects vectors, a theme at a time.
struct Collection {
    private(set) var vectors: [Vector] = []
    private var names: Set<String> = []

    /// A vault as it is.
    mutating func vault(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: CheckRequest? = nil
    ) throws {
        guard names.insert(name).inserted else { throw ForgeError("two vectors are named \(name)") }
        vectors.append(
            Vector(name: name, spec: spec, expect: expect, request: request ?? base.request, comment: comment, file: base.file))
    }

    /// A vault that was taken apart, altered, and made right again above the alteration.
    mutating func forged(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: CheckRequest? = nil,
        _ edit: (inout Forge) throws -> Void
    ) throws {
        var forge = try base.forge()
        try edit(&forge)
        let file = try forge.assemble()
        guard file != base.file else { throw ForgeError("\(name): nothing was altered") }
        try vault(name, spec, expect, Base(file: file, request: base.request), comment, request: request)
    }

    /// A vault whose bytes were altered by somebody without a key.
    mutating func bytes(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: CheckRequest? = nil,
        _ edit: (inout [UInt8]) throws -> Void
    ) throws {
        var file = base.file
        try edit(&file)
        guard file != base.file else { throw ForgeError("\(name): nothing was altered") }
        try vault(name, spec, expect, Base(file: file, request: base.request), comment, request: request)
    }
}

/// A vault that vectors are made from, and how it is opened. Each has a full slot for `Base.key`.
struct Base {
    static let key: [UInt8] = Array(0..<32)
    static let device = Bytes16(high: 0xD0D1_D2D3_D4D5_D6D7, low: 0xD8D9_DADB_DCDD_DEDF)
    static let deviceSecret: [UInt8] = Array(64..<96)

    let file: [UInt8]
    var request: CheckRequest = .raw(Base.key)

    func forge() throws -> Forge { try Forge(file, .forged(rawKey: Base.key), devices: [Base.device: Base.deviceSecret]) }
}
