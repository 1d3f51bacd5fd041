internal import Glibc

/// D1, D2: whatever standard descriptors a program was started without, no message gets into a vault, and no file is
/// taken for the input.
extension Part {
    static let descriptors = Part(
        name: "descriptors",
        about: "every command without each subset of standard input, output and error, and programs with the library"
    ) { run in
        for closed in 0..<8 { try LibraryDescriptors.check(run, closed: closed) }
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY") else {
            return run.skip(
                "the commands: VAULTFMT_RELEASE_BINARY does not say where the command is (Tools/harness does)")
        }
        let commands = try ClosedDescriptors(run, String(cString: binary))
        run.parallel(DescriptorCase.all.count) { try commands.check(DescriptorCase.all[$0]) }
    }
}

/// A command, and what it needs.
struct DescriptorCase: Sendable {
    var program = "vaultfmt"
    let arguments: [String]
    var input = ""
    /// What it ends with if nothing is closed.
    var status: Int32 = 0

    init(_ arguments: String..., program: String = "vaultfmt", input: String = "", status: Int32 = 0) {
        self.program = program
        self.arguments = arguments
        self.input = input
        self.status = status
    }

    static let all: [DescriptorCase] = [
        .init(status: 64), .init("--version"), .init("--help"), .init("help", "exit-codes"),
        .init("nonsense", status: 64),
        .init("create", "b.vault", "--new-key-file", "new.key", status: 64), .init("create", "b.vault"),
        .init("create", "-f", status: 64), .init("set", "tok", "ci", input: "fresh secret"),
        .init("set", "item", "1", input: "fresh secret\n"), .init("set", "tok", "ci", "--generate"),
        .init("set", "tok", "ci", "--secret-file", "file"),
        .init("set", "item", "2", "--accessible", "when-unlocked-this-device-only", input: "fresh secret"),
        .init("add", "tok", "ci", "--group", "g", input: "fresh secret"),
        .init("add", "item", "1", input: "other", status: 1),
        .init("get", "item", "1"), .init("get", "item", "1", "--json"), .init("get", "nobody", status: 1),
        .init("list"),
        .init("list", "--json"), .init("update", "item", "1", "--label", "L"),
        .init("move", "item", "1", "--to-account", "9"),
        .init("remove", "item", "1", "--yes"), .init("rm", "item", "2", "-y"), .init("inspect"),
        .init("inspect", "a.vault", "--json"),
        .init("import", "items.json"),
        .init("import", "-", "--format", "csv", input: "title,username,password\na,b,c\n"),
        .init("export"), .init("export", "--output", "out.json"), .init("verify"),
        .init("rekey", "--new-key-file", "new.key"),
        .init("rekey", "--rotate", "--yes"), .init("slot", status: 64), .init("slot", "list"),
        .init("slot", "add", "--new-key-file", "new.key", "--name", "second"), .init("compact"),
        .init("salvage", "a.vault", "--output", "b.vault"), .init("anchor"), .init("anchor", "a.vault", "--accept"),
        .init("read", "vaultfmt:item/1"), .init("inject", "template"),
        .init("inject", input: "x {{ vaultfmt:item/1 }}"),
        .init("inject", "template", "--output", "filled"), .init("run", "--env", "A=vaultfmt:item/1", "--", "true"),
        .init("run", "--env", "A=vaultfmt:item/1", "--", "cat", input: "text"), .init("generate"),
        .init("generate", "--words", "4"),
        .init("generate", "--key-file", "made.key"), .init("get", "item", "1", "--passphrase-fd", "3", status: 64),
        .init("rekey", "--new-passphrase-fd", "3", "--kdf", "testing", status: 64),
        .init("get", program: "git-credential-vaultfmt", input: "protocol=https\nhost=web\nusername=u\n\n"),
        .init(
            "store", program: "git-credential-vaultfmt", input: "protocol=https\nhost=h\nusername=u\npassword=pw\n\n"),
        .init(
            "erase", program: "git-credential-vaultfmt", input: "protocol=https\nhost=web\nusername=u\npassword=web\n\n"
        ),
        .init("get", program: "docker-credential-vaultfmt", input: "https://registry.example", status: 1),
        .init(
            "store", program: "docker-credential-vaultfmt",
            input: "{\"ServerURL\":\"https://other.example\",\"Username\":\"u\",\"Secret\":\"s\"}"),
        .init("erase", program: "docker-credential-vaultfmt", input: "https://registry.example"),
        .init("list", program: "docker-credential-vaultfmt"),
        .init("Enter passphrase for key '/k': ", program: "vaultfmt-askpass", status: 64),
    ]
}
