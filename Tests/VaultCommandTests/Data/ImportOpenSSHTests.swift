import Foundation
import ImportFuzzing
import Testing
import VaultCommand

@Suite("import: OpenSSH private keys; export: PEM")
struct ImportOpenSSHTests {
    /// Runs a program in the sandbox and returns its standard output.
    @discardableResult
    private func run(_ sandbox: Sandbox, _ program: String, _ arguments: String...) throws -> [UInt8] {
        let run = try sandbox.run(arguments, program: "/usr/bin/\(program)")
        guard run.status == 0 else { throw Failure("\(program) \(arguments): \(run.error)") }
        return run.bytes
    }

    /// Makes a key; the most that `rounds` can be for a test that waits is little.
    private func makeKey(
        _ sandbox: Sandbox, _ type: String, _ bits: Int, passphrase: String = "", _ name: String = "key"
    ) throws {
        try run(
            sandbox, "ssh-keygen", "-q", "-t", type, "-b", String(bits), "-a", "2", "-N", passphrase, "-C", "me@here",
            "-f", sandbox.path(name))
    }

    private func keys(_ sandbox: Sandbox) throws -> [[String: Any]] {
        try #require(try sandbox.ok("list", "--json", "--class", "key").json() as? [[String: Any]])
    }

    @Test(
        "a key arrives, encrypted or not, with its comment as label, and comes out as PEM that openssl finds valid",
        arguments: [
            ("ed25519", 256, 0x8002_5519), ("rsa", 2048, 42), ("rsa", 1024, 42), ("ecdsa", 256, 73),
            ("ecdsa", 384, 73), ("ecdsa", 521, 73),
        ])
    func arrives(type: String, bits: Int, number: Int) throws {
        let sandbox = try Sandbox.withVault()
        try makeKey(sandbox, type, bits)
        #expect(try sandbox.ok("import", "key").error.contains("imported 1 item"))
        let key = try #require(try keys(sandbox).first)
        #expect(key["keyType"] as? Int == number)
        #expect(key["sizeInBits"] as? Int == bits)
        #expect((key["attributes"] as? [String: String])?["label"] == "me@here")
        try sandbox.write("out.pem", try sandbox.ok("get", "--class", "key", "me@here", "--pem").bytes)
        try run(sandbox, "openssl", "pkey", "-in", "out.pem", "-check", "-noout")
        let publicKey = try run(sandbox, "openssl", "pkey", "-in", "out.pem", "-pubout", "-outform", "DER")
        let line = String(decoding: try sandbox.read("key.pub"), as: UTF8.self).split(separator: " ")
        let blob = try #require(Data(base64Encoded: String(line[1])))
        #expect(publicKey.firstRange(of: blob.suffix(32)) != nil)

        // The same key behind a passphrase.
        for cipher in ["aes256-ctr", "aes256-cbc", "chacha20-poly1305@openssh.com"] {
            try sandbox.write("sealed", try sandbox.read("key"))
            try run(
                sandbox, "ssh-keygen", "-q", "-p", "-P", "", "-N", "päss", "-a", "3", "-Z", cipher, "-f",
                sandbox.path("sealed"))
            let other = try Sandbox.withVault()
            let passphrase = try other.write("passphrase", "päss\n".utf8)
            try other.ok("import", sandbox.path("sealed"), "--source-passphrase-file", passphrase)
            #expect(try other.ok("get", "--class", "key").bytes == sandbox.ok("get", "--class", "key").bytes)
        }
    }

