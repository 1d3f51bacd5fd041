import Foundation
import Testing

@Suite("import: PEM")
struct ImportPEMTests {
    /// Runs openssl in the sandbox and returns what it wrote to standard output.
    @discardableResult
    private func openssl(_ sandbox: Sandbox, _ arguments: String...) throws -> [UInt8] {
        // Outputs are not cut to length, so each run has a new one.
        let output = ".ssl-\(UUID().uuidString)"
        let child = try Child.start(
            arguments, program: "/usr/bin/openssl", environment: sandbox.environment, directory: sandbox.folder,
            output: sandbox.path(output),
            error: sandbox.path(output + "-error"))
        let status = try child.wait()
        guard status == 0 else {
            throw Failure(
                "openssl \(arguments): \(String(decoding: try sandbox.read(output + "-error"), as: UTF8.self))")
        }
        return try sandbox.read(output)
    }

    private func certificate(_ sandbox: Sandbox, _ kind: String..., name: String = "host.example") throws {
        try openssl(
            sandbox, "req", "-x509", "-newkey", kind[0], "-pkeyopt", kind[1], "-nodes", "-days", "3", "-subj",
            "/O=Org/CN=\(name)",
            "-keyout",
            "key.pem", "-out", "cert.pem")
    }

    private func items(_ sandbox: Sandbox, _ itemClass: String) throws -> [[String: Any]] {
        try #require(try sandbox.ok("list", "--json", "--class", itemClass).json() as? [[String: Any]])
    }

    private func bytes(_ item: [String: Any], _ name: String) -> [UInt8]? {
        (item[name] as? String).flatMap { Data(base64Encoded: $0) }.map(Array.init)
    }

    @Test(
        "a certificate and its key become certificate, key and identity, with Apple's numbers",
        arguments: [
            ("rsa:2048", "rsa_keygen_bits:2048", 42, 2048), ("ec", "ec_paramgen_curve:P-256", 73, 256),
            ("ec", "ec_paramgen_curve:P-521", 73, 521),
        ])
    func identity(algorithm: String, option: String, type: Int, size: Int) throws {
        let sandbox = try Sandbox.withVault()
        try certificate(sandbox, algorithm, option)
        try sandbox.write("both.pem", try sandbox.read("key.pem") + sandbox.read("cert.pem"))
        #expect(try sandbox.ok("import", "both.pem").error.contains("imported 3 items"))

        let certificate = try #require(try items(sandbox, "certificate").first)
        #expect(certificate["type"] as? Int == 3)
        let der = try openssl(sandbox, "x509", "-in", "cert.pem", "-outform", "DER")
        #expect(try sandbox.ok("get", "--class", "certificate").bytes == der)
        let issuer = try #require(bytes(certificate, "issuer"))
        #expect(issuer.first == 0x30 && der.firstRange(of: issuer) != nil)
        let serial = String(
            decoding: try openssl(sandbox, "x509", "-in", "cert.pem", "-noout", "-serial"), as: UTF8.self)
        let hex = try #require(bytes(certificate, "serialNumber")).map { String(format: "%02X", $0) }.joined()
        #expect(serial == "serial=\(hex.hasPrefix("00") ? String(hex.dropFirst(2)) : hex)\n")
        #expect((certificate["attributes"] as? [String: String])?["label"] == "host.example")

        let key = try #require(try items(sandbox, "key").first)
        #expect(key["keyClass"] as? Int == 1)
        #expect(key["keyType"] as? Int == type)
        #expect(key["sizeInBits"] as? Int == size)
        #expect(key["effectiveSize"] as? Int == size)
        #expect((key["attributes"] as? [String: String])?["label"] == "host.example")
        let keyDER = try openssl(sandbox, "pkcs8", "-topk8", "-nocrypt", "-in", "key.pem", "-outform", "DER")
        #expect(try sandbox.ok("get", "--class", "key").bytes == keyDER)
        // The subject key identifier that openssl puts into the certificate is the same hash (RFC 5280, 4.2.1.2, method
        // 1).
        let text = String(
            decoding: try openssl(sandbox, "x509", "-in", "cert.pem", "-noout", "-ext", "subjectKeyIdentifier"),
            as: UTF8.self)
        let label = try #require(bytes(key, "applicationLabel")).map { String(format: "%02X", $0) }.joined(
            separator: ":")
        #expect(text.contains(label))

