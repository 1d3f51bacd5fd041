import Foundation
import Testing
import VaultFmt

/// Section 10 of the specification: what a file shows to who has no factor.
@Suite("Without a factor, a file")
struct LeakTests {
    /// What a vault is made of: two that differ here, in what must not be seen, must look the same.
    private struct Words {
        let services: [String]
        let secret: [UInt8]
        let label: String
        let group: String
        let slot: String
        let extra: Int64

        /// Names and texts of equal lengths, secrets of different lengths within one step of padding.
        static let one = Words(
            services: ["alpha.example", "bravo.example", "carol.example"], secret: Array("hunter2-hunter2".utf8),
            label: "the first label",
            group: "group-of-one",
            slot: "slot-one", extra: 1_000_000_000_000)
        static let other = Words(
            services: ["zulu.invalid!", "yank.invalid!", "xray.invalid!"], secret: Array("q".utf8),
            label: "second's inside",
            group: "some-othergrp",
            slot: "slot-two", extra: 1_700_000_000_000)

        var all: [String] {
            services + [label, group, slot, String(decoding: secret, as: UTF8.self)].filter { $0.utf8.count > 4 }
        }
    }

    /// An object as anybody sees it: type, offset, length.
    private struct Shape: Equatable, CustomStringConvertible {
        let type: String
        let offset: Int
        let length: Int
        var description: String { "\(type) of \(length) at \(offset)" }
    }

    private func make(_ words: Words, _ path: String) throws -> [UInt8] {
        var options = CreateOptions()
        options.slotName = words.slot
        let vault = try Vault.create(at: path, factors: Factors(rawKey: Secret(Array(0..<32))), options: options)
        try vault.transaction { (transaction) throws(VaultError) in
            for service in words.services {
                try transaction.add(
                    .genericPassword(service: service, account: "ann", group: words.group),
                    secret: Secret(words.secret),
                    attributes: ["label": words.label, "sealed:seed": "JBSWY3DPEHPK3PXP"], created: words.extra,
                    modified: words.extra)
            }
        }
        let key = try ItemKey.genericPassword(service: words.services[1], account: "ann", group: words.group)
        try vault.set(key, secret: Secret(text: words.label))
        _ = try vault.remove(.genericPassword(service: words.services[2], account: "ann", group: words.group))
        _ = try vault.addSlot(Factors(rawKey: Secret(Array(32..<64))), name: words.slot, grantedGroups: [words.group])
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The objects after the header, found as section 2 says, without a key.
    private func shapes(_ file: [UInt8]) throws -> [Shape] {
        func u32(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << (8 * $1) } }
        var found: [Shape] = []
        var offset = 2 * u32(12)
        while offset + 8 <= file.count {
            if file[offset] == 0 { offset = (offset + 511) / 512 * 512 }
            let length = u32(offset + 4)
            try #require(length >= 208 && offset + length <= file.count)
            found.append(
                Shape(type: String(decoding: file[offset..<offset + 4], as: UTF8.self), offset: offset, length: length))
            offset += length
        }
        return found
    }

    private func count(_ text: String, in file: [UInt8]) -> Int { Data(file).range(of: Data(text.utf8)) == nil ? 0 : 1 }

    @Test(
        "shows no name, text, secret or date, and no length but padded ones: two vaults that differ in these look the same"
    )
    func sameShape() throws {
        let folder = try Folder()
        let files = [try make(.one, folder.file("one")), try make(.other, folder.file("other"))]
        #expect(try shapes(files[0]) == shapes(files[1]))
        #expect(files[0].count == files[1].count)
        for (file, words) in [(files[0], Words.one), (files[1], Words.other)] {
            for word in words.all { #expect(count(word, in: file) == 0, "\(word)") }
            for text in ["ann", "label", "sealed:", "JBSWY3DPEHPK3PXP"] {
                #expect(count(text, in: file) == 0, "\(text)")
            }
        }
        // After the header nothing is the same in both but the heads of frames and the padding.
        let header = try #require(try shapes(files[0]).first?.offset)
        let shown = try Set(shapes(files[0]).flatMap { Array($0.offset..<$0.offset + 8) })
        for offset in header..<files[0].count where files[0][offset] == files[1][offset] && files[0][offset] != 0 {
            // Sealed bytes agree by chance, one in 256, also where a head or padding follows; a run of eight does not.
            guard
                !(offset..<offset + 8).contains(where: {
                    shown.contains($0) || $0 < files[0].count && files[0][$0] == 0
                })
            else {
                continue
            }
            let run = files[0][offset...].prefix(8)
            #expect(run.count < 8 || run != files[1][offset...].prefix(8), "the same bytes at \(offset)")
        }
    }

    @Test("has its records, after a compaction, in an order that says nothing about their names")
    func order() throws {
        // Records whose sizes follow their names: in the order of names, the sizes would rise.
        var rising = 0
        for _ in 0..<8 {
            let folder = try Folder()
            let path = folder.file("a.vault")
            let vault = try Vault.create(at: path, factors: Factors(rawKey: Secret(Array(0..<32))))
            try vault.transaction { (transaction) throws(VaultError) in
                for number in 0..<8 {
                    try transaction.add(
                        .genericPassword(service: "\(number)"), secret: Secret(count: 200 * (number + 1)))
                }
            }
            _ = try vault.compact()
            let lengths = try shapes(Array(Data(contentsOf: URL(fileURLWithPath: path)))).filter { $0.type == "vREC" }
                .map(\.length)
            #expect(lengths.count == 8)
            if lengths == lengths.sorted() { rising += 1 }
        }
        // One in 8! by chance.
        #expect(rising <= 1)
    }
}
