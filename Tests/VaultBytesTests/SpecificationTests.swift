import Testing
import VaultBytes

#if canImport(Glibc)
    import Glibc
#endif

/// What the code states as constants is what Spec/vaultfmt-1.md states.
@Suite("The specification")
struct SpecificationTests {
    private static func lines(_ path: String) throws -> [Substring] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(root)/\(path)", "rb"), "\(path) cannot be read")
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&part, 1, part.count, file)
            if count == 0 { break }
            bytes += part[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// All labels that are quoted in some lines.
    private static func labels(_ lines: some Sequence<Substring>, quote: Character) -> Set<Substring> {
        var found: Set<Substring> = []
        for line in lines {
            for part in line.split(separator: quote, omittingEmptySubsequences: false)
            where part.hasPrefix("vaultfmt-1 ") {
                found.insert(part)
            }
        }
        return found
    }

    @Test("has the labels of the code, and no others")
    func labels() throws {
        let page = try Self.lines("Spec/vaultfmt-1.md")
        let table = page.drop { !$0.hasPrefix("## 4.") }.prefix { !$0.hasPrefix("## 5.") }
        let stated = Self.labels(page, quote: "\"").union(Self.labels(table.filter { $0.hasPrefix("|") }, quote: "`"))
        let code = Self.labels(try Self.lines("Sources/VaultBytes/Coding/Format.swift"), quote: "\"")
        #expect(stated.subtracting(code).isEmpty && code.subtracting(stated).isEmpty)
        #expect(code.count == 30)
    }

    /// A row of section 11 in the words of the page, and what the code says.
    private static let limits: [(what: String, least: Int?, greatest: Int?)] = [
        ("file", 2 * Format.headerStep + 1024, Int(Format.Limit.fileSize)),
        ("header", Format.headerStep, Format.Limit.headerSize),
        ("slots", 1, Format.Limit.slots), ("slot", 272, Format.Limit.slotSize),
        ("slot parameters", 0, Format.Limit.slotParameters),
        ("owner part of a slot", Format.Limit.ownerPart.lowerBound, Format.Limit.ownerPart.upperBound),
        ("slot name", 0, Format.Limit.slotName), ("groups granted to a slot", 0, Format.Limit.grantedGroups),
        ("name of a provider", 1, Format.Limit.providerName),
        ("parameters, and owners' data, of a provider", 0, Format.Limit.providerParameters),
        ("parameters, and owners' data, of a provider", 0, Format.Limit.providerData),
        ("candidates tried for an external key of a slot", 0, Format.Limit.candidates),
        ("passphrase", 1, Format.Limit.passphrase),
        ("key file that is not a generated one", 1, Format.Limit.keyFile),
        ("extensions (each of header and keyring)", 0, Format.Limit.extensions),
        ("extension name", 1, Format.Limit.extensionName),
        ("extension value", 0, Format.Limit.extensionValue),
        ("record frame, and one of the reserved type vCHK", Format.recordOverhead + 128, Format.Limit.recordFrame),
        ("secret", 0, Format.Limit.secret), ("attributes of an item", 0, Format.Limit.attributes),
        ("attribute name", 1, Format.Limit.attributeName), ("attribute value", 0, Format.Limit.attributeValue),
        ("item key", 4, Format.Limit.itemKey), ("page key", 4, Format.Limit.pageKey),
        ("text or bytes field", 0, Format.Limit.field),
        ("page frame", Format.pageStep, Format.Limit.pageFrame), ("entries of a leaf", 1, Format.Limit.pageEntries),
        ("separators of an inner page", 0, Format.Limit.pageEntries),
        ("tree height (levels)", 0, Int(Format.Limit.level) + 1),
        ("further dots in an entry", 1, Format.Limit.fieldDots),
        ("past frame", Format.pageStep, Format.Limit.pastFrame), ("values in a past", 1, Format.Limit.pastValues),
        ("siblings listed in a past", 0, Format.Limit.siblings), ("dots in a past", 1, Format.Limit.pastDots),
        ("earlier values kept for each field (the setting)", 0, Format.Limit.earlierValues),
        ("keyring frame", Format.pageStep, Format.Limit.keyringFrame),
        ("group number, compartment number", 1, Int(Format.Limit.number)), ("groups", 0, Format.Limit.groups),
        ("access group's name", 0, Format.Limit.field),
        ("compartments", 0, Format.Limit.compartments),
        ("hand-overs", 0, Format.Limit.handOvers), ("vector frame", Format.pageStep, Format.Limit.vectorFrame),
        ("rows of a vector", 1, Format.Limit.rows),
        ("changed and further rows of a vector frame with a base", 1, Format.Limit.rowsOnBase),
        ("replica id", 1, Int.max), ("commit frame", Format.commitSize, Format.commitSize),
        ("reserve after the newest commit", 0, Int(Format.Limit.reserve)),
        ("heads that do not open, in the search", 0, Format.searchedHeads - 1),
        ("generation, revision, clock", 1, Int(Format.Limit.number)), ("floor", 0, Int(Format.Limit.number)),
        ("time", Int(Format.Limit.time.lowerBound), Int(Format.Limit.time.upperBound)),
    ]

    /// A number of the table: digits with commas, a power of two (less one), or a multiple of KiB or MiB; only its
    /// first part.
    private static func number(_ cell: Substring) throws -> Int {
        let words = try #require(cell.split(separator: ";").first).split(separator: " ")
        let text = try #require(words.first).filter { $0 != "," }
        if let power = text.split(separator: "^").dropFirst().first {
            let exponent = try #require(Int(power))
            let isLess = words.count > 1 && words[1] == "−"
            // 2^63 itself does not fit.
            // The greatest replica id fits only into 64 bits without a sign, and stands for the greatest number with one.
            guard exponent < 64 else { return Int.max }
            let value = isLess ? 1 << (exponent - 1) - 1 + 1 << (exponent - 1) : 1 << exponent
            return text.hasPrefix("−") ? -value : value
        }
        let unit = words.contains("MiB") ? 1 << 20 : words.contains("KiB") ? 1 << 10 : 1
        return try #require(Int(text), "\(cell)") * unit
    }

    @Test("has the limits of the code, and no others (section 11)")
    func table() throws {
        let section = try Self.lines("Spec/vaultfmt-1.md").drop { !$0.hasPrefix("## 11.") }.prefix {
            !$0.hasPrefix("## 12.")
        }
        let rows = section.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| what") }
        #expect(Set(Self.limits.map(\.what)).count == rows.count)
        for row in rows {
            let cells = row.split(separator: "|").map { cell in cell.drop { $0 == " " } }
            let what = try #require(cells.first).split(separator: " ").joined(separator: " ")
            let known = Self.limits.filter { $0.what == what }
            #expect(!known.isEmpty, "the code has no limit for: \(what)")
            for limit in known {
                #expect(try Self.number(cells[1]) == limit.least, "\(what)")
                #expect(try Self.number(cells[2]) == limit.greatest, "\(what)")
            }
        }
    }

    @Test("states the limits of attributes' places in the row of their values")
    func attributePlaces() throws {
        let row = try #require(try Self.lines("Spec/vaultfmt-1.md").first { $0.hasPrefix("| attribute value") })
        #expect(
            row.contains(
                "\(Format.Limit.attributeInPage) bytes in a page, \(Format.Limit.attributeInItemRecord) in an item's record"
            ))
    }

    @Test("states the numbers that bound the search and the writing of commits (sections 7.1 and 7.4)")
    func commits() throws {
        let page = try Self.lines("Spec/vaultfmt-1.md").joined(separator: "\n")
        for text in [
            "minus \(grouped(Format.searchBound)) (2^28 + 1024)",
            "append more than \(grouped(Format.mostAppended)) bytes",
            "is \(grouped(Format.smallCommit)) bytes or less", "when \(Format.searchedHeads) heads have failed to open",
            "Core, \(Format.commitCoreSize) bytes", "offset 2^48",
            "after \(grouped(UInt64(Format.revisionsOfID))) revisions under one",
            "random number from 0 to \(grouped(Format.revisionSpread - 1))",
            "pages of at most \(Format.pageTarget) bytes", "more than four children",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(
            Format.lockOffset == 1 << 48 && Format.leastChildren == 4)
    }

    private func grouped(_ number: UInt64) -> String {
        var digits = Array(String(number))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return String(digits)
    }
}
