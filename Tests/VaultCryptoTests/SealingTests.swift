import Testing
import VaultBytes
import VaultCrypto

@Suite("Sealing")
final class SealingTests {
    private let sealing = Sealing(vault: Bytes16(high: 1, low: 2), random: .system)
    private let key = Secret(bytes: [UInt8](repeating: 1, count: 32))
    private let locator = Secret(bytes: [UInt8](repeating: 2, count: 32))
    private let identity = Sealing.RecordIdentity(item: Bytes16(high: 3, low: 4), revision: 5, compartment: 6)

    private func sealed(_ body: [UInt8], _ kind: Sealing.Placed, at offset: UInt64, head: UInt64 = 99) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: body.count + 48)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes { sealing.seal($0, as: kind, at: offset, head: head, key: key, into: frame) }
        }
        return frame
    }

    private func opens(_ frame: [UInt8], _ kind: Sealing.Placed, at offset: UInt64, in sealing: Sealing? = nil)
        -> [UInt8]?
    {
        var out = [UInt8](repeating: 0, count: frame.count - 48)
        var isOpen = true
        out.withUnsafeMutableBytes { out in
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try (sealing ?? self.sealing).open(frame, as: kind, at: offset, key: key, into: out)
                } catch {
                    isOpen = false
                }
            }
        }
        return isOpen ? out : nil
    }

    private func record(_ body: [UInt8]) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: body.count + 80)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                sealing.sealRecord($0, identity, head: 7, key: key, locatorKey: locator, into: frame)
            }
        }
        return frame
    }

    private func opensRecord(_ frame: [UInt8], _ identity: Sealing.RecordIdentity, in sealing: Sealing? = nil)
        -> [UInt8]?
    {
        var out = [UInt8](repeating: 0, count: frame.count - 80)
        var isOpen = true
        out.withUnsafeMutableBytes { out in
            frame.withUnsafeBytes { frame in
                do throws(CryptoError) {
                    try (sealing ?? self.sealing).openRecord(frame, identity, key: key, into: out)
                } catch {
                    isOpen = false
                }
            }
        }
        return isOpen ? out : nil
    }

    @Test("of index objects is bound to kind, offset, vault and the frame's head (section 4)")
    func placed() {
        let body = (0..<80).map { UInt8($0) }
        let kinds: [Sealing.Placed] = [.page, .past, .keyring, .vector, .commit]
        for kind in kinds {
            let frame = sealed(body, kind, at: 4096)
            #expect(opens(frame, kind, at: 4096) == body)
            #expect(opens(frame, kind, at: 4097) == nil)
            for other in kinds where "\(other)" != "\(kind)" { #expect(opens(frame, other, at: 4096) == nil) }
            #expect(opens(frame, kind, at: 4096, in: Sealing(vault: Bytes16(high: 1, low: 3), random: .system)) == nil)
            for index in frame.indices {
                var bad = frame
                bad[index] ^= 4
                #expect(opens(bad, kind, at: 4096) == nil)
            }
        }
    }

    @Test("of records is bound to item, revision, compartment, vault and head, and to no offset (section 4)")
    func records() {
        let body = (0..<128).map { UInt8($0) }
        let frame = record(body)
        #expect(opensRecord(frame, identity) == body)
        for other in [
            Sealing.RecordIdentity(item: Bytes16(high: 3, low: 5), revision: 5, compartment: 6),
            .init(item: Bytes16(high: 2, low: 4), revision: 5, compartment: 6),
            .init(item: Bytes16(high: 3, low: 4), revision: 6, compartment: 6),
            .init(item: Bytes16(high: 3, low: 4), revision: 5, compartment: 7),
        ] { #expect(opensRecord(frame, other) == nil) }
        #expect(opensRecord(frame, identity, in: Sealing(vault: Bytes16(high: 2, low: 2), random: .system)) == nil)
        for index in frame.indices {
            var bad = frame
            bad[index] ^= 4
            // The locator is not authenticated: it only says what to try.
            #expect((opensRecord(bad, identity) == nil) == !(32..<64).contains(index))
        }
    }

    @Test("tells from a record's locator what to open it as, under the locator key only")
    func locators() {
        let frame = record([UInt8](repeating: 0, count: 128))
        let claimed = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: locator) }
        #expect(claimed.item == identity.item && claimed.revision == 5 && claimed.compartment == 6)
        let other = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: key) }
        #expect(other.item != identity.item)
        var moved = frame
        moved.withUnsafeMutableBytes { sealing.relocate($0, from: locator, to: key) }
        let again = moved.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: key) }
        #expect(again.item == identity.item && again.revision == 5 && again.compartment == 6)
        #expect(opensRecord(moved, identity) != nil)
    }

    @Test("gives what the specification's formulas give (sections 4 and 5.1)")
    func formulas() throws {
        let head: [UInt8] = [7, 0, 0, 0, 0, 0, 0, 0]
        let vault = Bytes16(high: 1, low: 2).bytes
        for (kind, label) in [
            (.page, "page"), (.past, "past"), (.keyring, "keyring"), (.vector, "vector"), (.commit, "commit"),
        ] as [(Sealing.Placed, String)] {
            let frame = sealed([1, 2, 3], kind, at: 0x0102, head: 7)
            #expect(Array(frame[..<8]) == head)
            let data = Bound.label("vaultfmt-1 \(label)") + vault + [2, 1, 0, 0, 0, 0, 0, 0] + head
            #expect(try AEAD.unwrap(Array(frame[8...]), data, key: key).array == [1, 2, 3])
        }
        let frame = record([UInt8](repeating: 8, count: 128))
        let numbers: [UInt8] = [6, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
        let identity = Bytes16(high: 3, low: 4).bytes + numbers
        let data = Bound.label("vaultfmt-1 record") + vault + identity + head
        #expect(Array(frame[..<8]) == head)
        #expect(
            try AEAD.unwrap(Array(frame[8..<32]) + frame[64...], data, key: key).array
                == [UInt8](repeating: 8, count: 128))
        let mask = locator.derive("vaultfmt-1 locator mask", Array(frame[8..<32])).array
        #expect(zip(frame[32..<64], mask).map { $0 ^ $1 } == identity)
    }

    @Test("takes a new nonce for each frame")
    func nonces() {
        let frames = (0..<50).map { _ in sealed([1, 2, 3], .page, at: 0)[8..<32] }
        #expect(Set(frames).count == 50)
    }
}

extension Bound {
    /// `str8 label`.
    static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}
