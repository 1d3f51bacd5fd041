import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultReferences

/// `askpass`, and `vaultfmt-askpass`: answers programs that run a helper program to ask for a password.
struct Askpass: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "askpass",
        abstract: "Answer password prompts for SSH_ASKPASS, SUDO_ASKPASS and similar.",
        discussion: """
            VAULTFMT_ASKPASS specifies which questions may be answered; if it is not set, none are. If it is a \
            reference, that secret answers every question. 'ssh' is for OpenSSH 8.5 and newer: a key file's passphrase \
            is taken from the item 'ssh' with the file's path as its account, and a password from the internet \
            password with protocol ssh for that user and host. In older versions and in dropbear, a server can choose \
            the wording of these questions and would receive the answer, so use a reference for those. '-' is for a \
            program that starts another: the answer is read from standard input. Yes-or-no questions are never \
            answered.

            Examples:
              vaultfmt set ssh ~/.ssh/id_ed25519
              vaultfmt set --server host.example.org --protocol ssh --account alice
              VAULTFMT_ASKPASS=ssh SSH_ASKPASS=vaultfmt-askpass SSH_ASKPASS_REQUIRE=force ssh-add ~/.ssh/id_ed25519
              VAULTFMT_ASKPASS=vaultfmt:sudo SUDO_ASKPASS=$(command -v vaultfmt-askpass) sudo -A true
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(parsing: .allUnrecognized, help: "The question.")
    var prompt: [String] = []

    func run() throws {
        let secret = try answer()
        guard !secret.withUnsafeBytes({ $0.contains(0x0A) }) else {
            throw CommandFailure(.unavailable, "the secret has several lines and would be truncated after the first")
        }
        let output = Output.standard()
        try output.write(secret)
        try output.write(byte: 0x0A)
        try output.flush()
    }

    private func answer() throws -> Secret {
        guard Environment.value("SSH_ASKPASS_PROMPT") != "confirm" else {
            throw CommandFailure(.usage, "this question must be answered by a person")
        }
        // If the command is given by its own name, "--" precedes the question.
        let question = (prompt.first == "--" ? prompt.dropFirst() : prompt[...]).joined(separator: " ")
        guard !question.contains("(yes/no") else {
            throw CommandFailure(.usage, "this question must be answered by a person")
        }
        guard let bound = try Environment.text("VAULTFMT_ASKPASS") else {
            throw CommandFailure(
                .usage,
                "VAULTFMT_ASKPASS is not set, so nothing is answered; set it to a reference, or to 'ssh' for OpenSSH 8.5 or newer"
            )
        }
        if bound == "-" {
            return FactorInput.withoutLineEnd(
                try Descriptor.readAll(STDIN_FILENO, name: "the standard input", limit: 1 << 20))
        }
        guard bound == "ssh" else { return try Reference(bound).value(in: vault.openVault()) }
        if let path = SSHQuestion.keyFile(question) {
            return try named("ssh", path, .genericPassword)
        }
        if let (user, host) = SSHQuestion.password(question) {
            return try named(host, user, .internetPassword)
        }
        throw CommandFailure(
            .usage,
            "\(TerminalText.quoted(question)) is not one of OpenSSH's questions; set VAULTFMT_ASKPASS to a reference")
    }

    private func named(_ service: String, _ account: String, _ itemClass: ItemClass) throws -> Secret {
        var query = Query(itemClass: itemClass, [.account: .text(account)])
        query[itemClass == .genericPassword ? .service : .server] = .text(service)
        if itemClass == .internetPassword { query[.protocol] = "ssh" }
        let opened = try vault.openVault()
        var cursor = try opened.items(matching: query)
        guard let item = try cursor.next() else {
            throw CommandFailure(
                .noSuchItem,
                "there is no \(itemClass.name) \(TerminalText.quoted(service)) \(TerminalText.quoted(account)) for ssh")
        }
        return try opened.open(item).takeSecret()
    }
}

/// The questions of OpenSSH's programs.
enum SSHQuestion {
    /// Returns the path in "Enter passphrase for key '/path': " (ssh) or "Enter passphrase for /path: " (ssh-add). "Bad
    /// passphrase, try again" does not count as a question.
    static func keyFile(_ question: String) -> String? {
        let text = trimmed(question)
        if let rest = dropPrefix("Enter passphrase for key '", of: text), rest.last == "'" {
            return String(rest.dropLast())
        }
        guard var rest = dropPrefix("Enter passphrase for ", of: text) else { return nil }
        if rest.hasSuffix(" (will confirm each use)") { rest = rest.dropLast(" (will confirm each use)".count) }
        return rest.hasPrefix("/") ? String(rest) : nil
    }

    /// Returns the user and host in "user@host's password: ", or in "(user@host) Password: " (keyboard-interactive
    /// authentication).
    static func password(_ question: String) -> (user: String, host: String)? {
        let text = trimmed(question)
        if text.hasSuffix("'s password") { return split(text.dropLast("'s password".count)) }
        guard text.hasPrefix("("), let end = text.firstIndex(of: ")"), text[end...].lowercased() == ") password" else {
            return nil
        }
        return split(text[..<end].dropFirst())
    }

    /// Splits a user and a host. A text that begins with "(user@host) " is not accepted, because OpenSSH adds that
    /// prefix to questions worded by the server.
    private static func split(_ text: Substring) -> (user: String, host: String)? {
        guard !text.contains(where: { $0 == " " || $0 == "(" || $0 == ")" }) else { return nil }
        guard let sign = text.lastIndex(of: "@"), sign != text.startIndex, text.index(after: sign) != text.endIndex
        else { return nil }
        return (String(text[..<sign]), text[text.index(after: sign)...].lowercased())
    }

    private static func trimmed(_ question: String) -> Substring {
        var text = question[...]
        while let last = text.last, last == " " || last == ":" { text = text.dropLast() }
        return text
    }

    private static func dropPrefix(_ prefix: String, of text: Substring) -> Substring? {
        text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : nil
    }
}
