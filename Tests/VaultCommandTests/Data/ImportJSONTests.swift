import Foundation
import Testing

@Suite("import: JSON")
struct ImportJSONTests {
    private func export(_ items: String...) -> String {
        "{\"format\": \"vaultfmt-export\", \"version\": 1, \"items\": [\(items.joined(separator: ","))]}"
    }

    @Test("a source does not unseal an attribute of an item that exists")
    func sealedStays() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "--attribute", "notes=hidden", input: "s".utf8)
        let source = try sandbox.write(
            "source.json",
            """
            {"format": "vaultfmt-export", "version": 2, "items": [{"class": "generic-password", "service": "svc", "secret": "t",
            "attributes": {"notes": {"text": "shown", "flags": []}}}]}
            """.utf8)
        let run = try sandbox.ok("import", source, "--on-duplicate", "replace")
        #expect(run.error.contains("'notes' stays sealed or concealed"))
        #expect(try sandbox.ok("get", "svc").output == "t")
        let list = try sandbox.ok("list", "--json").output
        #expect(list.contains("\"unreadAttributes\": 1") && !list.contains("shown"))
    }

    @Test("what may be left out has the defaults that the schema says")
    func defaults() throws {
        let sandbox = try Sandbox.withVault()
        let text = export(
            #"{"class": "generic-password", "service": "svc", "secret": ""}"#,
            #"{"secret": {"base64": "AP8="}, "class": "internet-password", "server": "s", "port": 443, "created": 0, "modified": "1970-01-01T01:00:01+01:00"}"#
        )
        #expect(try sandbox.ok("import", "-", input: text.utf8).error.contains("imported 2 items"))
        let items = try #require(try sandbox.ok("list", "--json").json() as? [[String: Any]])
        #expect(items[0]["accessible"] as? String == "when-unlocked")
        #expect(items[0]["synchronizable"] as? Bool == false)
        #expect(items[1]["created"] as? String == "1970-01-01T00:00:00.000Z")
        #expect(items[1]["modified"] as? String == "1970-01-01T00:00:01.000Z")
        #expect(try sandbox.ok("get", "svc").bytes == [])
        #expect(try sandbox.ok("get", "s").bytes == [0x00, 0xFF])
    }

    @Test("bad JSON is one line with the byte where it goes wrong, exit 65, and nothing is imported")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        let good = #"{"class": "generic-password", "service": "good", "secret": "x"}"#
        let start = #"{"format": "vaultfmt-export", "version": 1, "items": ["#
        let second = start.utf8.count + good.utf8.count + 1
        let cases: [(String, String)] = [
            ("{", "byte 1: the JSON text ends too early"), ("{} {}", "byte 3: there is extra data after the end"),
            (start + good, "byte \(second - 1): the JSON text ends too early"),
            (start + good + ",]}", "byte \(second): a value is expected here"),
            (start + good + " " + good + "]}", "byte \(second): a comma or ']' is expected here"),
            (start + good + ",{\"class\": \"generic-pass", "the JSON text ends within a string"),
            (start + good + ",{\"class\": [", "the JSON text ends within the value that starts at byte \(second)"),
            (start + good + ",{\"class\" \"x\"}]}", "byte \(second): this is not valid JSON"),
            (start + good + ",17]}", "byte \(second): this is of the wrong type"),
            (start + good + "," + String(repeating: "[", count: 5000), "is nested too deeply"),
            ("{\"version\": 1, \"items\": [\(good)]}", "'format' and 'version' must come before 'items'"),
            ("{\"format\": \"vaultfmt-export\", \"version\": 1}", "this is JSON, but not a vaultfmt export"),
            ("{\"encrypted\": false, \"items\": []}", "the member 'encrypted' is unknown"),
            ("{\"format\": \"other\"}", "'format' is not 'vaultfmt-export'"),
            (export(good).dropLast() + ",\"items\": []}", "'items' is not an array, or occurs twice"),
        ]
        for (text, message) in cases {
            try sandbox.fails(65, message, "import", "--format", "json", "-", input: text.utf8)
        }
        try sandbox.fails(65, "byte 2: this is not JSON", "import", "--format", "json", "-", input: [0xEF, 0xFF])
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("a later version of the export is exit 69")
    func laterVersion() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.fails(
            69, "a newer vaultfmt is needed", "import", "-",
            input: #"{"format": "vaultfmt-export", "version": 3, "items": []}"#.utf8)
    }

    @Test("items with members that are missing, unknown, twice there or of the wrong kind are refused")
    func wrongItems() throws {
        let sandbox = try Sandbox.withVault()
        let cases: [(String, String)] = [
            (#"{"class": "generic-password", "service": "s"}"#, "this lacks 'secret'"),
            (#"{"class": "generic-password", "secret": "x"}"#, "this lacks 'service'"),
            (#"{"class": "password", "secret": "x"}"#, "'class' is not one of the five classes"),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "colour": 1}"#,
                "has the unknown member 'colour'"
            ),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "server": "y"}"#,
                "has the unknown member 'server'"
            ),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "service": "t"}"#,
                "a member occurs twice"
            ),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "attributes": {"a": "1", "a": "2"}}"#,
                "occurs twice"
            ),
            (#"{"class": "generic-password", "service": 1, "secret": "x"}"#, "'service' is of the wrong type"),
            (#"{"class": "generic-password", "service": "s", "secret": 5}"#, "'secret' is of the wrong type"),
            (#"{"class": "generic-password", "service": "s", "secret": {"base64": "?"}}"#, "'secret' is not Base64"),
            (
                #"{"class": "generic-password", "service": "s", "secret": {"hex": "00"}}"#,
                "'secret' has the unknown member 'hex'"
            ),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "accessible": "now"}"#,
                "'accessible' is not an accessibility that this version knows"
            ),
            (
                #"{"class": "generic-password", "service": "s", "secret": "x", "created": "today"}"#,
                "'created' is not an RFC 3339 time"
            ),
            (
                #"{"class": "internet-password", "server": "s", "secret": "x", "port": 4294967296}"#,
                "'port' is not a whole number"
            ),
            (
                #"{"class": "internet-password", "server": "s", "secret": "x", "port": -1}"#,
                "'port' is not a whole number"
            ),
            (
                #"{"class": "certificate", "type": 3, "issuer": "AA==", "serialNumber": "x", "secret": "x"}"#,
                "'serialNumber' is not Base64"
            ),
            (#"{"class": "generic-password", "service": "s", "secret": "\ud800"}"#, "not valid JSON"),
        ]
        for (item, message) in cases {
            let run = try sandbox.fails(65, message, "import", "-", input: export(item).utf8)
            #expect(run.error.contains("vaultfmt: byte "), "\(run.error)")
        }
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("the limits of a vault hold for imports: exit 65, and nothing is imported")
    func limits() throws {
        let sandbox = try Sandbox.withVault()
        let long = String(repeating: "x", count: 4097)
        let item = #"{"class": "generic-password", "service": "\#(long)", "secret": "x"}"#
        try sandbox.fails(65, "the service has 4097 bytes", "import", "-", input: export(item).utf8)
        let attributes = (0..<65).map { "\"a\($0)\": \"\"" }.joined(separator: ",")
        let many = #"{"class": "generic-password", "service": "s", "secret": "x", "attributes": {\#(attributes)}}"#
        try sandbox.fails(65, "at most 64 attributes", "import", "-", input: export(many).utf8)
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("a secret's bytes are in no error message")
    func quiet() throws {
        let sandbox = try Sandbox.withVault()
        for item in [
            #"{"class": "generic-password", "service": "s", "secret": "hunter2"#,
            #"{"class": "generic-password", "service": "s", "secret": hunter2}"#,
            #"{"class": "generic-password", "service": "s", "secret": "hunter2", "hunter": }"#,
        ] {
            let run = try sandbox.run("import", "-", input: export(item).utf8)
            #expect(run.status == 65)
            #expect(!run.error.contains("hunter"))
        }
    }
}
