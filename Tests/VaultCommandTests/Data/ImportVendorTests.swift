import Foundation
import ImportFuzzing
import Testing
import VaultCommand
import VaultFmt

/// The exports of `Samples/Vendors`: made from what the vendors publish (`SOURCES.md`) by a script that shares nothing
/// with the importer (`Samples/make_vendors.py`), each with a list of what it holds.
@Suite("import: exports made from the vendors' documentation")
struct ImportVendorTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Samples/Vendors")

    static let names: [String] = {
        do { return try index().keys.sorted() } catch { return [] }
    }()

    /// What the script says of each file.
    private static func index() throws -> [String: [String: Any]] {
        try json("INDEX.json")["files"] as? [String: [String: Any]] ?? [:]
    }

    private static func data(_ name: String) throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent(name))
    }

    private static func json(_ name: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: try data(name)) as? [String: Any] ?? [:]
    }

    @Test("every file is there, and is tested")
    func files() throws {
        #expect(Self.names.count == 52)
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        for name in names where name.hasSuffix(".csv") || name.hasSuffix(".json") && !name.hasSuffix(".expected.json") {
            #expect(Self.names.contains(name) || name == "INDEX.json", "\(name)")
        }
    }

    @Test("each entry arrives, in order, with everything that the file says of it", arguments: names)
    func arrives(_ name: String) throws {
        let about = try #require(try Self.index()[name])
        let source = [UInt8](try Self.data(name))
        let passphrase = about["password"] as? String ?? "none"
        var message = ""
        let items = Interchange.items(in: source, format: nil, passphrase: passphrase) { message = $0 }
        // A ZIP archive is unpacked by hand; the message says so.
        guard about["must"] as? String == "import", name != "dashlane.zip" else {
            return #expect(items == nil && !message.isEmpty && !message.contains("\n"), "\(message)")
        }
        let imported = try #require(items, "\(name): \(message)")
        let list = try JSONSerialization.jsonObject(with: try Self.data(name + ".expected.json"))
        let expected = try #require(list as? [[String: Any]])
        #expect(imported.count == expected.count)
        for (item, entry) in zip(imported, expected) {
            let check = VendorEntry(entry, separator: about["folder_separator"] as? String)
            #expect(check.differences(from: item) == [], "\(name): \(entry["title"] ?? "")")
        }
        guard let wrong = about["wrong_password"] as? String else { return }
        #expect(Interchange.items(in: source, format: nil, passphrase: wrong) { message = $0 } == nil)
        #expect(message.contains("the passphrase does not open this Bitwarden export"))
    }

    @Test("a refusal says what is wrong: the account's key, the work asked for, an altered text, a missing salt")
    func refusals() throws {
        for (name, message) in [
            "bitwarden-account-encrypted.json": "only Bitwarden has",
            "bitwarden-huge-kdf.json": "more key derivation than allowed",
            "bitwarden-unknown-kdf.json": "an unknown key derivation",
            "bitwarden-pbkdf2-5000-damaged.json": "the passphrase is correct, but the encrypted data was altered",
            "bitwarden-pbkdf2-5000-no-salt.json": "the salt is missing", "dashlane.zip": "unpack it",
        ] {
            let passphrase = try Self.index()[name]?["password"] as? String ?? "none"
            var said = ""
            _ = Interchange.items(in: [UInt8](try Self.data(name)), format: nil, passphrase: passphrase) { said = $0 }
            #expect(said.contains(message), "\(name)")
        }
    }
}

/// An entry as a list of expected ones has it.
private struct VendorEntry {
    private let entry: [String: Any]
    private let separator: String?

    init(_ entry: [String: Any], separator: String?) {
        self.entry = entry
        self.separator = separator
    }

    private func text(_ name: String) -> String? { entry[name] as? String }

    /// Texts are compared by their bytes: a decomposed name is another one.
    private static func isSame(_ first: String, _ second: String) -> Bool { first.utf8.elementsEqual(second.utf8) }

    /// What an item lacks or has otherwise, a line each.
    func differences(from item: Interchange.Item) -> [String] {
        let attributes = item.attributes
        let secret = String(decoding: item.secret, as: UTF8.self)
        var found: [String] = []
        func check(_ what: String, _ expected: String?, _ actual: String) {
            guard let expected, !Self.isSame(expected, actual) else { return }
            found.append("\(what): \(expected.debugDescription) is \(actual.debugDescription)")
        }
        func attribute(_ name: String) -> String { attributes.string(name) ?? "" }
        // A secure note's text is its secret, and LastPass's notes of a kind are kept as they are.
        let isNote = attribute("description") == "secure note"
        let other = entry["other"] as? [String: Any] ?? [:]
        check("title", text("title"), attribute("label"))
        check("user name", text("username"), item.key.account ?? "")
        if !isNote || text("password")?.isEmpty == false { check("password", text("password"), secret) }
        check("notes", other["raw"] as? String ?? text("notes"), isNote ? secret : attribute("notes"))
        check("folder", text("folder").map(folder), attribute("folder"))
        check("tags", (entry["tags"] as? [String])?.joined(separator: "\n"), attribute("tags"))
        check("favourite", (entry["favourite"] as? Bool).map { $0 ? "1" : "" }, attribute("favorite"))
        check("address", (entry["urls"] as? [String]).map(Self.addresses), Self.addresses(Self.addresses(of: item)))
        checkPassword(attribute("otp"), &found)
        for (name, time) in [("created", item.created), ("modified", item.modified)] {
            if let expected = text(name).flatMap(Self.milliseconds), expected != time { found.append(name) }
        }
        found += missingFields(attributes)
        let history = (entry["history"] as? [[String: String]] ?? []).map { "\($0["date"] ?? "") \($0["value"] ?? "")" }
        let earlier = item.earlier.map { "\(Self.text($0.replaced)) \(String(decoding: $0.secret, as: UTF8.self))" }
        check("history", history.sorted().joined(separator: "\n"), earlier.sorted().joined(separator: "\n"))
        return found + Self.missing(other, in: Self.everything(item))
    }

