import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

extension ControllingTerminal {
    /// Shows lines to choose from; the user selects one with the arrow keys or by number, and presses Enter.
    /// - Returns: The index of the line; nil if none was chosen.
    package static func choose(title: String, _ lines: [String]) throws -> Int? {
        try during { turn in turn.choose(title, lines) }
    }
}

extension TerminalTurn {
    /// Shows the menu and waits for a choice.
    fileprivate func choose(_ title: String, _ lines: [String]) -> Choice {
        let failure = vault_turn_ask(1)
        guard failure == 0 else { return .failed(-failure) }
        var menu = TerminalMenu(title, lines, size: Self.size(of: terminal))
        let outcome: Choice
        if readsKeys() {
            show(menu.start)
            outcome = choice(&menu)
        } else {
            outcome = .failed(errno)
        }
        vault_turn_work()
        show(menu.end)
        return notedSignal().map { Choice($0) } ?? outcome
    }

    /// Delivers each key at once, without echo. Ctrl-C and Ctrl-Z keep their meaning. IEXTEN is off, which
    /// distinguishes these settings from a shell's settings at its prompt (see `vault_terminal_restore`).
    private func readsKeys() -> Bool {
        var modes = termios()
        guard tcgetattr(terminal, &modes) == 0 else { return false }
        modes.c_lflag &= ~tcflag_t(ICANON | IEXTEN)
        withUnsafeMutableBytes(of: &modes.c_cc) { controls in
            controls[Int(VMIN)] = 1
            controls[Int(VTIME)] = 0
        }
        return tcsetattr(terminal, TCSANOW, &modes) == 0
    }

    private func choice(_ menu: inout TerminalMenu) -> Choice {
        while true {
            switch key() {
            case .signal(let signal): return .signal(signal)
            case .failed(let number): return .failed(number)
            case .end: return .chosen(nil)
            case .key(let key):
                switch menu.press(key) {
                case .moved: show(menu.drawn)
                case .taken(let place): return .chosen(place)
                case .left: return .chosen(nil)
                }
            }
        }
    }

    private enum Reading {
        case key(TerminalMenu.Key)
        case end
        case failed(Int32)
        case signal(Int32)
    }

    /// Waits for a key; if the key sends several bytes, waits for all of them.
    private func key() -> Reading {
        switch byte(timeout: -1) {
        case .byte(0x1B): return .key(rest())
        case .byte(let byte): return .key(TerminalMenu.Key(byte))
        case .none: return .end
        case .failed(let number): return .failed(number)
        case .signal(let signal): return .signal(signal)
        }
    }

    /// Returns the key that a sequence starting with Escape represents, or Escape itself if no other byte follows
    /// immediately.
    private func rest() -> TerminalMenu.Key {
        guard case .byte(let first) = byte(timeout: 50), first == 0x5B || first == 0x4F else { return .escape }
        guard case .byte(let second) = byte(timeout: 50) else { return .other }
        return switch second {
        case 0x41: .up
        case 0x42: .down
        default: .other
        }
    }

    private enum Byte {
        case byte(UInt8)
        case none
        case failed(Int32)
        case signal(Int32)
    }

    private func byte(timeout: Int32) -> Byte {
        while true {
            var ready = [
                pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notes.reading, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&ready, 2, timeout)
            if count < 0 && errno != EINTR { return .failed(errno) }
            if case .signal(let signal)? = notedSignal() { return .signal(signal) }
            if count == 0 { return .none }
            guard count > 0 else { continue }
            var byte: UInt8 = 0
            let got = read(terminal, &byte, 1)
            if got == 1 { return .byte(byte) }
            if got == 0 { return .none }
            if errno != EINTR && errno != EAGAIN { return .failed(errno) }
        }
    }

    private static func size(of terminal: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

/// How a choice ended.
enum Choice {
    case chosen(Int?)
    case failed(Int32)
    case signal(Int32)

    /// The event that interrupted the choice, if any.
    init(_ outcome: TerminalTurn.Outcome) {
        switch outcome {
        case .signal(let signal): self = .signal(signal)
        case .failed(let number): self = .failed(number)
        case .line, .end: self = .chosen(nil)
        }
    }
}

/// The contents of a menu, and the way that keys change them. Lines end with a newline as in other output; the terminal
/// adds the carriage return.
struct TerminalMenu {
    enum Key: Equatable {
        case up, down, enter, escape, other
        case digit(Int)

        init(_ byte: UInt8) {
            switch byte {
            case 0x0A, 0x0D: self = .enter
            case 0x04, UInt8(ascii: "q"): self = .escape
            case 0x10, UInt8(ascii: "k"): self = .up
            case 0x0E, UInt8(ascii: "j"): self = .down
            case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit(Int(byte - UInt8(ascii: "0")))
            default: self = .other
            }
        }
    }

    enum Effect: Equatable {
        case moved
        case taken(Int)
        case left
    }

    private let title: String
    private let lines: [String]
    private let hidden: Int
    private let columns: Int
    private(set) var selected = 0
    /// The number typed so far.
    private var typed = 0

    /// The number of lines shown, which is as many as fit.
    init(_ title: String, _ lines: [String], size: (columns: Int, rows: Int)) {
        self.title = title
        self.lines = Array(lines.prefix(max(1, min(lines.count, size.rows - 4))))
        hidden = lines.count - self.lines.count
        columns = size.columns
    }

    /// Handles a key.
    mutating func press(_ key: Key) -> Effect {
        if case .digit(let digit) = key {
            let longer = typed * 10 + digit
            typed = (1...lines.count).contains(longer) ? longer : (1...lines.count).contains(digit) ? digit : 0
            if typed > 0 { selected = typed - 1 }
            return .moved
        }
        typed = 0
        switch key {
        case .up: selected = (selected + lines.count - 1) % lines.count
        case .down: selected = (selected + 1) % lines.count
        case .enter: return .taken(selected)
        case .escape: return .left
        case .other, .digit: break
        }
        return .moved
    }

    /// The whole menu, as drawn for the first time.
    var start: String { ([title] + body).map(clipped).joined(separator: "\n") }
    /// The lines, to be drawn over the existing ones.
    var drawn: String {
        "\r\u{1B}[\(body.count - 1)A" + body.map { "\u{1B}[K" + clipped($0) }.joined(separator: "\n")
    }
    /// The text after the menu.
    var end: String { "\n" }

    private var body: [String] {
        let digits = String(lines.count).count
        var body = lines.enumerated().map { place, line in
            let number = String(place + 1)
            return (place == selected ? "> " : "  ") + String(repeating: " ", count: digits - number.count) + number
                + "  " + line
        }
        if hidden > 0 { body.append("  … and \(hidden) more; type more of the name") }
        return body + ["Arrow keys or a number, then Enter; q for none: "]
    }

    /// A line clipped to a single row.
    private func clipped(_ line: String) -> String {
        guard TerminalText.width(line) >= columns else { return line }
        var shown = ""
        var used = 0
        for character in line {
            used += TerminalText.width(String(character))
            if used > columns - 2 { break }
            shown.append(character)
        }
        return shown + "…"
    }
}
