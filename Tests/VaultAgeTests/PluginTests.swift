import Foundation
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultFmt
import VaultStore

@testable import VaultAge

/// Hears what plugins say, and answers as it was told to.
private final class Person: PluginDialogue {
    let heard = Mutex<[String]>([])
    private let isThere: Bool
    private let agrees: Bool?
    private let line: String?

    init(isThere: Bool = true, agrees: Bool? = nil, line: String? = nil) {
        (self.isThere, self.agrees, self.line) = (isThere, agrees, line)
    }

    func show(_ message: String, from plugin: String) -> Bool {
        heard.withLock { $0.append("\(plugin): \(message)") }
        return isThere
    }

    func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool? {
        heard.withLock { $0.append("\(plugin): \(message) [\(yes)/\(no ?? "")]") }
        return agrees
    }

    func ask(_ message: String, isSecret: Bool, from plugin: String) -> Secret? {
        heard.withLock { $0.append("\(plugin): \(message)\(isSecret ? " (secret)" : "")") }
        return line.map { Secret(text: $0) }
    }
}

/// Programs/age-plugin-trial under the name of one of its behaviours.
private struct Trial {
    let folder: Folder
    let name: String
    let person: Person

    init(_ name: String, _ person: Person = Person()) throws {
        folder = try Folder()
        (self.name, self.person) = (name, person)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("age-plugin-\(name)"), withDestinationPath: Program.ours("age-plugin-trial"))
    }

    func host(withheld: Set<String> = [], patience: Duration = .seconds(600)) -> PluginHost {
        PluginHost(path: folder.path, withheld: withheld, dialogue: person, patience: patience)
    }

    func text(_ prefix: String, _ number: UInt8) -> String {
        let data = Secret(bytes: [UInt8](repeating: number, count: 20))
        return String(decoding: Bech32.encode(prefix: prefix, data).bytes(), as: UTF8.self)
    }

    /// As a user gives it; others have other numbers.
    func recipient(_ number: UInt8 = 1, _ host: PluginHost? = nil) throws -> any Recipient {
        guard case .plugin(let recipient) = try RecipientText(text("age1\(name)", number)) else {
            throw AgeError(.invalidRecipient, "not a plugin's")
        }
        return (host ?? self.host()).recipient(recipient)
    }

    /// What comes of a new file key.
    func wrap() throws -> WrappedFileKey { try recipient().wrap(FileKey.random()) }

    func identity(_ numbers: UInt8..., host: PluginHost? = nil) throws -> any Identity {
        var all: [PluginIdentity] = []
        for number in numbers {
            let secret = Secret(text: text("age-plugin-\(name)-", number).uppercased())
            guard
                case .plugin(let identity) = try secret.withUnsafeBytes({ (text) throws(AgeError) in
                    try IdentityText(text)
                })
            else { throw AgeError(.invalidIdentity, "not a plugin's") }
            all.append(identity)
        }
        let found = (host ?? self.host()).identities(all)
        try #require(found.count == 1)
        return found[0]
    }

    /// A stanza that the plugin would make, if it did nothing else; `plain` makes it.
    static func stanzas(_ key: borrowing FileKey, _ number: UInt8 = 1) throws -> [Stanza] {
        let trial = try Trial("plain")
        // Its folder goes with it.
        return try withExtendedLifetime(trial) { try trial.recipient(number).wrap(key).stanzas }
    }

    var starts: Int { (try? folder.read("starts").count / 5) ?? 0 }

    /// Whether the process that was started last has been ended, and waited for.
    var isEnded: Bool {
        get throws {
            let text = String(decoding: try folder.read("pid"), as: UTF8.self)
            return kill(try #require(pid_t(text)), 0) < 0 && errno == ESRCH
        }
    }
}

/// The error of a call that must fail.
private func thrown(_ call: () throws -> Void) -> AgeError {
    do { try call() } catch { return error as? AgeError ?? AgeError(.malformedStanza, "\(error)") }
    return AgeError(.malformedStanza, "it succeeded")
}

