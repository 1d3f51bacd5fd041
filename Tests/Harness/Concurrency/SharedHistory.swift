internal import Glibc

/// A change that a process made to the shared vault, and was told to be there.
struct SharedChange: Sendable {
    enum Kind: String {
        /// One value, and the three that always change together.
        case set
        case remove
        case compact
        case passphrase
    }

    /// When the call began and ended, on the machine's one clock.
    let start: UInt64
    let end: UInt64
    let generation: UInt64
    let kind: Kind
    let name: String
    /// What the transaction itself found there; `-` for nothing.
    let old: String
    let new: String

    var line: String { "\(start) \(end) \(generation) \(kind.rawValue) \(name) \(old) \(new)" }

    init(start: UInt64, generation: UInt64, _ kind: Kind, _ name: String = "-", old: String = "-", new: String = "-") {
        self.start = start
        end = Self.now()
        self.generation = generation
        self.kind = kind
        self.name = name
        self.old = old
        self.new = new
    }

    private init?(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 7, let start = UInt64(words[0]), let end = UInt64(words[1]),
            let generation = UInt64(words[2]),
            let kind = Kind(rawValue: words[3])
        else { return nil }
        self.start = start
        self.end = end
        self.generation = generation
        self.kind = kind
        name = words[4]
        old = words[5]
        new = words[6]
    }

    static func read(_ path: String) throws -> [SharedChange] {
        try LogFile.lines(path).compactMap { SharedChange($0) }
    }

    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// All changes in the order of their generations, and what the vault held after each.
struct SharedHistory {
    /// The generation before all of them.
    let first: UInt64
    var changes: [SharedChange] = []
    private(set) var states: [UInt64: [String: String]] = [:]
    private(set) var passphrase = ContestedVault.firstPassphrase

    init(first: UInt64) { self.first = first }

    /// Puts the changes in order; says where that order is not one: a generation that two were told, or none; a change
    /// that found something else than the one before it left; a change that comes before another one that had ended
    /// when it began.
    mutating func order() -> [String] {
        changes.sort { $0.generation < $1.generation }
        var wrong: [String] = []
        var state: [String: String] = [:]
        states[first] = state
        var latestStart: UInt64 = 0
        for (index, change) in changes.enumerated() {
            if change.generation != first + UInt64(index) + 1 {
                wrong.append("generation \(change.generation) is change \(index + 1) after generation \(first)")
            }
            if change.end < latestStart {
                wrong.append("generation \(change.generation) ended before an earlier one began")
            }
            latestStart = max(latestStart, change.start)
            switch change.kind {
            case .set, .remove:
                if state[change.name] ?? "-" != change.old {
                    wrong.append(
                        "generation \(change.generation) found \(change.old), where \(state[change.name] ?? "-") was")
                }
                state[change.name] = change.kind == .set ? change.new : nil
                if change.kind == .set { for name in ContestedVault.together { state[name] = change.new } }
            case .compact: break
            case .passphrase: passphrase = change.new
            }
            states[change.generation] = state
        }
        return wrong
    }

    /// What is wrong with what a reader found: its generation, and names with values.
    func wrong(reading line: String) -> String? {
        let words = line.split(separator: " ").map(String.init)
        guard let generation = words.first.flatMap({ UInt64($0) }), let state = states[generation] else {
            return "a reader was at a generation that nobody made: \(line.prefix(60))"
        }
        let found = words.dropFirst()
        let expected = state.map { "\($0.key)=\($0.value)" }
        return Set(found) == Set(expected) && found.count == expected.count
            ? nil : "a reader of generation \(generation) found something else"
    }

    var last: (generation: UInt64, state: [String: String]) {
        let generation = changes.last?.generation ?? first
        return (generation, states[generation] ?? [:])
    }
}

/// Lines that several processes write, each into a file of its own.
struct LogFile: ~Copyable {
    private let descriptor: Int32

    init(_ path: String) { descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }

    deinit { close(descriptor) }

    func append(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
    }

    static func lines(_ path: String) throws -> [String] {
        guard let file = fopen(path, "re") else { throw Wrong("\(path) is not there") }
        defer { fclose(file) }
        var all: [String] = []
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        while getline(&line, &size, file) > 0 {
            if let line { all.append(String(cString: line).filter { $0 != "\n" }) }
        }
        free(line)
        return all
    }
}
