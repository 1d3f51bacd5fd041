import Foundation
import Testing

@Suite("generate")
struct GenerateTests {
    private func password(_ sandbox: Sandbox, _ options: String...) throws -> String {
        let run = try sandbox.run(["generate"] + options)
        #expect(run.status == 0, "\(run.error)")
        #expect(run.output.hasSuffix("\n"))
        return String(run.output.dropLast())
    }

    @Test("a password has 20 characters unless told otherwise, and its entropy is said on standard error")
    func length() throws {
        let sandbox = try Sandbox()
        #expect(try password(sandbox).count == 20)
        #expect(try password(sandbox) != password(sandbox))
        #expect(try password(sandbox, "--length", "64").count == 64)
        #expect(try sandbox.ok("generate").error == "vaultfmt: 20 of 90 characters: 129.6 bits of entropy\n")
        #expect(
            try sandbox.ok("generate", "--alphabet", "01", "--length", "8").error.contains(
                "8 of 2 characters: 8.0 bits"))
    }

    @Test("classes can be left out, characters that look alike too, and the alphabet can be given")
    func alphabets() throws {
        let sandbox = try Sandbox()
        let letters = try password(sandbox, "--length", "2000", "--no-symbols", "--no-digits")
        #expect(letters.allSatisfy { $0.isASCII && $0.isLetter })
        #expect(Set(letters).count == 52)
        let digits = try password(sandbox, "--length", "500", "--no-symbols", "--no-uppercase", "--no-lowercase")
        #expect(Set(digits) == Set("0123456789"))
        let clear = try password(sandbox, "--length", "4000", "--no-ambiguous")
        #expect(Set(clear).isDisjoint(with: Set("0Oo1lI|5S2Z8B")))
        let given = try password(sandbox, "--length", "300", "--alphabet", "aäb🙂b")
        #expect(Set(given) == Set("aäb🙂"))
    }

    @Test("each character is about as likely as every other")
    func uniform() throws {
        let sandbox = try Sandbox()
        // 49,152 draws from 3 characters: 16,384 of each are expected, with a standard deviation of 105.
        let drawn = try (0..<12).map { _ in try password(sandbox, "--length", "4096", "--alphabet", "abc") }.joined()
        for character in "abc" {
            let count = drawn.count { $0 == character }
            #expect((16_384 - 800...16_384 + 800).contains(count))
        }
    }

    @Test("what cannot be drawn from is a usage error")
    func wrongAlphabets() throws {
        let sandbox = try Sandbox()
        try sandbox.fails(64, "fewer than two different characters", "generate", "--alphabet", "aaa")
        try sandbox.fails(
            64, "fewer than two", "generate", "--no-symbols", "--no-digits", "--no-uppercase", "--no-lowercase")
        try sandbox.fails(64, "cannot be seen", "generate", "--alphabet", "ab\u{202E}")
        try sandbox.fails(64, "--length must be", "generate", "--length", "0")
        try sandbox.fails(64, "--alphabet already defines", "generate", "--alphabet", "ab", "--no-digits")
        try sandbox.fails(64, "cannot be combined", "generate", "--length", "5", "--words", "3")
        try sandbox.fails(64, "require --words", "generate", "--separator", "+")
    }

    @Test("a number that may be a length or a name is refused, with what to write instead")
    func number() throws {
        let sandbox = try Sandbox.withVault()
        for line in [
            ["set", "svc", "--generate", "24"], ["set", "--generate", "24"], ["add", "--generate", "24", "svc"],
        ] {
            let run = try sandbox.run(line)
            #expect(run.status == 64 && run.error.contains("write --generate=LENGTH, or put the name first"))
        }
        #expect(try sandbox.run("list").output.isEmpty)
        try sandbox.fails(64, "write 'vaultfmt generate --length 24'", "generate", "24")
        try sandbox.fails(64, "write 'vaultfmt generate --length 24'", "generate", "--generate", "24")
        try sandbox.ok("set", "svc", "24", "--generate")
        #expect(try sandbox.ok("get", "svc", "24").bytes.count == 20)
        try sandbox.ok("set", "svc", "24", "--generate=30")
        #expect(try sandbox.ok("get", "svc", "24").bytes.count == 30)
    }

    @Test("help shows that a value may be omitted, and follows an equals sign")
    func optionalValues() throws {
        let sandbox = try Sandbox()
        for command in ["set", "add"] {
            #expect(try sandbox.ok(command, "--help-all").output.contains("  --generate[=<length>]  "), "\(command)")
        }
        for command in ["get", "otp"] {
            #expect(try sandbox.ok(command, "--help-all").output.contains("  --clip[=<seconds>]  "), "\(command)")
        }
        #expect(try sandbox.ok("generate", "--help-all").output.contains("  --length <length>  "))
    }

    @Test("passphrases are of words from a list: plain, numbered by dice, or signed")
    func words() throws {
        let sandbox = try Sandbox()
        let lists = [
            "alpha\nbeta\ngamma\ndelta\nalpha\n\n", "11\talpha\n12\tbeta\n1-3 gamma\n14\tdelta\n",
            "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nalpha\nbeta\ngamma\ndelta\n-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n",
        ]
        for list in lists {
            try sandbox.write("words.txt", list.utf8)
            let run = try sandbox.ok("generate", "--words", "200", "--list", "./words.txt", "--separator", "+")
            let words = run.output.dropLast().split(separator: "+")
            #expect(words.count == 200)
            #expect(Set(words) == ["alpha", "beta", "gamma", "delta"])
            #expect(run.error.contains("200 of 4 words: 400.0 bits of entropy"))
        }
        #expect(
            try sandbox.ok("generate", "--words", "2", "--list", "./words.txt", "--separator", "").error.contains(
                "at most"))
        try sandbox.write("one.txt", "alpha\n".utf8)
        try sandbox.fails(65, "fewer than two words", "generate", "--words", "2", "--list", "./one.txt")
        try sandbox.fails(66, "cannot open", "generate", "--words", "2", "--list", "./none.txt")
    }

    @Test("Debian's lists are used where they are, and their package is named where they are not")
    func installedLists() throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run("generate", "--words", "6")
        if FileManager.default.fileExists(
            atPath: "/usr/lib/python3/dist-packages/diceware/wordlists/wordlist_en_eff.txt")
        {
            #expect(run.status == 0)
            #expect(run.error.contains("6 of 7776 words: 77.5 bits"))
            try sandbox.fails(66, "the lists are de, ", "generate", "--words", "6", "--list", "klingon")
        } else {
            #expect(run.status == 66)
            #expect(run.error.contains("install the package 'diceware'"))
        }
    }

    @Test("a key file is made 0600, never over another file, and opens the vault made with it")
    func keyFile() throws {
        let sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        #expect(try sandbox.ok("generate", "--key-file", "vault.key").bytes == [])
        #expect(try sandbox.read("vault.key").count == 89)
        let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.path("vault.key"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try sandbox.fails(73, "already exists", "generate", "--key-file", "vault.key")
        try sandbox.ok("create", "--key-file", "vault.key")
        try sandbox.ok("set", "svc", "--key-file", "vault.key", input: "s".utf8)
        #expect(try sandbox.ok("get", "svc", "--key-file", "vault.key").output == "s")
        try sandbox.ok("generate", "--key-file", "other.key")
        try sandbox.fails(77, "no slot opens", "get", "svc", "--key-file", "other.key")
    }
}
