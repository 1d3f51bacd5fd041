internal import CTestSupport
internal import Glibc
internal import TestSupport

/// One round: the helpers start together, and somebody sits at the terminal who answers, mistypes, kills and
/// interrupts.
struct TerminalRound {
    struct Counts {
        var answers = 0
        var mistypes = 0
        var kills = 0
        var interrupts = 0

        mutating func add(_ other: Counts) {
            answers += other.answers
            mistypes += other.mistypes
            kills += other.kills
            interrupts += other.interrupts
        }

        var text: String {
            "\(answers) answers, \(mistypes) mistyped, \(kills) processes killed, \(interrupts) interrupted"
        }
    }

    private(set) var counts = Counts()
    private(set) var faults: [String] = []
    /// What was done at the questions, for whoever looks for the reason of a fault.
    private var story: [String] = []
    private let place: TerminalPlace
    private var numbers: Numbers
    private let terminal: HarnessTerminal

    init(_ place: TerminalPlace, _ numbers: Numbers) throws {
        self.place = place
        self.numbers = numbers
        terminal = try HarnessTerminal(
            ["bash", "-c", place.script], environment: place.environment, directory: place.folder.path)
    }

    mutating func play() throws {
        var prompts = 0
        // How many questions may have been asked: one, another for each that was answered or whose process may be gone.
        var settled = 0
        let start = ContinuousClock.now
        while !terminal.hasEnded {
            guard ContinuousClock.now - start < .seconds(Int(test_patience)) else {
                terminal.killAll()
                throw Wrong("not over after \(test_patience) seconds; the screen: \(terminal.text.suffix(400))")
            }
            terminal.read(milliseconds: 5)
            let seen = terminal.count(of: "Passphrase for")
            if terminal.text.contains("Username for") || terminal.text.contains("Password for") {
                terminal.killAll()
                throw Wrong(
                    "git asks for a user name: its helper ended without a word; the screen: \(terminal.text.suffix(400))"
                )
            }
            guard seen > prompts else { continue }
            check(seen <= settled + 1, "\(seen) questions are there for \(settled) answers and ends")
            prompts = seen
            check(!terminal.echoes, "echo is on at a question")
            settled = seen - 1 + (try act() ? 1 : 0)
        }
        try finish()
    }

    /// Does what somebody at the terminal may do at a question; returns whether that settles it.
    private mutating func act() throws -> Bool {
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<72:
            counts.answers += 1
            story.append("answered")
            try type(TerminalPlace.passphrase + "\r")
        case 72..<86:
            counts.mistypes += 1
            story.append("mistyped")
            try type(String(TerminalPlace.passphrase.dropLast(Int.random(in: 1...9, using: &numbers))) + "\r")
        case 86..<94:
            counts.kills += 1
            if Bool.random(using: &numbers) { try type(String(TerminalPlace.passphrase.prefix(7))) }
            try signal([SIGKILL, SIGKILL, SIGTERM, SIGHUP])
        case 94..<99:
            counts.kills += 1
            counts.interrupts += 1
            if Bool.random(using: &numbers) { try type(String(TerminalPlace.passphrase.prefix(7))) }
            try signal([SIGINT, SIGQUIT])
        default:
            counts.interrupts += 1
            counts.kills += 1
            story.append("Ctrl-C")
            try type("\u{3}")
            // It ends the shell, too, whose end hangs up on what it left, at a question or not: nobody goes on typing
            // meanwhile.
            let end = ContinuousClock.now + .seconds(Int(test_patience))
            while !terminal.hasEnded, ContinuousClock.now < end { terminal.read(milliseconds: 20) }
        }
        return true
    }

    /// Sends a signal to the process that asks, or to one that waits; if another question does not come, the one that
    /// is there is answered. Not to one that only starts: git would ask for a user name while another's question is
    /// there, which nobody can prevent.
    private mutating func signal(_ choices: [Int32]) throws {
        guard let signal = choices.randomElement(using: &numbers) else { return }
        guard let asking = terminal.asking() else { return try type(TerminalPlace.passphrase + "\r") }
        let pids = terminal.waiting()
        let pid = Bool.random(using: &numbers) ? asking : pids.randomElement(using: &numbers)
        guard let pid else { return try type(TerminalPlace.passphrase + "\r") }
        story.append("signal \(signal) to \(pid == asking ? "the one that asks" : "one that waits")")
        kill(pid, signal)
        if pid == asking { return }
        // The question is still there.
        terminal.read(milliseconds: 100)
        if terminal.asking() == asking { try type(TerminalPlace.passphrase + "\r") }
    }

    /// Types as people do: in pieces.
    private mutating func type(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...40, using: &numbers))
            try terminal.type(Array(piece))
            rest = rest.dropFirst(piece.count)
            if !rest.isEmpty { usleep(UInt32.random(in: 0..<3000, using: &numbers)) }
        }
    }

    private mutating func finish() throws {
        guard terminal.waitForEnd(seconds: Int(test_patience)) else {
            terminal.killAll()
            throw Wrong(
                "helpers are still there, though the script has ended; the screen: \(terminal.text.suffix(400))")
        }
        check(terminal.echoes, "echo is off afterwards")
        // The bytes that every letter of the passphrases begins with.
        check(
            !terminal.bytes.contains { $0 == 0xD0 || $0 == 0xD1 }, "a byte of a passphrase or a secret is on the screen"
        )
    }

    private mutating func check(_ isTrue: Bool, _ what: String) {
        if !isTrue {
            faults.append("\(what); after \(story.joined(separator: ", ")); the screen: \(terminal.text.suffix(300))")
        }
    }
}