@Suite("A plugin")
struct PluginTests {
    @Test("wraps a file key, unwraps it for several headers in one call, and finds none for another's")
    func plain() throws {
        let trial = try Trial("plain")
        let first = FileKey.random()
        let second = FileKey.random()
        let wrapped = try trial.recipient(1).wrap(first)
        #expect(wrapped.stanzas.map(\.type) == ["trial"] && wrapped.labels.isEmpty)
        let headers = [
            wrapped.stanzas, try trial.recipient(3).wrap(second).stanzas, try trial.recipient(2).wrap(second).stanzas,
        ]
        var found = FoundFileKeys(headers: 3)
        let starts = trial.starts
        try trial.identity(1, 2).unwrap(headers, into: &found)
        #expect(trial.starts == starts + 1)
        let counts = (0..<3).map { found.count(for: $0) }
        #expect(counts == [1, 0, 1])
        let isRight =
            found.key(0, for: 0).secret.equals(first.secret) && found.key(0, for: 2).secret.equals(second.secret)
        #expect(isRight)
        #expect(try trial.isEnded)
    }

    @Test("that works for age works for us, and the other way round")
    func interoperation() throws {
        let trial = try Trial("plain")
        let path = "\(trial.folder.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        try trial.folder.write("text", Array("some text".utf8))
        try trial.folder.write("identity", Array("\(trial.text("age-plugin-plain-", 1).uppercased())\n".utf8))
        let file = trial.folder.file("file")
        try Program.run("age", "-r", trial.recipient().text, "-o", file, trial.folder.file("text"), path: path)
        let theirs = try AgeFile(try trial.folder.read("file"))
        let fileKey = try #require(try trial.identity(1).opened(theirs.stanzas))
        let plain = try theirs.open(try FileKey(Secret(bytes: fileKey))).bytes()
        #expect(plain == Array("some text".utf8))
        let key = FileKey.random()
        try trial.folder.write("ours", try ageFile(try trial.recipient().wrap(key).stanzas, key.secret.bytes(), "ours"))
        let text = try Program.run(
            "age", "-d", "-i", trial.folder.file("identity"), trial.folder.file("ours"), path: path)
        #expect(String(decoding: text, as: UTF8.self) == "ours")
    }

    @Test("makes and opens slots: two with one call; a rotation calls it again, with no identity")
    func slots() throws {
        let trial = try Trial("plain")
        let path = trial.folder.file("v.vault")
        let vault = try Vault.create(
            at: path, factors: try Factors(rawKey: Secret(bytes: [UInt8](repeating: 9, count: 32))))
        for number in [1, 2] as [UInt8] {
            try vault.addSlot(try Factors(external: AgeFactor(recipients: [trial.recipient(number)])))
        }
        func opens(_ number: UInt8) throws -> Int {
            let starts = trial.starts
            _ = try Vault.open(path, factors: try Factors(external: AgeFactor(identities: [trial.identity(number)])))
            return trial.starts - starts
        }
        #expect(try opens(1) == 1)
        #expect(try opens(2) == 1)
        #expect(throws: VaultError.self) { try opens(3) }
        let host = trial.host()
        var rotation = try vault.rotation()
        for slot in try vault.slots() where slot.provider == AgeFactor.name {
            let again = AgeFactor { (text) throws(AgeError) in
                guard case .plugin(let recipient) = text else { return try AgeFactor.native(text) }
                return host.recipient(recipient)
            }
            try rotation.keep(slot.id, madeAgainBy: again)
        }
        let starts = trial.starts
        _ = try rotation.run()
        #expect(trial.starts == starts + 2)
        #expect(try opens(1) == 1)
        #expect(try opens(2) == 1)
    }

    @Test("gives its recipients labels, which keep others out of their slot")
    func labels() throws {
        let trial = try Trial("labels")
        #expect(try trial.wrap().labels == [WrappedFileKey.postQuantum])
        let vault = try Vault.create(
            at: trial.folder.file("v.vault"),
            factors: try Factors(rawKey: Secret(bytes: [UInt8](repeating: 9, count: 32))))
        let mixed = AgeFactor(recipients: [try trial.recipient(), X25519Identity.generate().recipient])
        #expect(throws: VaultError(.invalidArgument, "")) { try vault.addSlot(try Factors(external: mixed)) }
        #expect(mixed.failure?.code == .incompatibleRecipients)
        let same = AgeFactor(recipients: [try trial.recipient(), try HybridIdentity.generate().recipient])
        try vault.addSlot(try Factors(external: same))
    }

    @Test("writes a megabyte to its standard error, and still does its work")
    func noise() throws {
        #expect(try Trial("noisy").wrap().stanzas.count == 1)
    }

    @Test("that does not end after its work is made to, and its result counts")
    func lingering() throws {
        let trial = try Trial("lingers")
        #expect(try trial.wrap().stanzas.count == 1)
        #expect(try trial.isEnded)
    }

