import Testing
import VaultAge
import VaultCrypto

@Suite("A stanza")
struct StanzaTests {
    @Test("is wrapped at 64 columns, and what is decoded encodes to the same bytes")
    func text() throws {
        for size in [0, 1, 16, 32, 47, 48, 49, 96, 1000] {
            let stanza = try Stanza(type: "test", arguments: ["a", "b"], body: [UInt8](repeating: 7, count: size))
            let text = stanza.encoded
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines[0] == "-> test a b" && lines.last == "")
            #expect(lines.dropFirst().dropLast(2).allSatisfy { $0.count == 64 })
            #expect(lines.dropLast().last.map { $0.count < 64 } == true)
            #expect(try Stanza.decode(text + text) == [stanza, stanza])
        }
    }

    @Test("is refused where it is not in its one form")
    func refusal() throws {
        let line = String(repeating: "A", count: 64)
        let malformed = [
            "", "\n", "->\n\n", "-> \n\n", "->  a\n\n", "-> a \n\n", "-> a  b\n\n", "-> a", "-> a\n", "-> a\nAA",
            "x\n\n",
            "-> a\nAB\n", "-> a\nAA==\n", "-> a\nA\n", "-> a\nA A\n", "-> a\r\n\r\n", "-> a\n\(line)\n",
            "-> a\n\(line)A\n\n", "-> é\n\n", "-> a\n\n\n", "-> a\nAAAAA\n", "-> a\nA-_A\n",
        ]
        for text in malformed {
            #expect(throws: AgeError(.malformedStanza, ""), "\(text.debugDescription)") {
                try Stanza.decode(Array(text.utf8))
            }
        }
    }

    @Test("has at most 64 arguments and 16 KiB, and there are at most 64")
    func caps() throws {
        let one = Array("-> a\n\n".utf8)
        let many = (0..<64).flatMap { _ in one }
        #expect(try Stanza.decode(many).count == 64)
        #expect(throws: AgeError(.tooLarge, "")) { try Stanza.decode(many + one) }
        let arguments = [String](repeating: "a", count: 63)
        #expect(try Stanza.decode(Stanza(type: "a", arguments: arguments, body: []).encoded)[0].arguments == arguments)
        #expect(throws: AgeError(.tooLarge, "")) { try Stanza(type: "a", arguments: arguments + ["a"], body: []) }
        #expect(throws: AgeError(.tooLarge, "")) {
            try Stanza.decode(Array("->\(String(repeating: " a", count: 65))\n\n".utf8))
        }
        #expect(throws: AgeError(.tooLarge, "")) { try Stanza(type: "a", body: [UInt8](repeating: 0, count: 13_000)) }
        for argument in ["", "a b", "é", "a\n"] {
            #expect(throws: AgeError(.malformedStanza, "")) { try Stanza(type: "a", arguments: [argument], body: []) }
        }
    }
}
