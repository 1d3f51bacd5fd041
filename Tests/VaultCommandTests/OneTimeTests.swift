import Foundation
import TestSupport
import Testing
import VaultFmt

@testable import VaultCommand
@testable import VaultExchange

@Suite("One-time codes")
struct OneTimeTests {
    private static let seed = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

    private func code(_ address: String, at time: Int64) throws -> String {
        text(try OneTimeCode(address: Secret(text: address)).code(at: time))
    }

    private func text(_ secret: borrowing Secret) -> String {
        secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("they are those of RFC 4226, appendix D")
    func counters() throws {
        let maker = try OneTimeCode(address: Secret(text: "otpauth://totp/x?secret=\(Self.seed)"))
        let codes = (0..<10).map { text(maker.code(counter: $0)) }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
            ])
    }

    @Test("they are those of RFC 6238, appendix B, with its three hashes")
    func times() throws {
        let vectors: [(Int64, [String])] = [
            (59, ["94287082", "46119246", "90693936"]), (1_111_111_109, ["07081804", "68084774", "25091201"]),
            (1_111_111_111, ["14050471", "67062674", "99943326"]),
            (1_234_567_890, ["89005924", "91819424", "93441116"]),
            (2_000_000_000, ["69279037", "90698825", "38618901"]),
            (20_000_000_000, ["65353130", "77737706", "47863826"]),
        ]
        let digits = Array("1234567890".utf8)
        for (time, codes) in vectors {
            for ((name, length), code) in zip([("SHA1", 20), ("SHA256", 32), ("SHA512", 64)], codes) {
                let key = (0..<length).map { digits[$0 % 10] }
                let address = "otpauth://totp/x?secret=\(base32(key))&algorithm=\(name)&digits=8"
                #expect(try self.code(address, at: time) == code, "\(name) at \(time)")
            }
        }
    }

    @Test("Steam's are five letters and digits, as KeePassXC's published vectors have them")
    func steam() throws {
        let address = "otpauth://totp/Valve:x?secret=63BEDWCQZKTQWPESARIERL5DTTQFCJTK&issuer=Valve&encoder=steam"
        #expect(try code(address, at: 1_511_200_518) == "FR8RV")
        #expect(try code(address, at: 1_511_200_714) == "9P3VP")
    }

    @Test(
        "they equal oathtool's for 1,000 random seeds, hashes, digits, periods and times",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/oathtool")))
    func oathtool() throws {
        var numbers = Numbers(Numbers.seed)
        var script = ""
        var own: [String] = []
        for _ in 0..<1000 {
            let length = Int.random(in: 10...80, using: &numbers)
            let seed = base32((0..<length).map { _ in .random(in: 0...255, using: &numbers) })
            let hash = ["sha1", "sha256", "sha512"].randomElement(using: &numbers) ?? ""
            let digits = Int.random(in: 6...8, using: &numbers)
            let period = Int.random(in: 1...120, using: &numbers)
            let time = Int64.random(in: 0...4_000_000_000, using: &numbers)
            script += "oathtool --totp=\(hash) -d \(digits) -s \(period)s --now @\(time) -b \(seed)\n"
            let rules = "algorithm=\(hash.uppercased())&digits=\(digits)&period=\(period)"
            own.append(try code("otpauth://totp/x?\(rules)&secret=\(seed)", at: time))
        }
        let sandbox = try Sandbox()
        let run = try sandbox.run([try sandbox.write("codes.sh", script.utf8)], program: "/bin/bash")
        #expect(run.status == 0, "\(run.error)")
        #expect(run.lines == own, "seed \(Numbers.seed)")
    }

    @Test("a key as on paper and a link are stored in one form, sealed; password and account stay")
    func stores() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "forum", "mira", "--label", "The forum", input: "pw".utf8)
        try sandbox.ok("set", "forum", "--otp", input: " gezd gnbv gy3t qojq gezd-gnbv-gy3t-qojq\n".utf8)
        let stored = "otpauth://totp/The%20forum:mira?secret=\(Self.seed)&issuer=The%20forum"
        #expect(try sandbox.ok("get", "forum", "--field", "otp").output == stored)
        #expect(try sandbox.ok("otp", "forum", "--address").output == stored)
        #expect(try sandbox.ok("get", "forum", "mira").output == "pw")
        let list = try sandbox.ok("list", "--json").output
        #expect(!list.contains(Self.seed) && list.contains("\"unreadAttributes\""))
        let link = "otpauth://totp/Work:mira?secret=\(Self.seed)&algorithm=SHA256&digits=8&period=60&issuer=Work"
        try sandbox.ok("update", "forum", "--otp-file", try sandbox.write("link", (link + "\n").utf8))
        #expect(try sandbox.ok("otp", "forum", "--address").output == link)
        try sandbox.ok("add", "new", "--otp", "--generate", input: Self.seed.utf8)
        #expect(try sandbox.ok("get", "new").output.count == 20)
        try sandbox.ok("set", "codes only", "--otp", input: "steam://\(Self.seed)".utf8)
        #expect(try sandbox.ok("otp", "codes only").output.count == 5)
    }

    @Test("get --otp and otp write the code and nothing else; JSON says for how long it is good")
    func delivers() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "forum", "--otp", input: Self.seed.utf8)
        let maker = try OneTimeCode(address: Secret(text: "otpauth://totp/x?secret=\(Self.seed)"))
        for arguments in [["otp", "forum"], ["totp", "forum"], ["get", "forum", "--otp"]] {
            let before = Int64(Date().timeIntervalSince1970)
            let run = try sandbox.run(arguments)
            let after = Int64(Date().timeIntervalSince1970)
            #expect(run.status == 0 && run.error.isEmpty, "\(run.error)")
            #expect([text(maker.code(at: before)), text(maker.code(at: after))].contains(run.output))
        }
        let json = try #require(try sandbox.ok("get", "forum", "--otp", "--json").json() as? [String: Any])
        #expect((json["code"] as? String)?.count == 6 && json["period"] as? Int == 30)
        #expect((1...30).contains(json["secondsLeft"] as? Int ?? 0))
        let fresh = try #require(try sandbox.ok("otp", "forum", "--fresh", "--json").json() as? [String: Any])
        #expect((10...30).contains(fresh["secondsLeft"] as? Int ?? 0))
        try sandbox.ok("set", "plain", input: "pw".utf8)
        let none = try sandbox.fails(1, "has no one-time codes", "otp", "plain")
        #expect(none.bytes.isEmpty)
        try sandbox.fails(64, "--otp cannot be combined", "get", "forum", "--otp", "--field", "account")
        try sandbox.fails(64, "--fresh requires --otp", "get", "forum", "--fresh")
    }

    @Test("on a terminal the key is asked for unseen, and the code comes with the seconds that are left")
    func onTerminal() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "forum", input: "pw".utf8)
        let asking = try PseudoTerminal(sandbox, "update", "forum", "--otp")
        try asking.expect("Key or otpauth: address for generic-password 'forum' '': ")
        try asking.answerHidden(Self.seed)
        #expect(try asking.finish() == 0)
        #expect(!asking.screen.contains(Self.seed))
        let showing = try PseudoTerminal(sandbox, "otp", "forum")
        #expect(try showing.finish() == 0)
        #expect(showing.screen.wholeMatch(of: /\d{6}\r\nvaultfmt: valid for \d+ s\r\n/) != nil, "\(showing.screen)")
    }

    @Test("a seed that cannot be right is refused, is not repeated, and changes nothing; none is an argument")
    func refuses() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "mail", input: "pw".utf8)
        for (text, message) in [
            ("GEZD1NBV0Y8!", "a key in Base32"), ("", "neither an otpauth: address"),
            ("GEZDGN", "a character is missing"),
            ("otpauth://hotp/Bank:mira?secret=\(Self.seed)&counter=0", "counter-based"),
            ("otpauth://totp/x?issuer=y", "has no secret"),
            ("otpauth://totp/x?secret=\(Self.seed)&digits=9", "number of digits is not"),
            ("otpauth://totp/x?secret=\(Self.seed)&algorithm=MD5", "not SHA1"),
            ("otpauth://totp/x?secret=\(Self.seed)&period=0", "period is not"),
            ("otpauth-migration://offline?data=AAAA", "several accounts"),
        ] {
            let run = try sandbox.fails(64, message, "update", "mail", "--otp", input: text.utf8)
            #expect(text.isEmpty || !run.error.contains(text), "\(run.error)")
            try sandbox.fails(1, "has no one-time codes", "otp", "mail")
        }
        for arguments in [
            ["set", "mail", "--otp", Self.seed], ["add", "otpauth://totp/x?secret=\(Self.seed)", "--otp"],
        ] {
            let run = try sandbox.run(arguments)
            #expect(
                run.status == 64 && run.error.contains("must not be given as an argument")
                    && !run.error.contains(Self.seed))
        }
        try sandbox.fails(64, "must not be given as an argument", "update", "mail", "--attribute", "otp=\(Self.seed)")
        try sandbox.fails(64, "cannot be combined", "update", "mail", "--otp", "--otp-file", "x")
        let short = try sandbox.ok("update", "mail", "--otp", input: "GEZDGNBV".utf8)
        #expect(short.error.contains("warning: the seed has only 40 bits"))
    }

    @Test(
        "the picture of a QR code is read with zbarimg",
        .enabled(
            if: ["qrencode", "zbarimg"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }))
    func picture() throws {
        let sandbox = try Sandbox.withVault()
        let link = "otpauth://totp/Forum:mira?secret=\(Self.seed)&issuer=Forum"
        try sandbox.okShell("qrencode -o -code.png '\(link)' && qrencode -o other.png 'https://example.org/'")
        try sandbox.ok("set", "forum", "mira", "--otp-image", "-code.png")
        #expect(try sandbox.ok("otp", "forum", "--address").output == link)
        try sandbox.fails(64, "shows no QR code", "update", "forum", "--otp-image", "other.png")
        try sandbox.fails(66, "there is no image", "update", "forum", "--otp-image", "absent.png")
        sandbox.environment["PATH"] = sandbox.folder
        try sandbox.fails(69, "install the Debian package 'zbar-tools'", "update", "forum", "--otp-image", "other.png")
    }

    private func base32(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        return stride(from: 0, to: bits.count, by: 5).map { start in
            let five = (0..<5).reduce(0) { $0 << 1 | Int(start + $1 < bits.count ? bits[start + $1] : 0) }
            return String(letters[five])
        }.joined()
    }

    @Test("an address given to otp is refused and not repeated")
    func addressAsArgument() throws {
        let sandbox = try Sandbox.withVault()
        let address = "otpauth://totp/forum?secret=GEZDGNBVGY3TQOJQ"
        let run = try sandbox.run("otp", "forum", address)
        #expect(run.status == 64 && run.error.contains("update NAME --otp") && !run.error.contains("GEZDGNBV"))
    }
}