    @Test("is found in absolute folders of the path only, if it is a program; the error names it")
    func searching() throws {
        let trial = try Trial("plain")
        let (empty, path) = (try Folder(), trial.folder.path)
        try empty.write("age-plugin-plain", Array("not executable".utf8))
        let folders = try Folder()
        try FileManager.default.createDirectory(
            atPath: folders.file("age-plugin-plain"), withIntermediateDirectories: false)
        func program(_ path: String, _ name: String = "plain") throws -> String {
            try PluginHost(path: path, dialogue: NoDialogue()).program(name)
        }
        #expect(try program("\(empty.path):\(folders.path)::.:\(path)") == "\(path)/age-plugin-plain")
        let missing = thrown { _ = try program("\(empty.path):\(folders.path):.") }
        #expect(missing.code == .noPlugin && missing.detail.contains("'age-plugin-plain'"))
        for name in ["", "../plain", "a/b", "PLAIN", "a b", "é"] {
            #expect(thrown { _ = try program(path, name) }.code == .noPlugin, "\(name)")
        }
    }

    @Test("does not get open descriptors, among which a factor could be")
    func descriptors() throws {
        let trial = try Trial("descriptors")
        let copies = (0..<3).map { _ in dup(0) }
        defer { copies.forEach { close($0) } }
        #expect(thrown { _ = try trial.recipient().wrap(FileKey.random()) }.detail.contains("it has [0, 1, 2]"))
    }

    @Test("does not get the environment variables that are withheld")
    func environment() throws {
        let trial = try Trial("environment")
        let home = ProcessInfo.processInfo.environment["HOME"] ?? "absent"
        for (withheld, value) in [(Set(), home), (Set(["HOME"]), "absent")] {
            let recipient = try trial.recipient(1, trial.host(withheld: withheld))
            #expect(
                thrown { _ = try recipient.wrap(FileKey.random()) }.detail.contains("HOME is \(value) (recipient age1"))
        }
    }
}

@Suite("A plugin that asks")
struct AskingPluginTests {
    private struct Outcome: Equatable {
        var failure: AgeError?
        var heard: [String]
    }

    /// What comes of a plugin with a person, and what the person heard.
    private func unwrap(_ name: String, _ person: Person) throws -> Outcome {
        let key = FileKey.random()
        let stanzas = try Trial.stanzas(key)
        let trial = try Trial(name, person)
        var failed: AgeError?
        do {
            let opened = try trial.identity(1).opened(stanzas)
            #expect(opened == key.secret.bytes())
        } catch let error as AgeError { failed = error }
        #expect(try trial.isEnded)
        return Outcome(failure: failed, heard: person.heard.withLock { $0 })
    }

    @Test("for a confirmation gets the answer; a refusal, or nobody to ask, is 'cancelled' with its reason")
    func confirmation() throws {
        let agreed = try unwrap("confirms", Person(agrees: true))
        #expect(agreed.failure == nil && agreed.heard == ["confirms: Use the card? [Use it/Skip]"])
        for answer in [false, nil] {
            let declined = try unwrap("confirms", Person(agrees: answer)).failure
            #expect(declined?.code == .cancelled)
            #expect(declined?.detail.hasSuffix(": it was not allowed") == true)
        }
        #expect(try unwrap("warns", Person(agrees: true)) == Outcome(heard: ["warns: The card is old. [Go on/]"]))
    }

    @Test("for lines, public and secret, gets them; without one it is 'cancelled'")
    func lines() throws {
        #expect(
            try unwrap("asks", Person(line: "1234"))
                == Outcome(heard: ["asks: Which card?", "asks: PIN of it? (secret)"]))
        #expect(try unwrap("asks", Person()).failure?.code == .cancelled)
        // The plugin's own judgement of a wrong one is not ours.
        #expect(try unwrap("asks", Person(line: "4321")).failure?.code == .noDevice)
    }

    @Test("to touch a device is shown; it hears where that is not possible")
    func messages() throws {
        #expect(try unwrap("shows", Person()) == Outcome(heard: ["shows: Touch it."]))
        let unseen = try unwrap("shows", Person(isThere: false)).failure
        #expect(unseen?.code == .pluginFailed && unseen?.detail.contains("answered ['fail'], not ['ok']") == true)
    }
}