    @Test("an Ed25519 key goes back to OpenSSH in the only form that all its versions read")
    func goesBack() throws {
        let sandbox = try Sandbox.withVault()
        try makeKey(sandbox, "ed25519", 256)
        try sandbox.ok("import", "key")
        try sandbox.ok("get", "--class", "key", "--label", "me@here", "--openssh", "--output", sandbox.path("back"))
        let (own, back) = (
            try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path("key")),
            try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path("back"))
        )
        #expect(back == own)
        try sandbox.ok("set", "svc", input: "x".utf8)
        try sandbox.fails(1, "not an Ed25519 key", "get", "svc", "--openssh")
    }

    @Test("a key that is stored in OpenSSH's format or in PEM is written for ssh-keygen, too, if it is an Ed25519 key")
    func alreadyOpenSSH() throws {
        let sandbox = try Sandbox.withVault()
        let publicKey = { (file: String) in
            try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path(file)).prefix { $0 != 0x0A }
        }
        try sandbox.ok("set", "github", "--ssh-generate", "ed25519")
        try sandbox.ok("get", "github", "--openssh", "--output", "made")
        #expect(try sandbox.read("made") == sandbox.ok("get", "github").bytes)
        #expect(try sandbox.ok("ssh", "public", "github").bytes.starts(with: publicKey("made")))
        try run(sandbox, "openssl", "genpkey", "-algorithm", "ed25519", "-out", sandbox.path("pkcs8"))
        #expect(chmod(sandbox.path("pkcs8"), 0o600) == 0)
        try sandbox.ok("set", "pem", "--secret-file", "pkcs8")
        try sandbox.ok("get", "pem", "--openssh", "--output", "converted")
        #expect(try sandbox.ok("ssh", "public", "pem").bytes.starts(with: publicKey("converted")))
        try makeKey(sandbox, "rsa", 2048, "rsa")
        try sandbox.ok("set", "rsa", "--secret-file", "rsa")
        try sandbox.fails(1, "not an Ed25519 key; without --openssh", "get", "rsa", "--openssh")
        try makeKey(sandbox, "ed25519", 256, passphrase: "own", "locked")
        try sandbox.ok("set", "locked", "--secret-file", "locked")
        try sandbox.fails(69, "'locked' '': the key has its own passphrase", "get", "locked", "--openssh")
    }

    @Test("what surrounds a stored key is not written, and PKCS #8 with the public key is converted, too")
    func acceptedByOpenSSH() throws {
        let sandbox = try Sandbox.withVault()
        try makeKey(sandbox, "ed25519", 256)
        let file = try sandbox.read("key")
        try sandbox.write("unended", file.dropLast())
        try sandbox.write("commented", Array("My key, from the old laptop:\n".utf8) + file)
        let own = try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path("key"))
        for name in ["unended", "commented"] {
            try sandbox.ok("set", name, "--secret-file", name)
            try sandbox.ok("get", name, "--openssh", "--output", "\(name).out")
            #expect(try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path("\(name).out")) == own)
        }
        try run(sandbox, "openssl", "genpkey", "-algorithm", "ed25519", "-out", sandbox.path("pkcs8"))
        let der = try run(sandbox, "openssl", "pkey", "-in", sandbox.path("pkcs8"), "-outform", "DER")
        let publicDER = try run(sandbox, "openssl", "pkey", "-in", sandbox.path("pkcs8"), "-pubout", "-outform", "DER")
        #expect(der.count == 48 && publicDER.count == 44)
        // Version 1 has the public key in the field [1] behind the private key.
        var whole: [UInt8] = [0x30, 0x51, 0x02, 0x01, 0x01]
        whole += der.dropFirst(5)
        whole += [0x81, 0x21, 0x00]
        whole += publicDER.suffix(32)
        try sandbox.write("version1", whole)
        try sandbox.ok("set", "version1", "--secret-file", "version1")
        try sandbox.ok("get", "version1", "--openssh", "--output", "version1.out")
        let back = try run(sandbox, "ssh-keygen", "-y", "-f", sandbox.path("version1.out"))
        #expect(try sandbox.ok("ssh", "public", "version1").bytes.starts(with: back.prefix { $0 != 0x0A }))
    }

    @Test("a wrong passphrase is exit 77, too many rounds 78, no ssh-keygen 69; nothing is imported, nothing is left")
    func refused() throws {
        let sandbox = try Sandbox.withVault()
        let memory = "/dev/shm/vaultfmt-test-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: memory) }
        sandbox.environment["XDG_RUNTIME_DIR"] = memory
        try makeKey(sandbox, "ed25519", 256, passphrase: "right")
        let wrong = try sandbox.write("wrong", "wrong".utf8)
        try sandbox.fails(
            77, "line 1: the passphrase does not open this OpenSSH key", "import", "key", "--source-passphrase-file",
            wrong)
        try sandbox.fails(77, "forbids prompting", "import", "key", "--no-input")
        let right = try sandbox.write("right", "right".utf8)
        let text = String(decoding: try sandbox.read("key"), as: UTF8.self)
        let lines = text.split(separator: "\n")
        var bytes = [UInt8](try #require(Data(base64Encoded: lines[1..<lines.count - 1].joined())))
        // Behind the salt of 16 bytes; two rounds were asked for.
        let rounds = try #require(bytes.firstRange(of: [0, 0, 0, 24, 0, 0, 0, 16])).lowerBound + 24
        #expect(bytes[rounds..<rounds + 4].elementsEqual([0, 0, 0, 2]))
        bytes[rounds + 1] = 1
        let altered = "\(lines[0])\n\(Data(bytes).base64EncodedString())\n\(lines[lines.count - 1])\n"
        try sandbox.write("altered", altered.utf8)
        try sandbox.fails(78, "rounds 65538, limit 512", "import", "altered", "--source-passphrase-file", right)
        try sandbox.fails(
            78, "rounds 2, limit 1; allow more with --max-source-rounds", "import", "key", "--source-passphrase-file",
            right, "--max-source-rounds", "1")
        #expect(try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty)
        sandbox.environment["PATH"] = sandbox.path("nowhere")
        try sandbox.fails(69, "install Debian's openssh-client", "import", "key", "--source-passphrase-file", right)
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("a decrypted key is in no folder, so nothing of it is left when the command is killed")
    func killed() throws {
        let sandbox = try Sandbox.withVault()
        let memory = "/dev/shm/vaultfmt-test-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: memory) }
        sandbox.environment["XDG_RUNTIME_DIR"] = memory
        try makeKey(sandbox, "ed25519", 256, passphrase: "right")
        let right = try sandbox.write("right", "right".utf8)
        // Decrypts the key as the real one does, says what it can see, and takes the command along.
        try FileManager.default.createDirectory(atPath: sandbox.path("bin"), withIntermediateDirectories: false)
        try sandbox.write(
            "bin/ssh-keygen",
            """
            #!/bin/bash
            /usr/bin/ssh-keygen "$@" < /dev/stdin && head -c 35 /proc/self/fd/3 > '\(sandbox.path("seen"))'
            ls /proc/self/fd > '\(sandbox.path("open"))'
            find "$XDG_RUNTIME_DIR" -type f > '\(sandbox.path("files"))'
            kill -9 $PPID

            """.utf8)
        #expect(chmod(sandbox.path("bin/ssh-keygen"), 0o700) == 0)
        let path = sandbox.environment["PATH"] ?? ""
        sandbox.environment["PATH"] = sandbox.path("bin") + ":/usr/bin:/bin"
        let run = try sandbox.run("import", "key", "--source-passphrase-file", right)
        #expect(run.status != 0)
        #expect(try sandbox.read("seen").elementsEqual("-----BEGIN OPENSSH PRIVATE KEY-----".utf8))
        #expect(try sandbox.read("files") == [])
        let listed = String(decoding: try sandbox.read("open"), as: UTF8.self)
        let open = listed.split(separator: "\n").compactMap { Int($0) }
        // The fourth of `ls` is the folder that it lists; bash keeps its script at 255.
        #expect(open.filter { $0 < 200 }.count <= 5, "\(open)")
        sandbox.environment["PATH"] = path
        // The folder that is left has nothing but a link, and goes with the next such import.
        try sandbox.ok("import", "key", "--source-passphrase-file", right)
        #expect(try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty)
    }

    /// A file with a key that is encrypted, or not, of which only the public part can be read.
    private func block(cipher: String, derivation: String = "bcrypt", publicKey: [[UInt8]]) -> String {
        func string(_ bytes: [UInt8]) -> [UInt8] {
            (0..<4).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
        }
        let options = string([UInt8](1...16)) + [0, 0, 0, 2]
        var all = Array("openssh-key-v1\0".utf8) + string(Array(cipher.utf8)) + string(Array(derivation.utf8))
        all += string(options) + [0, 0, 0, 1] + string(publicKey.flatMap(string))
        all += string([UInt8](repeating: 7, count: 64))
        return
            "-----BEGIN OPENSSH PRIVATE KEY-----\n\(Data(all).base64EncodedString())\n-----END OPENSSH PRIVATE KEY-----\n"
    }

    @Test("X4: a key that cannot be read is refused by its name, before any passphrase is asked for")
    func named() throws {
        let sandbox = try Sandbox.withVault()
        let ed25519 = [Array("ssh-ed25519".utf8), [UInt8](repeating: 1, count: 32)]
        let small = [Array("ssh-rsa".utf8), [1, 0, 1], [UInt8](repeating: 0x7F, count: 96)]
        for (text, message) in [
            (
                block(cipher: "aes256-ctr", publicKey: [Array("sk-ssh-ed25519@openssh.com".utf8), [1]]),
                "line 1: an OpenSSH key of the type 'sk-ssh-ed25519@openssh.com' cannot be imported"
            ),
            (
                block(cipher: "none", publicKey: [Array("ssh-dss".utf8), [1]]),
                "line 1: an OpenSSH key of the type 'ssh-dss' cannot be imported"
            ),
            (block(cipher: "aes256-ctr", publicKey: small), "line 1: an RSA key of 768 bits is too small"),
            (block(cipher: "rot13", publicKey: ed25519), "line 1: this OpenSSH key uses a cipher that is not known"),
            (
                block(cipher: "aes256-ctr", derivation: "md5", publicKey: ed25519),
                "line 1: this OpenSSH key uses a key derivation that is not known"
            ),
        ] {
            try sandbox.write("key", text.utf8)
            try sandbox.fails(65, message, "import", "key", "--no-input")
        }
    }

    @Test("B4: a file that is cut within its first or last line is damaged, not empty")
    func cutLines() throws {
        let sandbox = try Sandbox.withVault()
        try makeKey(sandbox, "ed25519", 256)
        let whole = try sandbox.read("key")
        let first = try #require(whole.firstIndex(of: 0x0A))
        for length in Array(11...first) + Array(whole.count - 34..<whole.count - 1) {
            try sandbox.write("cut", whole[..<length])
            let run = try sandbox.run("import", "cut")
            #expect(run.status == 65 && run.error.contains("line "), "\(length): \(run.error)")
        }
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("an encrypted key comes in for every user, not only for root")
    func plainUser() throws {
        guard getuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return }
        let sandbox = try Sandbox()
        try makeKey(sandbox, "ed25519", 256, passphrase: "right")
        try sandbox.write("right", "right".utf8)
        try sandbox.linkPrograms()
        // The program and its folder are another user's, who can reach neither this user's files nor its builds.
        let script = """
            home=$(mktemp -d /tmp/vaultfmt-user-XXXXXX); trap 'rm -rf "$home"' EXIT
            cp "$(readlink -f "$(command -v vaultfmt)")" "$home/vaultfmt"; cp key right "$home"
            chown -R 65534:65534 "$home"; cd "$home"
            setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$home" PATH="$home:$PATH" \
                XDG_STATE_HOME="$home/state" XDG_DATA_HOME="$home/data" bash -euc '
                export VAULTFMT_PASSPHRASE=p VAULTFMT_VAULT=$HOME/a.vault
                unset XDG_RUNTIME_DIR
                vaultfmt create --kdf testing
                vaultfmt import key --source-passphrase-file right
                vaultfmt list'
            """
        let run = try sandbox.shell(script)
        #expect(run.status == 0 && run.output.contains("key"), "\(run.output) \(run.error)")
    }

    @Test("a key that is cut or altered anywhere is refused with one line, or is a key")
    func damaged() throws {
        let sandbox = try Sandbox()
        for (index, (type, bits)) in [("ed25519", 256), ("ecdsa", 256), ("rsa", 2048)].enumerated() {
            for passphrase in ["", Interchange.testPassphrase] {
                let name = "key\(index)\(passphrase.count)"
                try makeKey(sandbox, type, bits, passphrase: passphrase, name)
                let text = String(decoding: try sandbox.read(name), as: UTF8.self)
                let lines = text.split(separator: "\n").map(String.init)
                let whole = [UInt8](try #require(Data(base64Encoded: lines[1..<lines.count - 1].joined())))
                func check(_ bytes: [UInt8], isCut: Bool) {
                    let block = "\(lines[0])\n\(Data(bytes).base64EncodedString())\n\(lines[lines.count - 1])\n"
                    var message = ""
                    let items = Interchange.items(in: Array(block.utf8), format: nil, isCheap: true) { message = $0 }
                    #expect(items != nil && !isCut || items == nil && !message.isEmpty && !message.contains("\n"))
                }
                // Every byte of the shortest.
                let step = type == "ed25519" ? 1 : 23
                for length in stride(from: 0, to: whole.count, by: step) {
                    check(Array(whole[..<length]), isCut: true)
                }
                for position in stride(from: 0, to: whole.count, by: step) {
                    var altered = whole
                    altered[position] ^= 1 << UInt8(position % 8)
                    check(altered, isCut: false)
                }
            }
        }
    }

    @Test("certificates, keys and identities come out as PEM, each once, and come in again as they were")
    func roundTrip() throws {
        let sandbox = try Sandbox.withVault()
        for (name, kind) in [("a", "rsa:2048"), ("b", "ed25519")] {
            try run(
                sandbox, "openssl", "req", "-x509", "-newkey", kind, "-nodes", "-days", "3", "-subj",
                "/CN=\(name).example",
                "-keyout", sandbox.path("\(name).key"), "-out", sandbox.path("\(name).crt"))
            try sandbox.write(
                "\(name).pem", try sandbox.read("\(name).key") + sandbox.read("\(name).crt"))
            try sandbox.ok("import", "\(name).pem")
        }
        try sandbox.ok("export", "--format", "pem", "--output", "all.pem")
        let text = String(decoding: try sandbox.read("all.pem"), as: UTF8.self)
        #expect(text.components(separatedBy: "-----BEGIN ").count == 5)
        let copy = try Sandbox.withVault()
        try copy.ok("import", sandbox.path("all.pem"))
        for itemClass in ["certificate", "key", "identity"] {
            let secrets = try [sandbox, copy].map { sandbox in
                try ["a.example", "b.example"].map { try sandbox.ok("get", "--class", itemClass, $0).bytes }
            }
            #expect(secrets[0] == secrets[1])
        }
        let pem = try copy.ok("get", "--class", "certificate", "a.example", "--pem").bytes
        #expect(pem == (try sandbox.read("a.crt")))
        let identity = try copy.ok("get", "--class", "identity", "a.example", "--pem").bytes
        #expect(identity.starts(with: pem))
    }

    @Test("items that have no PEM form are counted and left out, with exit 3; get says so with exit 1")
    func withoutForm() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "secret".utf8)
        try makeKey(sandbox, "ed25519", 256)
        try sandbox.ok("import", "key")
        let run = try sandbox.fails(
            3, "exported, but 1 item is missing (see above); this format cannot contain them", "export", "--format",
            "pem")
        #expect(run.error.contains("not exported as PEM: 1 item that is not a certificate, key or identity"))
        #expect(run.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        try sandbox.ok("export", "--format", "pem", "--class", "key")
        try sandbox.fails(1, "has no PEM form", "get", "svc", "--pem")
        try sandbox.fails(64, "--pem cannot be combined", "get", "svc", "--pem", "--json")
    }
}
