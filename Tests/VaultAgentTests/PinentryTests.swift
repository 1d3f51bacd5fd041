import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultExchange

@testable import VaultAgent

@Suite("Asking with pinentry")
struct PinentryTests {
    private let client = Questions.Asker.connection(1)
    private let now: UInt64 = 1_000_000

    // MARK: the conversation

    /// What a dialog says next after these bytes, which is sent.
    @discardableResult
    private func says(_ dialog: PinentryDialog, _ bytes: [UInt8]) -> [UInt8] {
        defer { dialog.noteSent() }
        return bytes.withUnsafeBytes { dialog.receive($0) }
    }

    @discardableResult
    private func says(_ dialog: PinentryDialog, _ text: String) -> [UInt8] { says(dialog, Array(text.utf8)) }

    /// What pinentry is told when it accepts everything, up to its last command.
    private func told(_ query: PersonQuery, options: [String] = []) throws -> [String] {
        let dialog = try #require(PinentryDialog(query, options: options, seconds: 120))
        var told: [String] = []
        while true {
            let line = says(dialog, "OK\n")
            #expect(line.count <= 1001 && line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1)
            told.append(String(decoding: line.dropLast(), as: UTF8.self))
            if told.last == "CONFIRM" || told.last == "GETPIN" { return told }
        }
    }

