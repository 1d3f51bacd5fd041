internal import Synchronization
internal import VaultBytes

/// A process with the reference implementation in it, which gets keys and files, and says what it read (attacker.py).
final class Attacker: Sendable {
    /// What the attacker holds.
    struct Held {
        /// Raw keys of slots, each with the version of the file whose slot it opens.
        var slots: [(version: Int, rawKey: [UInt8])] = []
        var index: [UInt8]?
        var kept: [[UInt8]] = []
        var devices: Set<Int> = []
    }

    /// What was read.
    struct Shown {
        /// All marks that any key decrypts.
        var marks: Set<String> = []
        /// Those that also open with tag and binding.
        var proven: Set<String> = []
        var tries = 0
    }

    private let process: Mutex<Conversation>

    init() throws {
        process = Mutex(try Conversation(reference: "Tests/Harness/Scopes/attacker.py"))
    }

    func put(_ number: Int, _ bytes: [UInt8]) throws { _ = try ask("put \(number) \(Hex.encode(bytes))") }

    func forget() throws { _ = try ask("forget") }

    func attack(_ files: [Int], _ held: Held) throws -> Shown {
        let slots = held.slots.map { "\($0.version):\(Hex.encode($0.rawKey))" }
        let devices = held.devices.sorted().map { ScopesDevice.parts($0) }.map {
            "\(Hex.encode($0.id)):\(Hex.encode($0.secret))"
        }
        let lists = [
            "slots=" + slots.joined(separator: ","), "index=" + (held.index.map(Hex.encode) ?? ""),
            "kept=" + held.kept.map(Hex.encode).joined(separator: ","), "devices=" + devices.joined(separator: ","),
        ]
        let answer = try ask("attack \(files.map(String.init).joined(separator: ",")) \(lists.joined(separator: " "))")
        let words = answer.split(separator: " ")
        guard words.count == files.count + 1, let tries = Int(words[0]) else {
            throw Wrong("the attacker answers '\(answer)'")
        }
        var shown = Shown(tries: tries)
        for word in words.dropFirst() {
            let lists = word.split(separator: "/", omittingEmptySubsequences: false).map {
                $0.split(separator: ",").map(String.init)
            }
            guard lists.count == 2 else { throw Wrong("the attacker answers '\(answer)'") }
            shown.marks.formUnion(lists[0])
            shown.proven.formUnion(lists[1])
        }
        return shown
    }

    /// One forged file, and what was done: by a holder of slots, for the version `target` and its readers.
    func forge(
        _ seed: UInt64, slots: [(version: Int, rawKey: [UInt8])], removed: [(version: Int, rawKey: [UInt8])],
        target: Int,
        victims: [(isFull: Bool, rawKey: [UInt8])]
    ) throws -> (what: String, bytes: [UInt8]) {
        func list(_ keys: [(version: Int, rawKey: [UInt8])]) -> String {
            keys.map { "\($0.version):\(Hex.encode($0.rawKey))" }.joined(separator: ",")
        }
        let named = victims.map { "\($0.isFull ? "full" : "scoped"):\(Hex.encode($0.rawKey))" }.joined(separator: ",")
        let answer = try ask(
            "forge \(seed) slots=\(list(slots)) removed=\(list(removed)) file=\(target) victims=\(named)")
        let words = answer.split(separator: " ")
        guard words.count == 2, let bytes = Hex.decode(words[1]) else {
            throw Wrong("the attacker answers '\(answer.prefix(200))'")
        }
        return (String(words[0]), bytes)
    }

    private func ask(_ question: String) throws -> String {
        try process.withLock { process in
            process.say(question)
            guard let answer = process.hear() else { throw Wrong("the attacker has ended") }
            return answer
        }
    }
}

/// Attackers, one for each thread that asks at the same time.
final class AttackerPool: Sendable {
    private let free = Mutex<[Attacker]>([])

    func lend(_ body: (Attacker) throws -> Void) throws {
        let attacker = try free.withLock { $0.popLast() } ?? Attacker()
        try body(attacker)
        free.withLock { $0.append(attacker) }
    }
}

/// The devices that there are, by number.
enum ScopesDevice {
    static func parts(_ number: Int) -> (id: [UInt8], secret: [UInt8]) {
        ([UInt8](repeating: UInt8(0xD0 + number), count: 16), [UInt8](repeating: UInt8(0x50 + number), count: 32))
    }
}
