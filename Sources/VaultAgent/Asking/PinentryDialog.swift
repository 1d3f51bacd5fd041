internal import VaultExchange
internal import VaultFmt

/// One question to pinentry as a conversation in lines: the commands, and what the answers mean. It knows nothing of
/// processes, and keeps what pinentry writes in wiped memory, because a passphrase may be in it.
final class PinentryDialog {
    private struct Command {
        let line: [UInt8]
        /// Whether the question can be asked without it: not every pinentry knows every command.
        var isOptional = false
    }

    /// What pinentry has answered; nil while it has not.
    private(set) var answer: PersonAnswer?
    private let wantsPassphrase: Bool
    private var commands: ArraySlice<Command>
    /// The command whose result is awaited; nil before pinentry has introduced itself.
    private var awaited: Command?
    private var line = SecretBuffer(capacity: AssuanLine.longest)
    private var lineCount = 0
    private var typed = SecretBuffer(capacity: PinentryDialog.longestPassphrase)

    /// In bytes. pinentry itself accepts at most 2047.
    static let longestPassphrase = 2048
    private static let mostLines = 1000
    private static let longestReason = 160

    /// Returns nil if the question is too long to be shown whole.
    ///
    /// - `options`: Options for pinentry, each `NAME=VALUE`.
    /// - `seconds`: How long pinentry waits for an answer.
    init?(_ query: PersonQuery, options: [String], seconds: UInt64) {
        guard let description = QuestionText.line(query.text) else { return nil }
        func optional(_ name: String, _ argument: String) -> Command? {
            AssuanLine.command(name, argument).map { Command(line: $0, isOptional: true) }
        }
        var all = options.compactMap { optional("OPTION", $0) }
        all += [optional("SETTIMEOUT", String(seconds)), optional("SETTITLE", "vaultfmt")].compactMap { $0 }
        all.append(Command(line: description))
        switch query.wanted {
        case .consent:
            wantsPassphrase = false
            all += [optional("SETOK", "Allow"), optional("SETCANCEL", "Refuse")].compactMap { $0 }
            all.append(Command(line: Array("CONFIRM\n".utf8)))
        case .passphrase(let wrong):
            wantsPassphrase = true
            all += [optional("SETPROMPT", "Passphrase:")].compactMap { $0 }
            if wrong > 0 {
                let complaint = "wrong passphrase (try \(wrong + 1) of \(PersonQuery.mostTries))"
                all += [optional("SETERROR", complaint)].compactMap { $0 }
            }
            all.append(Command(line: Array("GETPIN\n".utf8)))
        }
        commands = all[...]
    }

    /// Takes what pinentry has written, and returns the next commands.
    func receive(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var told: [UInt8] = []
        for byte in bytes where answer == nil {
            guard byte == UInt8(ascii: "\n") else {
                guard line.count < AssuanLine.longest else {
                    fail("its line is too long")
                    break
                }
                line.append(byte)
                continue
            }
            lineCount += 1
            guard lineCount <= Self.mostLines else {
                fail("it says too much")
                break
            }
            told += line.withUnsafeBytes { take($0) }
            line = SecretBuffer(capacity: AssuanLine.longest)
        }
        return told
    }

    /// Notes that pinentry has ended.
    func end() { fail("it ended without an answer") }

    /// Returns the passphrase that was typed, once the answer is yes.
    func takePassphrase() -> SharedSecret? {
        guard wantsPassphrase, answer == .yes else { return nil }
        defer { typed = SecretBuffer() }
        return SharedSecret(typed.secret())
    }

    private func fail(_ reason: String) {
        guard answer == nil else { return }
        answer = .failed("pinentry: \(reason)")
        typed = SecretBuffer()
    }

    // MARK: lines

    /// Takes a line without its end.
    private func take(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = UnsafeRawBufferPointer(rebasing: line.dropFirst(word.count + 1))
        if word.elementsEqual("OK".utf8) { return accept() }
        if word.elementsEqual("ERR".utf8) { return refuse(rest) }
        if word.elementsEqual("D".utf8) {
            takeData(rest)
        } else if !word.isEmpty, !word.elementsEqual("S".utf8), word.first != UInt8(ascii: "#") {
            // The others are comments and status lines.
            fail("its answer is not of its protocol")
        }
        return []
    }

    private func accept() -> [UInt8] {
        guard let next = commands.popFirst() else {
            // Nothing was typed.
            answer = wantsPassphrase && typed.isEmpty ? .no : .yes
            return []
        }
        awaited = next
        return next.line
    }

    /// Takes an error: the number, whose low half says which, and words.
    private func refuse(_ rest: UnsafeRawBufferPointer) -> [UInt8] {
        if let awaited, awaited.isOptional { return accept() }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.prefix(10)
        let number = digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        guard commands.isEmpty, awaited != nil, let error = GPGError(rawValue: number & 0xFFFF) else {
            let words = rest.dropFirst(digits.count).drop { $0 == UInt8(ascii: " ") }
            let text = KeyComment.shown(String(decoding: words, as: UTF8.self), limit: Self.longestReason)
            fail(text.isEmpty ? "error \(number)" : text)
            return []
        }
        answer = error == .timeout ? .late : .no
        return []
    }

    /// Takes part of a passphrase, percent-escaped.
    private func takeData(_ data: UnsafeRawBufferPointer) {
        guard wantsPassphrase, commands.isEmpty else { return fail("it answers what was not asked") }
        var place = 0
        while place < data.count {
            var byte = data[place]
            place += 1
            if byte == UInt8(ascii: "%") {
                guard data.count - place >= 2, let high = AssuanLine.value(ofDigit: data[place]),
                    let low = AssuanLine.value(ofDigit: data[place + 1])
                else { return fail("its answer is not of its protocol") }
                byte = high << 4 | low
                place += 2
            }
            guard typed.count < Self.longestPassphrase else { return fail("the passphrase is too long") }
            typed.append(byte)
        }
    }
}

/// The errors of libgpg-error that are a person's answer.
private enum GPGError: UInt64 {
    case timeout = 62
    case canceled = 99
    case notConfirmed = 114
    case fullyCanceled = 198
}
