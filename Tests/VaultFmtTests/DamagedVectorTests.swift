import TestSupport
import Testing
import VaultBytes

@testable import VaultFmt

/// A damaged vector hides nothing from an owner, and nobody goes on from it.
@Suite("A damaged vector")
struct DamagedVectorTests {
    @Test("leaves secrets and earlier values to be read, and nothing to be changed (R-5.37)")
    func isReadAround() throws {
        let memory = InMemory()
        let key = try ItemKey.genericPassword(service: "s", account: "a")
        do {
            let vault = try memory.create()
            for value in ["first", "second", "third"] { try vault.set(key, secret: Secret(text: value)) }
        }
        var bytes = try memory.bytes()
        let head = Array("vVEC".utf8)
        let starts = bytes.indices.dropLast(head.count).filter { Array(bytes[$0..<$0 + head.count]) == head }
        try #require(!starts.isEmpty)
        for start in starts { bytes[start + Format.bodyStart] ^= 1 }
        memory.files.put("a.vault", bytes)
        let vault = try memory.open()
        let shown = try vault.get(key)?.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        #expect(shown == "third")
        let earlier = try vault.earlierValues(of: key).map { value in
            try vault.open(value).secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(earlier == ["first", "second"])
        #expect(try !vault.verify().isSound)
        #expect(throws: VaultError.self) { try vault.set(key, secret: Secret(text: "fourth")) }
        #expect(throws: VaultError.self) { try vault.forgetEarlierValues(of: key) }
        #expect(memory.files.bytes(of: "a.vault") == bytes)
    }
}
