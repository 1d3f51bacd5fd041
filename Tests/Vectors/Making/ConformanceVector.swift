internal import TestSupport
package import VaultBytes

/// One vector: a file, how it is read, and what comes out.
package struct ConformanceVector: Sendable {
    package let name: String
    /// Where it is, below the folder of all vectors: one a structure of the format.
    package let folder: String
    package let spec: String
    package let expect: Verdict
    package let request: ReadRequest
    package let comment: String
    package let file: [UInt8]

    package init(
        name: String, folder: String, spec: String, expect: Verdict, request: ReadRequest, comment: String,
        file: [UInt8]
    ) {
        self.name = name
        self.folder = folder
        self.spec = spec
        self.expect = expect
        self.request = request
        self.comment = comment
        self.file = file
    }

    package var path: String { folder.isEmpty ? name + ".vector" : folder + "/" + name + ".vector" }

    /// What is read from the file.
    package var reading: SpecReading { SpecReading(file, request) }

    /// The whole vector file (Spec/vectors/README.md). Throws if the verdict is not the one that was stated.
    package func encode() throws -> [UInt8] {
        let reading = reading
        guard reading.verdict == expect else {
            throw ForgeError("\(name): \(expect.rawValue) was stated, \(reading.verdict.rawValue) was read")
        }
        return try encode(dump: reading.dump)
    }

    /// The same with a dump that is at hand.
    package func encode(dump: [String]) throws -> [UInt8] {
        guard comment.utf8.allSatisfy({ (32..<127).contains($0) }) else {
            throw ForgeError("\(name): a comment is ASCII")
        }
        var lines = [("vector", name), ("spec", spec), ("expect", expect.rawValue)] + request.lines
        if !dump.isEmpty { lines.append(("content", SHA256.hex(Array(dump.map { $0 + "\n" }.joined().utf8)))) }
        lines.append(("comment", comment))
        return Array((lines.map { "\($0.0): \($0.1)\n" }.joined() + "\n").utf8) + file
    }
}

/// Collects vectors, a theme at a time.
package struct Collection {
    package private(set) var vectors: [ConformanceVector] = []
    /// Where the next ones go.
    var folder = ""
    private var names: Set<String> = []

    /// A vault as it is.
    mutating func vault(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil
    ) throws {
        guard names.insert(name).inserted else { throw ForgeError("two vectors are named \(name)") }
        vectors.append(
            ConformanceVector(
                name: name, folder: folder, spec: spec, expect: expect, request: request ?? base.request,
                comment: comment, file: base.file)
        )
    }

    /// A vault that was taken apart, altered, and made right again above the alteration.
    mutating func forged(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil,
        _ edit: (inout Forge) throws -> Void
    ) throws {
        let file: [UInt8]
        do {
            var forge = try base.forge()
            try edit(&forge)
            file = try forge.assemble()
        } catch { throw ForgeError("\(name): \(error)") }
        guard file != base.file else { throw ForgeError("\(name): nothing was altered") }
        try vault(name, spec, expect, Base(file: file, request: base.request), comment, request: request)
    }

    /// A vault whose bytes were altered by somebody without a key.
    mutating func bytes(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil,
        _ edit: (inout [UInt8]) throws -> Void
    ) throws {
        var file = base.file
        try edit(&file)
        guard file != base.file else { throw ForgeError("\(name): nothing was altered") }
        try vault(name, spec, expect, Base(file: file, request: base.request), comment, request: request)
    }
}

/// A vault that vectors are made from, and how it is opened. Each has a full slot for `Base.key`.
package struct Base {
    package static let key: [UInt8] = Array(0..<32)
    package static let scopedKey: [UInt8] = Array(128..<160)
    package static let device = Bytes16(high: 0xD0D1_D2D3_D4D5_D6D7, low: 0xD8D9_DADB_DCDD_DEDF)
    package static let deviceSecret: [UInt8] = Array(64..<96)
    static let otherDevice = Bytes16(high: 0xE0E1_E2E3_E4E5_E6E7, low: 0xE8E9_EAEB_ECED_EEEF)
    static let otherDeviceSecret: [UInt8] = Array(160..<192)

    let file: [UInt8]
    var request: ReadRequest = .raw(Base.key)

    func forge() throws -> Forge {
        try Forge(
            file, .rawKey(Base.key),
            devices: [Base.device: Base.deviceSecret, Base.otherDevice: Base.otherDeviceSecret])
    }
}
