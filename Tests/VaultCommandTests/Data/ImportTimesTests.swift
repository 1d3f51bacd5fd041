import Foundation
import Testing

/// Times that other programs state, and rows that they repeat.
@Suite("import: times of every year, and rows that are repeated")
struct ImportTimesTests {
    @Test(
        "a time before 1970 or in the future is kept as it is, and the same source changes nothing again",
        arguments: [
            // What .NET writes for "never".
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("1500-03-01T12:30:15.25+02:00", "1500-03-01T10:30:15.250Z"),
            // A day that the calendar of some countries skipped.
            ("1582-10-10T00:00:00Z", "1582-10-10T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("2099-02-28T23:30:00-01:00", "2099-03-01T00:30:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ])
    func kept(_ stated: String, _ kept: String) throws {
        let sandbox = try Sandbox.withVault()
        let item = """
            {"id": "1", "type": 1, "name": "svc", "creationDate": "\(stated)", "revisionDate": "\(stated)", \
            "login": {"username": "u", "password": "p"}}
            """
        let source = try sandbox.write("source.json", #"{"encrypted": false, "items": [\#(item)]}"#.utf8)
        try sandbox.ok("import", source)
        try Self.requireTimes(kept, in: sandbox)
        #expect(try sandbox.ok("import", source, "--on-duplicate", "update-newer").error.contains("1 unchanged"))
        // Through our own export, too.
        let other = try Sandbox.withVault()
        try other.ok("import", try other.write("export.json", try sandbox.ok("export").bytes))
        try Self.requireTimes(kept, in: other)
    }

    private static func requireTimes(_ time: String, in sandbox: Sandbox) throws {
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(items.count == 1)
        #expect(items.first?["created"] as? String == time && items.first?["modified"] as? String == time)
    }

    @Test(
        "a time that no item can have is left out and named, and the item is imported",
        arguments: [
            "2026-02-30T00:00:00Z", "2026-01-01", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "yesterday",
        ])
    func impossible(_ stated: String) throws {
        let sandbox = try Sandbox.withVault()
        let item = #"{"id": "1", "type": 1, "name": "svc", "revisionDate": "\#(stated)", "login": {"password": "p"}}"#
        let source = try sandbox.write("source.json", #"{"encrypted": false, "items": [\#(item)]}"#.utf8)
        let run = try sandbox.run("import", source)
        #expect(run.status == 3 && run.error.contains("its revision date cannot be read"), "\(run.error)")
        #expect(try sandbox.ok("get", "svc").output == "p")
    }

    @Test("rows that are repeated are copies of the first, with every policy, and the numbers add up to the rows")
    func repeated() throws {
        let rows = "title,username,password\na,u,1\na,u,1\na,u,1\na,u,2\na,u,2\nb,,\n,,\nb,,\n"
        let outcomes = ["skip": "skipped", "replace": "replaced", "keep-both": "keptBoth", "update-newer": "unchanged"]
        for (policy, outcome) in outcomes {
            let sandbox = try Sandbox.withVault()
            let source = try sandbox.write("rows.csv", rows.utf8)
            try sandbox.ok("import", source)
            let run = try sandbox.ok("import", source, "--json", "--on-duplicate", policy)
            let counts = try #require(try run.json() as? [String: Any]).compactMapValues { $0 as? Int }
            #expect(counts["entries"] == 8 && counts["copies"] == 4 && counts["omitted"] == 1, "\(policy): \(counts)")
            #expect(counts[outcome] == 3, "\(policy): \(counts)")
            let others = counts.filter { !["entries", "copies", "omitted", outcome].contains($0.key) }
            #expect(others.values.allSatisfy { $0 == 0 }, "\(policy): \(counts)")
        }
    }
}
