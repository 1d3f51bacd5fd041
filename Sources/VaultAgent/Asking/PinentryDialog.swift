internal import VaultExchange
internal import VaultFmt

/// The conversation with pinentry about one question: the commands to send, and what the replies mean. It does not deal
/// with processes. It keeps what pinentry writes in memory that is wiped, because that may include a passphrase.
final class PinentryDialog {
    private struct Command {
        let line: [UInt8]
        /// True if the question can be asked even if pinentry rejects this command: not every pinentry supports every
        /// command.
        var isOptional = false
    }

    /// The answer; nil until there is one.
    private(set) var answer: PersonAnswer?
    private let wantsPassphrase: Bool
    private var commands: ArraySlice<Command>
    /// The command whose result is awaited; nil until pinentry has sent its greeting.
    private var awaited: Command?
    /// True if this command has yet to be sent, so that nothing pinentry has written answers it.
    private var isUnsent = false
    private var line = SecretBuffer(capacity: AssuanLine.longest)
    private var lineCount = 0
    private var typed = SecretBuffer(capacity: PinentryDialog.longestPassphrase)

    /// The longest passphrase, in bytes. pinentry itself accepts at most 2047.
    static let longestPassphrase = 2048
    private static let mostLines = 1000
    private static let longestReason = 160

    /// Returns nil if the question is too long to be shown in full.
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

    /// Processes what pinentry has written, and returns the next command; the caller sends it, and then calls
    /// ``noteSent()``. An answer that arrives earlier is an error, because a leftover answer is not a person's.
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
                fail("its output is too long")
                break
            }
            told += line.withUnsafeBytes { take($0) }
            line = SecretBuffer(capacity: AssuanLine.longest)
        }
        return told
    }

    /// Records that the command has been sent.
    func noteSent() { isUnsent = false }

    /// Records that pinentry has exited.
    func end() { fail("it exited without answering") }

    /// Returns the passphrase that was typed; nil unless the answer is yes.
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

    /// Processes a line without its newline.
    private func take(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        let word = line.prefix { $0 != UInt8(ascii: " ") }
        let rest = UnsafeRawBufferPointer(rebasing: line.dropFirst(word.count + 1))
        guard !isUnsent || word.isEmpty || word.elementsEqual("S".utf8) || word.first == UInt8(ascii: "#") else {
            fail("it answered before it was asked")
            return []
        }
        if word.elementsEqual("OK".utf8) { return accept() }
        if word.elementsEqual("ERR".utf8) { return refuse(rest) }
        if word.elementsEqual("D".utf8) {
            takeData(rest)
        } else if !word.isEmpty, !word.elementsEqual("S".utf8), word.first != UInt8(ascii: "#") {
            // Any other line is a comment or a status line.
            fail("its answer does not follow the protocol")
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
        isUnsent = true
        return next.line
    }

    /// Processes an error: a number, whose lower half is the error code, followed by a description.
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

    /// Processes part of a passphrase, which is percent-escaped.
    private func takeData(_ data: UnsafeRawBufferPointer) {
        guard wantsPassphrase, commands.isEmpty else { return fail("it sent data that was not requested") }
        var place = 0
        while place < data.count {
            var byte = data[place]
            place += 1
            if byte == UInt8(ascii: "%") {
                guard data.count - place >= 2, let high = AssuanLine.value(ofDigit: data[place]),
                    let low = AssuanLine.value(ofDigit: data[place + 1])
                else { return fail("its answer does not follow the protocol") }
                byte = high << 4 | low
                place += 2
            }
            guard typed.count < Self.longestPassphrase else { return fail("the passphrase is too long") }
            typed.append(byte)
        }
    }
}

/// The errors of libgpg-error that represent a person's answer.
private enum GPGError: UInt64 {
    case timeout = 62
    case canceled = 99
    case notConfirmed = 114
    case fullyCanceled = 198
}
