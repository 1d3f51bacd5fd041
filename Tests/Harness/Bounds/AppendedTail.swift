internal import Glibc
internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultStore

/// Something that stands after a vault in its file, most of it a hole.
struct AppendedTail: Sendable {
    enum Expectation: Sendable {
        /// The newest state is served, and a writer goes on.
        case isServed
        /// The newest state is served, and a writer refuses until the tail was repaired.
        case isDamaged
        /// No state is found within the bounds.
        case isRefused
    }

    /// Where it is written, from the vault's end or from the file's (negative), and what.
    typealias Piece = (place: Int64, bytes: @Sendable (inout Numbers) -> [UInt8])

    let name: String
    let pieces: [Piece]
    let length: Int64
    let expected: Expectation

    private static let gigabyte: Int64 = 1 << 30
    private static let head: [UInt8] = Array("vCMT".utf8) + [0, 2, 0, 0]
    private static let most = 1.0

    static let all: [AppendedTail] = [
        AppendedTail(name: "a reserve", pieces: [], length: 131_072, expected: .isServed),
        AppendedTail(name: "a hole of 200 MB", pieces: [], length: 200_000_000 / 512 * 512, expected: .isServed),
        AppendedTail(name: "a hole of 10 GB", pieces: [], length: 10 * gigabyte, expected: .isRefused),
        AppendedTail(
            name: "a hole of 10 GB, and a byte", pieces: [(-1, { _ in [1] })], length: 10 * gigabyte,
            expected: .isRefused),
        AppendedTail(
            name: "a hole of 10 GB, and heads at its end", pieces: heads(2000, at: -2000 * 512, apart: 512),
            length: 10 * gigabyte,
            expected: .isRefused),
        AppendedTail(
            name: "a hole of 10 GB, and heads all over its end",
            pieces: heads(63, at: -63 * 4_000_000 / 512 * 512, apart: 4_000_256),
            length: 10 * gigabyte, expected: .isRefused),
        AppendedTail(
            name: "a hole of 10 GB, and 300 MB of junk at its end", pieces: junk(300, at: -300 << 20),
            length: 10 * gigabyte,
            expected: .isRefused),
        AppendedTail(name: "63 heads", pieces: heads(63, at: 0, apart: 512), length: 63 * 512, expected: .isDamaged),
        AppendedTail(name: "64 heads", pieces: heads(64, at: 0, apart: 512), length: 64 * 512, expected: .isRefused),
        AppendedTail(name: "100 MB of junk", pieces: junk(100, at: 0), length: 100 << 20, expected: .isServed),
        AppendedTail(
            name: "junk of 10 MB with 60 heads in it",
            pieces: junk(10, at: 0) + heads(60, at: 1 << 20, apart: 512 * 100), length: 10 << 20,
            expected: .isDamaged),
    ]

    private static func heads(_ count: Int, at place: Int64, apart: Int64) -> [Piece] {
        (0..<Int64(count)).map { (place + $0 * apart / 512 * 512, { head + $0.bytes(504) }) }
    }

    private static func junk(_ megabytes: Int64, at place: Int64) -> [Piece] {
        (0..<megabytes).map { (place + $0 << 20, { $0.bytes(1 << 20) }) }
    }

    // MARK: checking

    /// The processor time of the slowest call.
    func check(_ folder: Folder, _ numbers: inout Numbers) throws -> Double {
        let path = folder.file("bounds.vault")
        unlink(path)
        let vault = try Vault.create(at: path, factors: try Keys.factors(0))
        for item in 0..<10 { try vault.set(try Model.key("\(item)"), secret: .init(text: "x")) }
        let generation = vault.state.generation
        let end = try vault.withStore { (store) throws(VaultError) in Int64(store.state.commit.end) }
        try append(to: path, at: end, &numbers)
        let calls: [(name: String, run: () throws -> Void)] = [
            ("opening", { try open(path, generation) }), ("slots", { _ = try Vault.slots(at: path) }),
            ("inspecting", { _ = try Vault.inspect(path) }),
            ("changing", { try change(path, generation) }),
        ]
        var longest = 0.0
        for call in calls {
            let seconds = try ProcessorTime.of(call.run)
            guard seconds <= Self.most else { throw Wrong("\(call.name) took \(seconds) s") }
            longest = max(longest, seconds)
        }
        unlink(path)
        return longest
    }

    private func append(to path: String, at end: Int64, _ numbers: inout Numbers) throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Wrong("cannot open \(path)") }
        defer { close(descriptor) }
        let size = end + length
        guard ftruncate(descriptor, Int(end)) == 0, ftruncate(descriptor, Int(size)) == 0 else {
            throw Wrong("no sparse file of \(size) bytes here")
        }
        for piece in pieces {
            let bytes = piece.bytes(&numbers)
            let place = piece.place < 0 ? size + piece.place : end + piece.place
            guard pwrite(descriptor, bytes, bytes.count, Int(place)) == bytes.count else {
                throw Wrong("the tail cannot be written")
            }
        }
    }

    private func open(_ path: String, _ generation: UInt64) throws {
        let vault: Vault
        do throws(VaultError) {
            let factors = try Keys.factors(0)
            vault = try Vault.open(path, factors: factors)
        } catch {
            guard expected == .isRefused, error.code == .authenticationFailed else { throw error }
            return
        }
        guard expected != .isRefused else { throw Wrong("generation \(vault.state.generation) is served") }
        guard vault.state.generation == generation else {
            throw Wrong("generation \(vault.state.generation), not \(generation)")
        }
        guard try Model(reading: vault).items.count == 10 else { throw Wrong("not ten items") }
    }

    private func change(_ path: String, _ generation: UInt64) throws {
        var options = OpenOptions()
        options.writable = true
        let before = Files.status(path)?.st_size
        do {
            let vault = try Vault.open(path, factors: try Keys.factors(0), options: options)
            try vault.set(try Model.key("new"), secret: .init(text: "x"))
            guard expected == .isServed else { throw Wrong("a writer goes on") }
            guard vault.state.generation == generation + 1 else {
                throw Wrong("generation \(vault.state.generation)")
            }
        } catch let error as VaultError {
            let right: VaultError.Code? =
                expected == .isDamaged ? .damagedTail : expected == .isRefused ? .authenticationFailed : nil
            guard error.code == right else { throw error }
            guard Files.status(path)?.st_size == before else { throw Wrong("a writer that refuses changed the file") }
        }
    }
}