    private func checkPassword(_ otp: String, _ found: inout [String]) {
        let expected = text("totp") ?? ""
        let isThere =
            switch expected {
            case "": otp.isEmpty
            case _ where expected.hasPrefix("otpauth:"): Self.isSame(expected, otp)
            case _ where expected.hasPrefix("steam://"):
                otp.contains(expected.dropFirst(8)) && otp.hasSuffix("&encoder=steam")
            default: otp.contains("?secret=\(expected.uppercased().filter { $0 != " " })")
            }
        if !isThere { found.append("one-time password: \(expected) is \(otp)") }
    }

    /// Custom fields that the attributes do not have, or not hidden as they should be.
    private func missingFields(_ attributes: Attributes) -> [String] {
        (entry["custom_fields"] as? [[String: Any]] ?? []).compactMap { field in
            let (name, value) = (field["name"] as? String ?? "", field["value"] as? String ?? "")
            let found = attributes.all.first { attribute in
                let isNamed =
                    attribute.name == name || attribute.name == "field:\(name)"
                    || attribute.name.hasPrefix(name.isEmpty ? "field" : "\(name) (")
                return isNamed && attribute.value?.elementsEqual(value.utf8) == true
            }
            guard let found else { return "field \(name)" }
            let isHidden = field["hidden"] as? Bool ?? found.flags.contains(.concealed)
            return found.flags.contains(.concealed) == isHidden ? nil : "field \(name): hidden or not"
        }
    }

    /// Only LastPass has another mark between the names of a path, so that a slash is part of a name.
    private func folder(_ text: String) -> String {
        guard separator == "\\" else { return text }
        let names = text.components(separatedBy: "\\").map { $0.replacingOccurrences(of: "/", with: "\\/") }
        return names.joined(separator: "/")
    }

    /// An address ends with a slash or does not: that is the same.
    private static func addresses(_ list: [String]) -> String {
        list.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }.joined(separator: "\n")
    }

    private static func addresses(of item: Interchange.Item) -> [String] {
        if let text = item.attributes.string("url") { return text.components(separatedBy: "\n") }
        guard let server = item.key.server else { return [] }
        let (scheme, port) = (item.key[.protocol]?.text ?? "", item.key[.port]?.number ?? 0)
        let host = server.contains(":") ? "[\(server)]" : server
        return [
            (scheme.isEmpty ? "" : "\(scheme)://") + host + (port == 0 ? "" : ":\(port)")
                + (item.key[.path]?.text ?? "")
        ]
    }

    /// All texts of an item.
    private static func everything(_ item: Interchange.Item) -> String {
        var texts = [String(decoding: item.secret, as: UTF8.self)]
        for (_, value) in item.key.fields { texts.append(value.text ?? value.number.map(String.init) ?? "") }
        for attribute in item.attributes.all {
            texts += [attribute.name, String(decoding: attribute.value ?? [], as: UTF8.self)]
        }
        return texts.joined(separator: "\n")
    }

    /// What is no content: remarks on a file, several addresses in one cell, and numbers that are written as words.
    private static let remarks: Set<String> = [
        "url_cell", "collections_cell", "in_recycle_bin", "internal", "kind_is_a_guess", "linked_id", "url_match",
        "proton_type", "archived", "reprompt", "url",
    ]

    /// The texts of whatever else a file says of an entry that are nowhere in the item.
    private static func missing(_ value: Any, in all: String, _ path: String = "") -> [String] {
        switch value {
        case let members as [String: Any]:
            // The type of a field is whether it is hidden, which is compared with the field.
            let isField = members["fieldName"] != nil
            let contents = members.filter { !remarks.contains($0.key) && !(isField && $0.key == "type") }
            return contents.flatMap { missing($0.value, in: all, "\(path).\($0.key)") }
        case let list as [Any]: return list.flatMap { missing($0, in: all, path) }
        case let text as String where path.hasSuffix("last_used"):
            return milliseconds(text).map { all.contains(String($0)) } == true ? [] : [path]
        case let text as String: return text.isEmpty || all.contains(text) ? [] : ["\(path): \(text)"]
        default: return []
        }
    }

    private static func milliseconds(_ text: String) -> Int64? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        if text.contains(".") { formatter.formatOptions.insert(.withFractionalSeconds) }
        return formatter.date(from: text).map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    private static func text(_ milliseconds: Int64) -> String {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
    }
}