    @Test("pinentry is told the question, and nothing of a terminal unless an option names one")
    func commands() throws {
        #expect(
            try told(.consent("Allow it?\nSHA256:abc")) == [
                "SETTIMEOUT 120", "SETTITLE vaultfmt", "SETDESC Allow it?%0ASHA256:abc", "SETOK Allow",
                "SETCANCEL Refuse", "CONFIRM",
            ])
        #expect(
            try told(.passphrase("Open it?", wrong: 1), options: ["ttyname=/dev/pts/1"]) == [
                "OPTION ttyname=/dev/pts/1", "SETTIMEOUT 120", "SETTITLE vaultfmt", "SETDESC Open it?",
                "SETPROMPT Passphrase:", "SETERROR wrong passphrase (try 2 of 3)", "GETPIN",
            ])
    }

    @Test("A name cannot end the line, reorder it, hide in it or become markup")
    func hostileNames() throws {
        let text = "Allow 'a\u{202E}b\u{7}c\r%41%0A<b>\u{200B}\u{7F}' it?"
        let line = try #require(try told(.consent(text)).first { $0.hasPrefix("SETDESC ") })
        #expect(line == #"SETDESC Allow 'a\u{202e}b\u{7}c\r%2541%250A\u{3c}b>\u{200b}\u{7f}' it?"#)
        #expect(AssuanLine.command("X", "\u{1}\n%\u{7F}ä") == Array("X %01%0A%25%7Fä\n".utf8))
    }

    @Test("A question that cannot be shown whole is not asked")
    func length() throws {
        let longest = 1000 - "SETDESC ".utf8.count
        #expect(QuestionText.fits(String(repeating: "x", count: longest)))
        #expect(!QuestionText.fits(String(repeating: "x", count: longest + 1)))
        // What counts is what is sent.
        #expect(!QuestionText.fits(String(repeating: "%", count: longest / 2)))
        let questions = asking("exit 0", starting: false)
        questions.add(.consent(String(repeating: "x", count: longest + 1)), from: client)
        let refusal = questions.askNext(now: now)?.answer.refusal
        #expect(refusal == "the question is too long to be shown in full, so it was not asked")
        #expect(questions.descriptor == nil)
    }

    @Test("Answers are understood in whatever pieces they come, and only answers to what was asked count")
    func pieces() throws {
        let answers: [(String, PersonAnswer)] = [
            ("OK\n", .yes), ("# a comment\nS BUTTON_INFO close\n\nOK done\n", .yes),
            ("ERR 83886179 Operation cancelled <Pinentry>\n", .no), ("ERR 83886194 Not confirmed\n", .no),
            ("ERR 198\n", .no), ("ERR 83886142 Timeout\n", .late),
            ("ERR 83918950 Inappropriate ioctl\u{7}\n", .failed(#"pinentry: Inappropriate ioctl\u{7}"#)),
            ("D yes\nOK\n", .failed("pinentry: it sent data that was not requested")),
            ("OKAY\n", .failed("pinentry: its answer does not follow the protocol")),
            ("INQUIRE QUALITY\n", .failed("pinentry: its answer does not follow the protocol")),
            (String(repeating: "x", count: 1001), .failed("pinentry: its line is too long")),
            (String(repeating: "S\n", count: 1001), .failed("pinentry: its output is too long")),
        ]
        for (answer, expected) in answers {
            for size in [1, 7, 4096] {
                let dialog = try #require(PinentryDialog(.consent("Allow?"), options: [], seconds: 1))
                for _ in 0..<6 { says(dialog, "OK\n") }
                var rest = Array(answer.utf8)[...]
                while !rest.isEmpty {
                    says(dialog, Array(rest.prefix(size)))
                    rest = rest.dropFirst(size)
                }
                #expect(dialog.answer == expected, "\(answer.prefix(40)) by \(size)")
                dialog.end()
                #expect(dialog.answer == expected)
            }
        }
    }

    @Test("An answer that was there before its question was sent does not count, however it is divided")
    func earlyAnswers() throws {
        let early = PersonAnswer.failed("pinentry: it answered before it was asked")
        for query in [PersonQuery.consent("Allow?"), .passphrase("Open?")] {
            for accepted in 0..<5 {
                for piece in ["OK\nOK\n", "OK\nERR 99\n", "OK\nD x\n"] {
                    let dialog = try #require(PinentryDialog(query, options: [], seconds: 1))
                    for _ in 0..<accepted { says(dialog, "OK\n") }
                    for byte in piece.utf8 { _ = [byte].withUnsafeBytes { dialog.receive($0) } }
                    #expect(dialog.answer == early, "\(accepted) \(piece)")
                    #expect(dialog.takePassphrase() == nil)
                }
            }
        }
        let dialog = try #require(PinentryDialog(.consent("Allow?"), options: [], seconds: 1))
        says(dialog, "OK\nS status\n# comment\n\n")
        #expect(dialog.answer == nil)
    }

    @Test("A program that has written its answers before any question has not been answered by a person")
    func answersAhead() throws {
        for script in [
            "printf 'OK\\nOK\\nOK\\nOK\\nOK\\nOK\\nOK\\nOK\\n'; cat > /dev/null",
            "echo OK; read line; printf 'OK\\nOK\\n'; cat > /dev/null",
        ] {
            let questions = asking(script)
            #expect(try answer(questions).answer == .failed("pinentry: it answered before it was asked"))
        }
    }

    @Test("A command that pinentry does not know is left out, but the question itself is not")
    func unknownCommands() throws {
        let cases: [(String, PersonAnswer)] = [
            ("SETTITLE", .yes), ("SETDESC", .failed("pinentry: Unknown command")),
        ]
        for (refused, expected) in cases {
            let dialog = try #require(PinentryDialog(.consent("Allow?"), options: [], seconds: 1))
            var line = "OK\n"
            while dialog.answer == nil {
                let told = says(dialog, line)
                line = String(decoding: told, as: UTF8.self).hasPrefix(refused) ? "ERR 275 Unknown command\n" : "OK\n"
            }
            #expect(dialog.answer == expected)
        }
    }

    @Test(
        "A passphrase is decoded exactly, and what is none is refused",
        arguments: [
            ("D pass word\nOK\n", "pass word"), ("D 100%25%0Ax\nD  y\nOK\n", "100%\nx y"), ("D %c3%A4\nOK\n", "ä"),
            ("OK\n", nil), ("D \nOK\n", nil), ("D %2\nOK\n", nil), ("D %zz\nOK\n", nil),
            ("D \(String(repeating: "x", count: 900))\n", nil), ("ERR 83886179 cancelled\n", nil),
        ] as [(String, String?)])
    func passphrases(answer: String, typed: String?) throws {
        let dialog = try #require(PinentryDialog(.passphrase("Open?"), options: [], seconds: 1))
        for _ in 0..<5 { says(dialog, "OK\n") }
        says(dialog, answer)
        dialog.end()
        let passphrase = dialog.takePassphrase()
        #expect(passphrase?.text == typed)
        #expect((dialog.answer == .yes) == (typed != nil))
        #expect(dialog.takePassphrase()?.count ?? 0 == 0)
    }

    @Test("A passphrase that is longer than any is refused before it is kept")
    func endlessPassphrase() throws {
        let dialog = try #require(PinentryDialog(.passphrase("Open?"), options: [], seconds: 1))
        for _ in 0..<5 { says(dialog, "OK\n") }
        let line = Array("D \(String(repeating: "x", count: 512))\n".utf8)
        for count in 1...5 {
            says(dialog, line)
            #expect((dialog.answer == nil) == (count < 5))
        }
        #expect(dialog.answer == .failed("pinentry: the passphrase is too long"))
        #expect(dialog.takePassphrase() == nil)
    }

    @Test("Whatever pinentry says, nothing traps, and there is an answer in the end")
    func randomAnswers() throws {
        let pieces = ["OK", "ERR ", "D ", "S x", "#", "%", "0a", "4", "\n", "\n", " ", "83886179", "\u{0}", "ä", "END"]
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<1000 {
            let query = numbers.next() % 2 == 0 ? PersonQuery.consent("Allow?") : .passphrase("Open?")
            let dialog = try #require(PinentryDialog(query, options: ["a=b"], seconds: 1))
            // It has accepted some commands already.
            for _ in 0...Int(numbers.next() % 6) { says(dialog, "OK\n") }
            for _ in 0..<60 {
                let piece = Array(pieces[Int(numbers.next() % UInt64(pieces.count))].utf8)
                let told = says(dialog, piece)
                #expect(told.isEmpty || told.last == UInt8(ascii: "\n"))
            }
            dialog.end()
            #expect(dialog.answer != nil)
            #expect(dialog.takePassphrase()?.count ?? 0 <= PinentryDialog.longestPassphrase)
        }
    }

    // MARK: the program

    /// Questions that a script answers as pinentry.
    private func asking(_ script: String, starting: Bool = true, ended: @escaping () -> Void = {}) -> Questions {
        let pinentry = Shell.program(script, ended: ended)
        let questions = Questions(AskingPrograms(consent: .pinentry(pinentry), passphrase: pinentry))
        if starting {
            questions.add(.consent("Allow?"), from: client)
            #expect(questions.askNext(now: now) == nil)
        }
        return questions
    }

    private func answer(_ questions: Questions) throws -> Questions.Answered {
        try Wait.until("the answer") {
            questions.readOutput()
            return questions.takeAnswer(now: now)
        }
    }

    private func awaitEnd(_ questions: Questions) throws {
        // The time passes: nobody may wait for what is left.
        var time = now
        try Wait.until("the end of the program") {
            time += 2
            questions.readOutput()
            #expect(questions.takeAnswer(now: time) == nil)
            return questions.nextEnd == nil ? true : nil
        }
    }

    @Test("pinentry's yes and no are the person's, and it is ended after either")
    func answers() throws {
        let cases: [(String, PersonAnswer)] = [
            ("[[ $command != CONFIRM ]] || echo 'S BUTTON_INFO x'", .yes),
            ("[[ $command != CONFIRM ]] || { echo 'ERR 83886179 no'; sleep 1000; }", .no),
        ]
        for (script, expected) in cases {
            let questions = asking(Shell.pinentry(script))
            let answered = try answer(questions)
            #expect(answered.asker == client && answered.answer == expected && answered.passphrase == nil)
            try awaitEnd(questions)
        }
    }

    @Test("A pinentry that dies, or answers anything else, is no answer, and says why")
    func broken() throws {
        for (script, reason) in [
            ("exit 0", "pinentry: it exited without answering"),
            (Shell.pinentry("[[ $command != CONFIRM ]] || kill -9 $$"), "pinentry: it exited without answering"),
            ("echo 'Cannot open display'; cat", "pinentry: its answer does not follow the protocol"),
            ("head -c 100000 /dev/zero; cat", "pinentry: its line is too long"),
            (Shell.pinentry("[[ $command != SETDESC ]] || { echo ERR 38 None; continue; }"), "pinentry: None"),
        ] {
            let questions = asking(script)
            #expect(try answer(questions).answer == .failed(reason))
            try awaitEnd(questions)
        }
    }

    @Test("What pinentry has started ends with it, and its end is told once")
    func group() throws {
        let folder = try Folder()
        let lock = folder.file("lock")
        var ends = 0
        let questions = asking("exec 9> \(lock); flock 9; sleep 1000 & exit 0") { ends += 1 }
        #expect(try answer(questions).answer == .failed("pinentry: it exited without answering"))
        try awaitEnd(questions)
        #expect(ends == 1)
        // Whoever still has the file open holds its lock.
        let descriptor = open(lock, O_RDONLY)
        defer { close(descriptor) }
        try Wait.until("the end of what it has started") { flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? true : nil }
        var abandoned: Questions? = asking("trap '' TERM; echo ready; sleep 1000") { ends += 1 }
        #expect(abandoned?.descriptor != nil)
        abandoned = nil
        #expect(ends == 2)
    }

    @Test("Without an answer in time, or when the client has gone, pinentry is ended")
    func ending() throws {
        let questions = asking(Shell.pinentry("[[ $command != CONFIRM ]] || sleep 1000"))
        #expect(questions.takeAnswer(now: now + Questions.patience - 1) == nil)
        let late = try #require(questions.takeAnswer(now: now + Questions.patience))
        #expect(late.asker == client && late.answer == .late)
        try awaitEnd(questions)
        questions.add(.consent("Allow another?"), from: client)
        #expect(questions.askNext(now: now) == nil)
        questions.forget(now: now) { $0 == client }
        try awaitEnd(questions)
    }

    @Test("After a no, the same question is not asked again at once, and another one is")
    func quiet() throws {
        let no = Shell.pinentry("[[ $command != CONFIRM ]] || { echo ERR 99; continue; }")
        let questions = asking(no)
        #expect(try answer(questions).answer == .no)
        try awaitEnd(questions)
        questions.add(.consent("Allow?"), from: client)
        let last = now + Questions.quiet - 1
        #expect(questions.askNext(now: last)?.answer == .failed("the user refused it a moment ago"))
        questions.add(.consent("Allow another?"), from: client)
        #expect(questions.askNext(now: now + 1) == nil)
        #expect(try answer(questions).answer == .no)
        try awaitEnd(questions)
        questions.add(.consent("Allow?"), from: client)
        #expect(questions.askNext(now: now + Questions.quiet) == nil)
    }

    @Test("One question is asked at a time, and the next one when its program has ended")
    func oneAtATime() throws {
        let questions = asking(Shell.pinentry(":"), starting: false)
        for number in 1...4 { questions.add(.consent("Allow \(number)?"), from: .connection(UInt64(number))) }
        for number in 1...4 {
            #expect(questions.askNext(now: now) == nil)
            let descriptor = questions.descriptor
            #expect(questions.askNext(now: now) == nil && questions.descriptor == descriptor)
            #expect(try answer(questions).asker == .connection(UInt64(number)))
            try awaitEnd(questions)
        }
    }

    @Test("A typed passphrase is gone from memory with the value that holds it")
    func wiping() throws {
        // The script types each letter's successor, so that the passphrase is in no text of this process.
        let source = "gsmiqrbwkzupdnlehcotyfjavx"
        let mask: UInt8 = 0x5A
        let masked = source.utf8.map { ($0 == UInt8(ascii: "z") ? UInt8(ascii: "a") : $0 + 1) ^ mask }
        let typed = "[[ $command != GETPIN ]] || echo \"D $(echo \(source) | tr a-z b-za)\""
        let questions = asking(Shell.pinentry(typed), starting: false)
        questions.add(.passphrase("Open?"), from: client)
        #expect(questions.askNext(now: now) == nil)
        var answered: Questions.Answered? = try answer(questions)
        #expect(answered?.answer == .yes && answered?.passphrase?.count == masked.count)
        let isTyped = answered?.passphrase?.withBytes { bytes in zip(bytes, masked).allSatisfy { $0 == $1 ^ mask } }
        #expect(isTyped == true)
        try awaitEnd(questions)
        answered = nil
        #expect(try OwnMemory.count(masked, mask: mask) == 0)
    }
}