        let identity = try #require(try items(sandbox, "identity").first)
        #expect(identity["issuer"] as? String == certificate["issuer"] as? String)
        #expect(
            try sandbox.ok("get", "--class", "identity").bytes == sandbox.read("cert.pem") + sandbox.read("key.pem"))
    }

    @Test("Ed25519, SEC 1 and PKCS #1 keys are keys as well, and stay in the form they came in")
    func keyForms() throws {
        let sandbox = try Sandbox.withVault()
        try openssl(sandbox, "genpkey", "-algorithm", "ed25519", "-out", "ed.pem")
        try openssl(sandbox, "genrsa", "-traditional", "-out", "rsa.pem", "2048")
        try openssl(sandbox, "ecparam", "-name", "secp384r1", "-genkey", "-out", "ec.pem")
        try sandbox.write("keys.pem", try sandbox.read("ed.pem") + sandbox.read("rsa.pem") + sandbox.read("ec.pem"))
        let run = try sandbox.ok("import", "keys.pem")
        #expect(run.error.contains("imported 3 items"))
        #expect(run.error.contains("'EC PARAMETERS' is neither a certificate nor a private key"))
        let keys = try items(sandbox, "key")
        #expect(Set(keys.compactMap { $0["keyType"] as? Int }) == [42, 73, 0x8002_5519])
        #expect(Set(keys.compactMap { $0["sizeInBits"] as? Int }) == [2048, 384, 256])
        let der = try openssl(sandbox, "rsa", "-in", "rsa.pem", "-traditional", "-outform", "DER")
        #expect(try sandbox.ok("get", "--class", "key", "--key-type", "42").bytes == der)
        #expect(try items(sandbox, "identity").isEmpty)
    }

    @Test("encrypted keys are one clear error, old form and new, and nothing is imported")
    func encrypted() throws {
        let sandbox = try Sandbox.withVault()
        try certificate(sandbox, "ec", "ec_paramgen_curve:P-256")
        let lines = try sandbox.read("cert.pem").count { $0 == 0x0A }
        try openssl(sandbox, "pkcs8", "-topk8", "-in", "key.pem", "-out", "new.pem", "-passout", "pass:x")
        try openssl(sandbox, "ec", "-in", "key.pem", "-aes128", "-out", "old.pem", "-passout", "pass:x")
        try openssl(sandbox, "genrsa", "-traditional", "-aes256", "-out", "rsa.pem", "-passout", "pass:x", "2048")
        for (name, form) in [
            ("new.pem", "PKCS #8"), ("old.pem", "OpenSSL's old form, AES-128-CBC"),
            ("rsa.pem", "OpenSSL's old form, AES-256-CBC"),
        ] {
            try sandbox.write("both.pem", try sandbox.read("cert.pem") + sandbox.read(name))
            let run = try sandbox.fails(
                69, "line \(lines + 1): the private key is encrypted (\(form)); decrypt it", "import", "both.pem")
            #expect(run.error.contains("openssl pkey -in FILE -out /dev/shm/key.pem"))
        }
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("X4: an RSA key of 1024 bits is imported in either form, and a smaller one is refused by its size")
    func smallRSA() throws {
        let sandbox = try Sandbox.withVault()
        try openssl(sandbox, "genrsa", "-out", "new.pem", "1024")
        try openssl(sandbox, "rsa", "-in", "new.pem", "-traditional", "-out", "old.pem")
        for name in ["new.pem", "old.pem"] {
            let other = try Sandbox.withVault()
            try other.ok("import", sandbox.path(name))
            let keys = try items(other, "key")
            #expect(keys.compactMap { $0["sizeInBits"] as? Int } == [1024])
            let der = try openssl(sandbox, "pkey", "-in", name, "-pubout", "-outform", "DER")
            try other.write("out.pem", try other.ok("get", "--class", "key", "--key-type", "42", "--pem").bytes)
            #expect(try openssl(other, "pkey", "-in", "out.pem", "-pubout", "-outform", "DER") == der)
        }
        try openssl(sandbox, "genrsa", "-out", "small.pem", "768")
        try sandbox.fails(65, "line 1: an RSA key of 768 bits is too small", "import", "small.pem")
        #expect(try sandbox.ok("list").bytes == [])
    }

    @Test("B4: a text without a whole block is damaged")
    func withoutBlocks() throws {
        let sandbox = try Sandbox.withVault()
        for (text, message) in [
            ("-----BEGIN CERTIFICA", "line 1: the BEGIN line is truncated"),
            ("remark\n-----BEGIN CERTIFICATE----\n", "line 2: the BEGIN line is truncated"),
            ("-----END CERTIFICATE-----\n-----BEGIN X", "line 1: this ends a block that has no BEGIN line"),
        ] {
            try sandbox.fails(65, message, "import", "-", input: text.utf8)
        }
        for text in ["", "remark\n"] {
            try sandbox.fails(65, "line 1: there is no PEM block", "import", "--format", "pem", "-", input: text.utf8)
        }
    }

    @Test("H5: a source is read in time that grows with its length")
    func linear() throws {
        // Each kind of line that the splitter keeps, 64,000 times; at the square of that it took minutes.
        let sandbox = try Sandbox.withVault()
        for line in ["QUJD\n", "\n", "a: b\n", "-----END x\n"] {
            let text =
                "-----BEGIN CERTIFICATE-----\n" + String(repeating: line, count: 256_000)
                + "-----END CERTIFICATE-----\n"
            try sandbox.write("long.pem", text.utf8)
            // What does not end within a minute is a failure of the run.
            try sandbox.fails(65, "line 1", "import", "long.pem")
        }
    }

    @Test("damaged blocks are refused with their line")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        let cases: [(String, String)] = [
            ("-----BEGIN CERTIFICATE-----\nAAAA\n", "line 1: the block that starts here has no end"),
            (
                "\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "line 2: this is not an X.509 certificate"
            ),
            ("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", "line 1: the block is not Base64"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END PRIVATE KEY-----\n",
                "line 3: this does not end the block that began on line 1"
            ),
            ("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n", "line 1: this private key is damaged"),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
                "line 1: this OpenSSH private key is damaged"
            ),
            (
                "-----BEGIN DSA PRIVATE KEY-----\nAAAA\n-----END DSA PRIVATE KEY-----\n",
                "line 1: a key in the format 'DSA PRIVATE KEY'"
            ),
        ]
        for (text, message) in cases {
            try sandbox.fails(65, message, "import", "-", input: text.utf8)
        }
        try openssl(sandbox, "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", "k1.pem")
        try sandbox.fails(65, "line 1: this private key is damaged, or not an RSA", "import", "k1.pem")
    }

    @Test("lines of any length, CR LF, text between blocks and repeated blocks are taken as they come")
    func lenient() throws {
        let sandbox = try Sandbox.withVault()
        try certificate(sandbox, "ec", "ec_paramgen_curve:P-256")
        let lines = String(decoding: try sandbox.read("cert.pem"), as: UTF8.self).split(separator: "\n")
        let body = lines.dropFirst().dropLast().joined()
        let wide = "\(lines[0])\r\n\(body)\r\n\(lines[lines.count - 1])\r\n"
        try sandbox.write("wide.pem", ("Bag Attributes\r\n    friendlyName: me\r\n" + wide + wide).utf8)
        let run = try sandbox.ok("import", "wide.pem")
        #expect(run.error.contains("imported 1 item; 1 not imported, for the reasons above; 2 entries in the source\n"))
        #expect(run.error.contains("text outside the PEM blocks (2 lines)"))
        #expect(run.error.contains("line 6: a duplicate of line 3"))
        #expect(
            try sandbox.ok("get", "--class", "certificate").bytes
                == openssl(sandbox, "x509", "-in", "cert.pem", "-outform", "DER"))
    }

    @Test("a version 1 certificate and one with a key that no library here knows are items as well")
    func unusualCertificates() throws {
        let sandbox = try Sandbox.withVault()
        try openssl(sandbox, "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", "k1.pem")
        try openssl(
            sandbox, "req", "-x509", "-key", "k1.pem", "-days", "3", "-subj", "/O=Only an organization", "-out",
            "cert.pem")
        try openssl(sandbox, "req", "-new", "-key", "k1.pem", "-subj", "/CN=v1", "-out", "request.pem")
        try openssl(sandbox, "x509", "-req", "-in", "request.pem", "-signkey", "k1.pem", "-days", "3", "-out", "v1.pem")
        try sandbox.write("both.pem", try sandbox.read("cert.pem") + sandbox.read("v1.pem"))
        try sandbox.ok("import", "both.pem")
        let labels = try items(sandbox, "certificate").compactMap { ($0["attributes"] as? [String: String])?["label"] }
        #expect(Set(labels) == ["Only an organization", "v1"])
    }

    @Test("this machine's own certificate authorities are imported, each with its own key, and come out as they were")
    func certificateAuthorities() throws {
        let sandbox = try Sandbox.withVault()
        let bundle = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "/etc/ssl/certs/ca-certificates.crt")))
        let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
        let blocks = String(decoding: bundle, as: UTF8.self).components(separatedBy: "-----BEGIN CERTIFICATE-----")
            .dropFirst().map {
                block in
                block.prefix { $0 != "-" }.filter { !$0.isNewline }
            }
        let unique = Set(blocks)
        #expect(unique.count > 50 && bundle.firstRange(of: begin) != nil)
        try sandbox.ok("import", "/etc/ssl/certs/ca-certificates.crt")
        #expect(try items(sandbox, "certificate").count == unique.count)
        let export = try #require(try sandbox.ok("export").json() as? [String: Any])
        let secrets = try #require(export["items"] as? [[String: Any]]).compactMap {
            ($0["secret"] as? [String: String])?["base64"]
        }
        #expect(Set(secrets) == unique)
    }
}
