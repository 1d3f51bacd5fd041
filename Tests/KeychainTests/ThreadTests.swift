import Foundation
import KeychainAccess
import Testing

extension KeychainTests {
    @Suite("Sixteen threads")
    struct ThreadTests {
        private let used: Used
        private let keychain = Keychain(service: "s")

        init() throws { used = try Used() }

        /// Runs it sixteen times at once, and gives what was thrown.
        private func atOnce(_ body: @escaping @Sendable (Int) throws -> Void) -> [String] {
            let failures = Lines()
            let ended = DispatchSemaphore(value: 0)
            for number in 0..<16 {
                Thread {
                    do { try body(number) } catch { failures.add("\(error): \(Keychain.lastFailure ?? "")") }
                    ended.signal()
                }.start()
            }
            for _ in 0..<16 { ended.wait() }
            return failures.all
        }

        @Test("may use one Keychain: nothing is lost, and nobody sees another's value")
        func ownKeys() throws {
            let keychain = keychain
            let failures = atOnce { number in
                for round in 0..<10 {
                    try keychain.set("\(number) \(round)", key: "k\(number)")
                    guard try keychain.get("k\(number)") == "\(number) \(round)" else { throw Status.unexpectedError }
                    guard try keychain.contains("k\(number)"), keychain.allKeys().contains("k\(number)") else {
                        throw Status.itemNotFound
                    }
                    if round % 4 == 3 { try keychain.remove("k\(number)") }
                }
            }
            #expect(failures.isEmpty)
            #expect(Set(keychain.allKeys()) == Set((0..<16).map { "k\($0)" }))
            for number in 0..<16 { #expect(try keychain.get("k\(number)") == "\(number) 9") }
            #expect(try used.vault.verify().isSound)
        }

        @Test("may set the same key: there is one item, with one of their values")
        func sameKey() throws {
            let keychain = keychain
            let failures = atOnce { number in
                for _ in 0..<10 {
                    try keychain.set("\(number)", key: "shared")
                    guard let value = try keychain.get("shared"), Int(value) != nil else {
                        throw Status.unexpectedError
                    }
                }
            }
            #expect(failures.isEmpty && keychain.allKeys() == ["shared"])
        }

        @Test("may read while one writes, and see the old value or the new")
        func readers() throws {
            let keychain = keychain
            let values = Set((0...40).map { String(repeating: "\($0) ", count: 400) })
            try keychain.set(String(repeating: "0 ", count: 400), key: "k")
            let failures = atOnce { number in
                for round in 1...40 {
                    if number == 0 { try keychain.set(String(repeating: "\(round) ", count: 400), key: "k") }
                    guard let value = try keychain.get("k"), values.contains(value) else {
                        throw Status.unexpectedError
                    }
                }
            }
            #expect(failures.isEmpty)
            #expect(try keychain.get("k") == String(repeating: "40 ", count: 400))
        }
    }
}
