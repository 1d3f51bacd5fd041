import Foundation
import TestSupport
import Testing

@testable import VaultAgent

@Suite("Asking a person")
struct ConfirmationTests {
    private let client = Questions.Asker.connection(1)
    private let now: UInt64 = 1_000_000

    /// Questions that a shell script answers.
    private func asking(_ script: String) -> Questions {
        let program = AskingProgram.askpass { _, output in try Shell.start(script, output: output) }
        let questions = Questions(AskingPrograms(consent: program))
        questions.add(.consent("Allow?"), from: client)
        #expect(questions.askNext(now: now) == nil)
        return questions
    }

    /// A program that ignores the signal, as its output tells, and so do those that it starts.
    private static let stubborn = "trap '' TERM; echo ready; sleep 1000"

    private func awaitOutput(_ questions: Questions) {
        var polled = pollfd(fd: questions.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        #expect(poll(&polled, 1, 120_000) == 1)
    }

    /// Waits for the answer, as a server does that each event wakes.
    private func answer(_ questions: Questions, now: UInt64? = nil) throws -> Bool {
        try Wait.until("the answer") {
            questions.readOutput()
            return questions.takeAnswer(now: now ?? self.now).map { $0.answer == .yes }
        }
    }

    @Test(
        "Only the exit code 0 with nothing or with 'yes' is a yes",
        arguments: [
            ("true", true), ("echo yes", true), ("printf Yes", true), ("echo", true), ("printf 'YES\\r\\n'", true),
            ("false", false), ("echo no", false), ("echo yes; exit 1", false), ("echo 'yes '", false),
            ("echo; echo", false), ("echo password", false), ("head -c 100000 /dev/zero", false),
            ("kill -TERM $$", false),
        ])
    func answers(script: String, isYes: Bool) throws {
        #expect(try answer(asking(script)) == isYes)
    }

    @Test(
        "A program that crashes, or ends with another code than 1, has failed, which is not a person's no",
        arguments: [
            ("false", false), ("echo no", false), ("echo yes; exit 1", false), ("exit 2", true),
            ("kill -SEGV $$", true),
        ])
    func failures(script: String, hasFailed: Bool) throws {
        let questions = asking(script)
        let answer = try Wait.until("the answer") {
            questions.readOutput()
            return questions.takeAnswer(now: now)?.answer
        }
        let expected: PersonAnswer = hasFailed ? .failed("the program that asks for confirmation has failed") : .no
        #expect(answer == expected)
    }

    @Test("The end of the output is not the answer, and a program that has left the output to another one has answered")
    func ends() throws {
        let questions = asking("exec >&-; sleep 1000 & wait")
        try Wait.until("the end of the output") {
            questions.readOutput()
            return questions.descriptor == nil ? true : nil
        }
        #expect(questions.takeAnswer(now: now) == nil)
        questions.forget(now: now) { $0 == client }
        #expect(try answer(asking("sleep 5 & exit 0")))
    }

    @Test("Questions of ssh's clients come before those of desktop programs, which may be many")
    func order() throws {
        var asked: [String] = []
        let program = AskingProgram.askpass { question, output in
            asked.append(question)
            return try Shell.start("true", output: output)
        }
        let questions = Questions(AskingPrograms(consent: program))
        for number in 1...3 { questions.add(.consent("desktop \(number)"), from: .attached(UInt64(number))) }
        for number in 1...2 { questions.add(.consent("ssh \(number)"), from: client) }
        for _ in 1...5 {
            #expect(questions.askNext(now: now) == nil)
            #expect(try answer(questions))
        }
        #expect(asked == ["ssh 1", "ssh 2", "desktop 1", "desktop 2", "desktop 3"])
    }

    @Test("Without an answer in time, it is no, and a program that does not end is killed")
    func deadline() throws {
        let questions = asking(Self.stubborn)
        awaitOutput(questions)
        #expect(questions.nextEnd == now + Questions.patience)
        #expect(questions.takeAnswer(now: now + Questions.patience - 1) == nil)
        let late = now + Questions.patience
        let denied = try #require(questions.takeAnswer(now: late))
        #expect(denied.asker == client && denied.answer == .late)
        // The next one waits until this program has gone.
        questions.add(.consent("Again?"), from: client)
        #expect(questions.nextEnd == late + Questions.grace)
        #expect(questions.askNext(now: late) == nil)
        #expect(questions.takeAnswer(now: late + Questions.grace) == nil)
        #expect(questions.nextEnd == nil)
        try Wait.until("the end of the program") {
            #expect(questions.takeAnswer(now: late + Questions.grace) == nil)
            _ = questions.askNext(now: late)
            return questions.nextEnd.map { _ in true }
        }
    }

    @Test("What nobody has answered in time is not asked again for those that wait with the same question")
    func lateForAll() throws {
        let questions = asking(Self.stubborn)
        awaitOutput(questions)
        for number in UInt64(2)...3 { questions.add(.consent("Allow?"), from: .connection(number)) }
        questions.add(.consent("Another?"), from: .connection(4))
        let late = now + Questions.patience
        #expect(questions.takeAnswer(now: late)?.answer == .late)
        // At once, although the program has not ended.
        for number in UInt64(2)...3 {
            let answered = try #require(questions.askNext(now: late))
            #expect(answered.asker == .connection(number) && answered.answer == .late)
        }
        #expect(questions.askNext(now: late) == nil)
    }

    @Test("A process with many questions keeps another one waiting for one of them")
    func turns() throws {
        var asked: [String] = []
        let program = AskingProgram.askpass { question, output in
            asked.append(question)
            return try Shell.start("true", output: output)
        }
        let questions = Questions(AskingPrograms(consent: program))
        for number in 1...3 { questions.add(.consent("many \(number)"), from: .connection(UInt64(number)), of: 7) }
        #expect(questions.askNext(now: now) == nil)
        for number in 1...2 { questions.add(.consent("other \(number)"), from: .connection(UInt64(3 + number)), of: 8) }
        #expect(try answer(questions))
        for _ in 1...4 {
            #expect(questions.askNext(now: now) == nil)
            #expect(try answer(questions))
        }
        #expect(asked == ["many 1", "other 1", "many 2", "other 2", "many 3"])
    }

    @Test("The program of a client that has gone is ended, with what it has started")
    func gone() throws {
        let questions = asking("sleep 1000 & echo $!; wait")
        questions.forget(now: now) { $0 == client }
        #expect(questions.nextEnd == now + Questions.grace)
        // The time passes: nobody may wait for what is left.
        var time = now
        try Wait.until("the end of the program") {
            time += 2
            #expect(questions.takeAnswer(now: time) == nil)
            return questions.nextEnd == nil ? true : nil
        }
    }

    @Test(
        "The next question waits until nothing is left of the last program, but not forever",
        arguments: [true, false])
    func rest(isReaped: Bool) throws {
        let folder = try Folder()
        let questions = asking("echo $$ > \(folder.file("pid")); echo ready; exec sleep 1000")
        awaitOutput(questions)
        let program = try #require(Int32(String(decoding: try folder.read("pid"), as: UTF8.self).dropLast()))
        // One of its group that is left until this test waits for it.
        let other = try Shell.start("exec sleep 1000", output: STDERR_FILENO, inGroupOf: program)
        questions.forget(now: now) { $0 == client }
        questions.add(.consent("Again?"), from: .connection(2))
        try Wait.until("the end of the program") {
            #expect(questions.takeAnswer(now: now) == nil)
            return questions.nextEnd != now + Questions.grace ? true : nil
        }
        #expect(questions.nextEnd == now + Questions.restPause)
        #expect(questions.askNext(now: now) == nil && questions.descriptor == nil)
        let last = now + Questions.grace
        #expect(questions.takeAnswer(now: last - 1) == nil)
        #expect(questions.askNext(now: last - 1) == nil && questions.descriptor == nil)
        #expect(questions.nextEnd == last)
        if isReaped { #expect(waitpid(other, nil, 0) == other) }
        #expect(questions.takeAnswer(now: isReaped ? last - 1 : last) == nil)
        #expect(questions.askNext(now: last) == nil && questions.descriptor != nil)
        if !isReaped { #expect(waitpid(other, nil, 0) == other) }
    }

    @Test(
        "What a program has started ends with it, when its client has gone and when the agent ends",
        arguments: [true, false])
    func leftBehind(isAgentGone: Bool) throws {
        let folder = try Folder()
        // The program ends with the signal, and what it has started ignores it.
        var questions: Questions? = asking(
            "trap '' TERM; sleep 1000 >&- & trap - TERM; echo $! > \(folder.file("pid")); echo ready; wait")
        questions.map(awaitOutput)
        let pid = try #require(Int32(String(decoding: try folder.read("pid"), as: UTF8.self).dropLast()))
        if isAgentGone { questions = nil } else { questions?.forget(now: now) { $0 == client } }
        try Wait.until("the end of process \(pid)") {
            _ = questions?.takeAnswer(now: now)
            guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat"), !stat.isEmpty else {
                return true
            }
            return String(decoding: stat, as: UTF8.self).contains(") Z") ? true : nil
        }
    }

    @Test("An agent that ends does not wait for a program that does not")
    func ending() throws {
        let start = ContinuousClock.now
        var questions: Questions? = asking(Self.stubborn)
        questions.map(awaitOutput)
        questions = nil
        #expect(ContinuousClock.now - start < .seconds(60))
    }
}
