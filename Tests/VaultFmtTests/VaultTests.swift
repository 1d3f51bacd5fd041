import Testing
import VaultFmt

@Suite("A vault")
struct VaultTests {
    @Test("gives back what was put in, also after reopening")
    func roundTrip() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(try password("mail", "ann"), secret: Secret(text: "s3cret"), attributes: ["label": "Mail"])
        try vault.add(try password("mail", "bob"), secret: Secret(text: ""))
        #expect(try vault.text(try password("mail", "ann")) == "s3cret")
        let again = try Fast.open(path)
        #expect(try again.text(try password("mail", "ann")) == "s3cret")
        #expect(try again.text(try password("mail", "bob")) == "")
        #expect(try again.item(try password("mail", "ann"))?.attributes.label == "Mail")
        #expect(try again.allItems().map(\.key.account) == ["ann", "bob"])
        let report = try again.verify()
        #expect(report.isSound, "\(report.problems)")
    }

    @Test("keeps ten thousand items in order, and what is not removed")
    func many() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<10_000 {
                let key = try ItemKey.genericPassword(service: "service-\(number % 97)", account: "user\(number)")
                try transaction.add(key, secret: Secret(text: "secret \(number)"))
            }
        }
        #expect(try vault.allItems().count == 10_000)
        #expect(try vault.allItems().map(\.key) == vault.allItems().map(\.key).sorted())
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<9_000 {
                _ = try transaction.remove(
                    try ItemKey.genericPassword(service: "service-\(number % 97)", account: "user\(number)"))
            }
        }
        #expect(try vault.allItems().count == 1000)
        #expect(try vault.verify().isSound)
        let report = try vault.compact()
        #expect(report.bytesAfter < report.bytesBefore)
        let verified = try vault.verify()
        #expect(verified.isSound, "\(verified.problems)")
        #expect(try vault.text(try password("service-\(9_500 % 97)", "user9500")) == "secret 9500")
    }

    @Test("is rotated to new keys, and its old passphrase opens it no more")
    func rotate() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for number in 0..<50 { try vault.set(try password("s", "\(number)"), secret: Secret(text: "\(number)")) }
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
        let report = try vault.verify()
        #expect(report.isSound, "\(report.problems)")
        #expect(try Fast.open(path).text(try password("s", "7")) == "7")
    }
}