@Suite("A plugin that fails")
struct FailingPluginTests {
    private func wrapping(_ name: String, patience: Duration = .seconds(600)) throws -> AgeError {
        let trial = try Trial(name)
        let recipient = try trial.recipient(1, trial.host(patience: patience))
        let failure = thrown { _ = try recipient.wrap(FileKey.random()) }
        #expect(try trial.isEnded, "\(name)")
        return failure
    }

    private func unwrapping(_ name: String, patience: Duration = .seconds(600), size: Int = 16) throws -> AgeError {
        let trial = try Trial(name)
        let identity = try trial.identity(1, host: trial.host(patience: patience))
        let stanza = try Stanza(type: "other", arguments: ["x"], body: [UInt8](repeating: 1, count: min(size, 12_000)))
        let headers = Array(repeating: [stanza], count: max(1, size / 12_000))
        var found = FoundFileKeys(headers: headers.count)
        var failed = AgeError(.malformedStanza, "it succeeded")
        do throws(AgeError) { try identity.unwrap(headers, into: &found) } catch { failed = error }
        #expect(try trial.isEnded, "\(name)")
        return failed
    }

    @Test(
        "by sending what is no stanza broke the protocol",
        arguments: [
            "no-arrow", "two-spaces", "no-type", "control", "not-ascii", "not-canonical", "padded", "wide", "long-line",
            "long-body", "many-words", "greasy",
        ])
    func malformed(_ name: String) throws {
        for failure in [try wrapping(name), try unwrapping(name)] {
            #expect(failure.code == .pluginFailed)
            #expect(failure.detail.hasPrefix("the age plugin '\(name)' broke the protocol: "), "\(failure.detail)")
        }
    }

    @Test(
        "by a stanza of another file, without a type, or one too many, is refused",
        arguments: ["stanza-index", "stanza-without-type", "two-stanzas", "labels-twice", "nothing"])
    func results(_ name: String) throws {
        let failure = try wrapping(name)
        #expect(
            failure.code == .pluginFailed && failure.detail.contains("returned") || failure.detail.contains("twice"))
    }

    @Test(
        "by a file key of a length other than 16 (R-9.4), or for a header that nobody asked about, is refused",
        arguments: ["key-index", "key-negative", "key-without-index", "key-twice", "key-short", "key-long"])
    func keys(_ name: String) throws {
        let failure = try unwrapping(name)
        #expect(failure.code == .pluginFailed && failure.detail.contains("' returned "), "\(failure.detail)")
    }

    @Test(
        "by asking for a confirmation without words for it is refused",
        arguments: ["confirm-without-words", "confirm-three-words", "confirm-not-base64"])
    func confirmations(_ name: String) throws {
        #expect(try unwrapping(name).detail.hasSuffix("requested a confirmation without specifying the answers"))
    }

    @Test("by talking without end is stopped")
    func chatty() throws {
        let failure = try wrapping("chatty")
        #expect(failure.code == .pluginFailed && failure.detail.hasSuffix("sent too many messages"))
    }

    @Test("by ending too early is reported with its exit code, and what it last said")
    func dying() throws {
        #expect(
            try wrapping("dies").detail.hasSuffix(
                "exited with code 1 before it had finished; its last message was: no such card"))
        #expect(try unwrapping("killed").detail.hasSuffix("was killed by a signal before it had finished"))
        #expect(try unwrapping("halfway").detail.hasSuffix("exited with code 0 before it had finished"))
        // It is gone before all that it is told fits into the pipe; this process survives that.
        #expect(try unwrapping("gone", size: 400_000).detail.hasSuffix("its last message was: cannot start"))
    }

    @Test("by being silent, or by not listening, is ended when patience is", arguments: ["slow", "stubborn"])
    func silence(_ name: String) throws {
        let failure = try wrapping(name, patience: .seconds(3))
        #expect(failure == AgeError(.timedOut, "") && failure.detail.hasSuffix("did not respond for 3 s"))
    }

    @Test("by not listening is ended when patience is")
    func deafness() throws {
        #expect(try unwrapping("deaf", patience: .seconds(3), size: 400_000).code == .timedOut)
    }

    @Test("by its own account is reported in its words, on one line; the first error counts")
    func errors() throws {
        let absent = try unwrapping("no-device")
        #expect(absent.code == .noDevice)
        #expect(absent.detail == "the age plugin 'no-device' reports: insert the card")
        #expect(try wrapping("broken") == AgeError(.pluginFailed, ""))
    }
}
