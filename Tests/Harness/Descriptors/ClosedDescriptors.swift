internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt

/// Runs a command without some of its standard descriptors, and compares what it leaves with what it leaves with all of
/// them.
struct ClosedDescriptors: Sendable {
    private let run: PartRun
    private let binary: String

    init(_ run: PartRun, _ binary: String) throws {
        self.run = run
        self.binary = binary
    }

    /// What one run left behind.
    private struct Outcome {
        let status: Int32
        let hasRead: Bool
        let hasWritten: Bool
        let before: Model
        let after: Model
        let message: String
    }

    func check(_ one: DescriptorCase) throws {
        let whole = try outcome(of: one, closed: 0)
        let name = ([one.program] + one.arguments).joined(separator: " ")
        run.check(whole.status == one.status, "\(name): exit code \(whole.status), not \(one.status): \(whole.message)")
        run.count()
        for closed in 1..<8 where !run.isOver {
            let found = try outcome(of: one, closed: closed)
            let lacks = closed & 1 != 0 && whole.hasRead || closed & 2 != 0 && whole.hasWritten
            let which = "\(name), without \((0..<3).filter { closed >> $0 & 1 != 0 })"
            run.count()
            guard lacks else {
                run.check(
                    found.status == whole.status,
                    "\(which): exit code \(found.status), not \(whole.status): \(found.message)")
                run.check(Self.isSame(found.after, whole.after), "\(which): left something else: \(found.after.items)")
                continue
            }
            // Docker's clients know failures by exit code 1, and `run` ends as its program does.
            let failures: [Int32] = one.program.hasPrefix("docker") || one.arguments.first == "run" ? [1, 74] : [74]
            run.check(failures.contains(found.status), "\(which): exit code \(found.status), not 74: \(found.message)")
            run.check(
                found.after == found.before || closed & 1 == 0 && Self.isSame(found.after, whole.after),
                "\(which): left something else: \(found.after.items)")
        }
    }

    /// Generated secrets differ from run to run.
    private static func isSame(_ left: Model, _ right: Model) -> Bool {
        guard left.items.keys == right.items.keys else { return false }
        return left.items.allSatisfy { name, value in
            value == right.items[name] || name == "tok/ci" && value.secret.count == 20
        }
    }

    private func outcome(of one: DescriptorCase, closed: Int) throws -> Outcome {
        let folder = try Folder()
        try prepare(folder)
        let before = try model(folder, "key")
        try Files.write(Array(one.input.utf8), to: folder.file(".in"))
        symlink(binary, folder.file(one.program))
        let input = open(folder.file(".in"), O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let closing = (0..<3).filter { closed >> $0 & 1 != 0 }.map { "\($0)>&-" }.joined(separator: " ")
        // The input is taken from the harness's own opening, whose position then tells whether it was read.
        let line = "cd '\(folder.path)' && exec \"$0\" \"$@\" <&9 >.out 2>.err 9<&- \(closing)"
        let status = try spawn(folder.file(one.program), one.arguments, line, input: input, folder)
        let message = String(decoding: try Files.read(folder.file(".err")), as: UTF8.self)
        let name = ([one.program] + one.arguments).joined(separator: " ")
        try checkFiles(folder, "\(name), without \(closing)")
        let newKey =
            one.arguments.first == "rekey" && status == 0 && folder.names.contains("new.key")
            && one.arguments.contains("new.key")
        let hasWritten = try !Files.read(folder.file(".out")).isEmpty
        return Outcome(
            status: status, hasRead: lseek(input, 0, SEEK_CUR) > 0, hasWritten: hasWritten, before: before,
            after: try model(folder, newKey ? "new.key" : "key"), message: message)
    }

    private func spawn(_ program: String, _ arguments: [String], _ line: String, input: Int32, _ folder: Folder) throws
        -> Int32
    {
        let environment = [
            "HOME": folder.path, "XDG_STATE_HOME": folder.path + "/state", "XDG_DATA_HOME": folder.path + "/data",
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8", "VAULTFMT_VAULT": folder.file("a.vault"), "VAULTFMT_KEY_FILE": folder.file("key"),
            "SWIFT_BACKTRACE": "enable=no",
        ]
        let words = ["setsid", "-w", "sh", "-c", line, program] + arguments
        let child = try Child(
            "/usr/bin/setsid", words, environment: environment, inherited: (descriptor: input, number: 9))
        return child.wait()
    }

    // MARK: files

    private func prepare(_ folder: Folder) throws {
        try Files.write(Array(KeyFile.generate().withUnsafeBytes { Array($0) }), to: folder.file("key"))
        try Files.write(Array(KeyFile.generate().withUnsafeBytes { Array($0) }), to: folder.file("new.key"))
        try Files.write(Array("file secret".utf8), to: folder.file("file"))
        try Files.write(Array("value {{ vaultfmt:item/1 }}".utf8), to: folder.file("template"))
        let export =
            #"{"format":"vaultfmt-export","version":1,"items":[{"class":"generic-password","service":"in","secret":"s"}]}"#
        try Files.write(Array(export.utf8), to: folder.file("items.json"))
        let vault = try Vault.create(at: folder.file("a.vault"), factors: try factors(folder, "key"))
        for number in 1...3 {
            try vault.add(
                try .genericPassword(service: "item", account: "\(number)"), secret: Secret(text: "secret \(number)"))
        }
        let web = try ItemKey.internetPassword(server: "web", account: "u", protocol: "https")
        try vault.add(web, secret: Secret(text: "web"))
    }

    private func factors(_ folder: Folder, _ key: String) throws -> Factors {
        try Factors(keyFile: try KeyFile(contents: Secret(bytes: try Files.read(folder.file(key)))))
    }

    /// Every item; the vault must be sound.
    private func model(_ folder: Folder, _ key: String) throws -> Model {
        let vault = try Vault.open(folder.file("a.vault"), factors: try factors(folder, key))
        let report = try vault.verify()
        run.check(report.problemCount == 0, "the vault is not sound: \(report.problems)")
        var model = Model()
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let name = "\(item.key.service ?? item.key.server ?? "?")/\(item.key.account ?? "")"
            // One of another device cannot be opened here.
            let secret =
                item.accessibility.isThisDeviceOnly ? [] : try vault.open(item).secret.withUnsafeBytes { Array($0) }
            model.items[name] = .init(secret: secret, label: item.attributes.label ?? "")
        }
        return model
    }

    /// No file but the output and error has a message in it, and nothing unfinished is left.
    private func checkFiles(_ folder: Folder, _ which: String) throws {
        for name in folder.names where ![".out", ".err", ".in", "template", "vaultfmt"].contains(name) {
            let path = folder.file(name)
            let isProgram = name.hasSuffix("-vaultfmt") || name.hasSuffix("-askpass")
            guard let status = Files.status(path), status.st_mode & S_IFMT == S_IFREG, !isProgram else { continue }
            run.check(!name.contains(".vaultfmt-"), "\(which): \(name) is left behind")
            let text = String(decoding: try Files.read(path), as: UTF8.self)
            run.check(!text.contains("vaultfmt: "), "\(which): a message is in \(name)")
        }
    }
}
