import TestSupport
import Testing
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Earlier values in a merge, and base values that cannot be read.
@Suite("A merge of earlier values")
struct MergeVersionsTests {
    private func key(_ account: String) throws -> ItemKey { try .genericPassword(service: "s", account: account) }

    private func copies(kept: Int) throws -> Copies {
        try Copies(kept: kept) { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: ["label": "0"])
        }
    }

    @Test("unites earlier values by revision and device, and keeps the greatest (R-8.6)")
    func versions() throws {
        let copies = try copies(kept: 3)
        for (vault, secrets) in [(copies.ours, ["1", "2"]), (copies.theirs, ["3", "4"])] {
            for secret in secrets { try vault.put(try key("a"), secret) }
            copies.tick()
        }
        try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "4"])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["1", "2", "3"])
    }

    @Test("keeps both values of one revision, which machines without a device id can make (R-8.6)")
    func versionsOfOneRevision() throws {
        let copies = try copies(kept: 5)
        // At one moment.
        try copies.ours.put(try key("a"), "x")
        try copies.theirs.put(try key("a"), "y")
        copies.tick()
        try copies.ours.put(try key("a"), "ours")
        copies.tick()
        try copies.theirs.put(try key("a"), "theirs")
        try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "theirs"])
        let earlier = try copies.ours.earlierSecrets(of: try key("a"))
        let toSettle = try copies.ours.conflict(in: try key("a"))?.values.map {
            String(decoding: $0.value.array, as: UTF8.self)
        }
        #expect(earlier.contains("0") && earlier.contains("ours") && earlier.contains("x") != earlier.contains("y"))
        #expect(toSettle?.contains("x") == earlier.contains("y") && toSettle?.contains("y") == earlier.contains("x"))
    }

    @Test("keeps earlier values earlier where an item was removed, and kept for an older change (R-5.13)")
    func olderChange() throws {
        let copies = try copies(kept: 5)
        let third = try copies.fork("ours", to: "third")
        try third.put(try key("a"), "older")
        copies.tick()
        for secret in ["1", "2"] { try copies.theirs.put(try key("a"), secret) }
        #expect(try copies.ours.merge(copies.theirs).outcome == .theirs)
        try copies.ours.remove(try key("a"))
        #expect(try copies.ours.merge(third).notes == [.keptAgainstRemoval(key("a"))])
        try copies.theirs.put(try key("b"), "b")
        try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "older", try key("b"): "b"])
        #expect(try copies.ours.earlierSecrets(of: try key("a")).contains("1"))
    }

    @Test("goes on without a base whose record is damaged, and keeps both values")
    func damagedBase() throws {
        let copies = try copies(kept: 0)
        let record = try #require(try copies.ours.item(try key("a"))).entry.own.record
        try copies.ours.put(try key("a"), "ours")
        try copies.ours.update(try key("a"), attributes: setting(["label": "ours"]))
        copies.tick()
        try copies.theirs.put(try key("a"), "theirs")
        var vaults: [Vault] = []
        for name in ["ours", "theirs"] {
            var bytes = try copies.memory.bytes(name)
            bytes[Int(record.offset) + record.length / 2] ^= 1
            copies.memory.files.put("damaged-\(name)", bytes)
            vaults.append(try copies.memory.open("damaged-\(name)"))
        }
        let report = try vaults[0].merge(vaults[1])
        #expect(report.outcome == .merged)
        #expect(try vaults[0].toSettle(try key("a")) == [.secret: "ours", .attribute("label"): "ours"])
    }
}
