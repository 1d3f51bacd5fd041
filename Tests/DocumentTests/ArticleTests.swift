import Foundation
import Testing
import VaultFmt

/// The code of the articles in Sources/VaultFmt/VaultFmt.docc, word for word, run in the order of the page.
@Suite("The articles")
struct ArticleTests {
    private let folder: Folder
    private let path: String

    init() throws {
        folder = try Folder()
        path = folder.file("a.vault")
    }

    @Test("on the first vault do what they say")
    func firstVault() throws {
        let factors = try Factors(passphrase: Secret(text: "correct horse battery staple"))
        let vault = try Vault.create(at: path, factors: factors)
        let key = try ItemKey.genericPassword(service: "example.org", account: "ann")
        try vault.add(key, secret: Secret(text: "s3cret"), attributes: ["label": "Example"])
        if let opened = try vault.get(key) {
            opened.secret.withUnsafeBytes { bytes in print("the secret has \(bytes.count) bytes") }
        }
        var items = try vault.items(matching: Query([.service: "example.org"]))
        while let item = try items.next() { print(item.key.account ?? "", item.attributes.label ?? "") }
        var options = OpenOptions()
        options.writable = true
        let again = try Vault.open(path, factors: factors, options: options)
        #expect(try again.item(key)?.attributes.label == "Example")
    }

    @Test("on transactions do what they say")
    func transactions() throws {
        let vault = try Vault.create(at: path, factors: Factors(rawKey: Secret.random(count: 32)))
        let old = try ItemKey.genericPassword(service: "example.org", account: "ann")
        let new = try ItemKey.genericPassword(service: "example.org", account: "anna")
        try vault.add(old, secret: Secret(text: "s3cret"))
        let generation = vault.state.generation
        try vault.transaction { transaction throws(VaultError) in
            try transaction.move(old, to: new)
            try transaction.set(new, secret: Secret(text: "another secret"))
        }
        #expect(vault.state.generation == generation + 1)
        let known = try #require(try vault.item(new))
        let isReplaced = try vault.transaction { transaction throws(VaultError) in
            guard let item = try transaction.item(new), item.revision == known.revision else { return false }
            try transaction.set(new, secret: Secret(text: "a third"))
            return true
        }
        #expect(isReplaced)
    }

    @Test("on slots and scopes do what they say")
    func slots() throws {
        let factors = try Factors(rawKey: Secret.random(count: 32))
        let vault = try Vault.create(at: path, factors: factors)
        let backup = try vault.addSlot(Factors(keyFile: KeyFile(contents: KeyFile.generate())), name: "backup")
        let runner = try vault.addSlot(
            Factors(rawKey: Secret.random(count: 32)), name: "CI runner", grantedGroups: ["ci"], createsGroups: true)
        #expect(try vault.slots().map(\.id).suffix(2) == [backup.id, runner.id])
        _ = try vault.removeSlot(runner.id)
        var rotation = try vault.rotation()
        _ = try rotation.keep(factors)
        let report = try rotation.run()
        print("\(report.dropped.count) slots were dropped")
        #expect(report.dropped.map(\.name) == ["backup"])
    }

    @Test("on errors do what they say")
    func errors() throws {
        let factors = try Factors(rawKey: Secret.random(count: 32))
        do {
            _ = try Vault.open(path, factors: factors)
        } catch {
            switch error.code {
            case .noSlotOpens: print("wrong passphrase or key file")
            case .noSuchFile: print("there is no vault here")
            default: print(error)
            }
        }
    }

    @Test(
        "show the code that is compiled and run here",
        arguments: ["FirstVault", "Transactions", "SlotsAndScopes", "Errors"])
    func code(_ article: String) throws {
        let code = try String(contentsOfFile: #filePath, encoding: .utf8)
        let page = Readers.root.appendingPathComponent("Sources/VaultFmt/VaultFmt.docc/\(article).md")
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
        #expect(!blocks.isEmpty)
        for block in blocks {
            let lines = block.prefix(upTo: try #require(block.range(of: "```")).lowerBound).split(separator: "\n")
            let indented = lines.map { "        \($0)\n" }.joined()
            #expect(code.contains(indented), "\(article): \(lines.first ?? "")")
        }
    }
}
