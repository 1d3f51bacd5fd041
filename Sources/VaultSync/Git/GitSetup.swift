package import ArgumentParser
import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `git`: commands for a vault in a git repository.
package struct Git: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "git",
        abstract: "Keep a vault in a git repository: set up merging and diffs.",
        discussion: """
            Examples:
              vaultfmt git setup work.vault
              vaultfmt git setup work.vault && git commit -m 'Merge vaults' .gitattributes
            """,
        subcommands: [GitSetup.self, GitMergeDriver.self])

    package init() {}

    package func run() throws { throw MissingCommand() }
}

/// `git setup`: configures the merge driver and the diff driver for a vault.
package struct GitSetup: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Let git merge a vault and show what changed in it.",
        discussion: """
            Adds a line for the vault to .gitattributes, which should be committed, and adds the merge driver and textconv to the configuration of \
            this clone. Git does not copy that configuration, so run this once in each clone. Without the driver, git reports a conflict and leaves \
            this side's vault in the tree, and 'merge -X theirs' silently drops one side. Octopus merges do not use merge drivers, so they fail.

            Examples:
              vaultfmt git setup work.vault
              git diff HEAD~1 work.vault
            """)

    @OptionGroup var file: VaultFileName

    package init() {}

    package func run() throws {
        let found = try GitFile(VaultPath.resolve(file.given))
        _ = try whileOpening { try Vault.id(at: found.path) }
        let line = Self.pattern(found.name) + " -text merge=vaultfmt diff=vaultfmt"
        let isNew = try addAttributes(line, found.top + "/.gitattributes")
        // Git replaces % in the driver before a shell reads it.
        let (program, driver) = (Self.program, Self.program.replacing("%", with: "%%"))
        for (key, value) in [
            ("merge.vaultfmt.name", "vaultfmt: items of both sides"),
            ("merge.vaultfmt.driver", "\(driver) git merge-driver -- %O %A %B %P"),
            ("merge.vaultfmt.recursive", "binary"), ("diff.vaultfmt.textconv", "\(program) diff --git --"),
        ] {
            try found.git.require(["config", "--local", key, value], "set \(key)")
        }
        try requireEffect(on: found)
        Terminal.note(
            "git now merges \(TerminalText.quoted(found.name)) in this clone"
                + (isNew ? "; commit .gitattributes, and run this in the other clones as well" : ""))
    }

    /// Returns a .gitattributes pattern that matches exactly one file.
    private static func pattern(_ name: String) -> String {
        var out = ""
        for character in name.unicodeScalars {
            switch character {
            case "*", "?", "[", "\\": out += "\\\\" + (character == "\\" ? "\\\\" : String(character))
            case "\"": out += "\\\""
            case "\n": out += "\\n"
            default: out.unicodeScalars.append(character)
            }
        }
        return "\"/" + out + "\""
    }

    /// Fails if another line, such as one in a folder's own .gitattributes, overrides the line for the vault.
    private func requireEffect(on found: GitFile) throws {
        let wanted: [(name: String, values: Set<String>)] = [
            ("text", ["unset"]), ("merge", ["vaultfmt"]), ("diff", ["vaultfmt"]), ("ident", ["unspecified", "unset"]),
            ("working-tree-encoding", ["unspecified", "unset"]),
        ]
        let answer = try found.git.require(
            ["check-attr", "-z"] + wanted.map(\.name) + ["--", found.name], "read the attributes")
        // Each record consists of the file, the attribute and its value.
        let fields = answer.text.split(separator: "\0", omittingEmptySubsequences: false)
        for (index, attribute) in wanted.enumerated() where fields.count > 3 * index + 2 {
            let value = String(fields[3 * index + 2])
            guard attribute.values.contains(value) else {
                throw CommandFailure(
                    .usage,
                    "the attribute \(attribute.name) of \(TerminalText.quoted(found.name)) is \(TerminalText.quoted(value)), "
                        + "because of a later line, a .gitattributes in a folder, or .git/info/attributes; remove it and run this again"
                )
            }
        }
    }

    private func addAttributes(_ line: String, _ path: String) throws -> Bool {
        var before: [UInt8] = []
        if try UserFiles.exists(path) {
            let descriptor = vault_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
            guard descriptor >= 0 else { throw Self.failure(-descriptor, "read", path) }
            defer { close(descriptor) }
            let found = try Descriptor.readAll(descriptor, name: ".gitattributes", limit: 1 << 20)
            before = found.withUnsafeBytes { Array($0) }
        }
        let lines = before.split(separator: 0x0A, omittingEmptySubsequences: true)
        if lines.contains(where: { $0.elementsEqual(line.utf8) }) { return false }
        let descriptor = vault_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o644)
        guard descriptor >= 0 else { throw Self.failure(-descriptor, "write", path) }
        defer { close(descriptor) }
        let added = (before.last ?? 0x0A) == 0x0A ? Array(line.utf8) + [0x0A] : [0x0A] + Array(line.utf8) + [0x0A]
        let failure = added.withUnsafeBytes { Descriptor.writeAll(descriptor, $0) }
        guard failure == 0 else { throw CommandFailure(system: failure, "cannot write .gitattributes") }
        return true
    }

    /// Returns the failure for an error. A link is not followed, because anyone who can write to the repository could
    /// make it point anywhere.
    private static func failure(_ error: Int32, _ action: String, _ path: String) -> CommandFailure {
        error == ELOOP
            ? CommandFailure(.usage, "\(TerminalText.path(path)) is a symbolic link; replace it with a file")
            : CommandFailure(system: error, "cannot \(action) .gitattributes")
    }

    /// The command with which git's configuration starts this program: the program's name if it is found in PATH,
    /// otherwise its path.
    static var program: String {
        if Subprocess.find("vaultfmt") != nil { return "vaultfmt" }
        return OwnProgram.path.map(quoted) ?? "vaultfmt"
    }

    /// Quotes text for a shell.
    package static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
