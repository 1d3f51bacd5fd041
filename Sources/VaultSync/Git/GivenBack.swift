import Glibc
import VaultConsole
import VaultLocal

/// Checks git's conversions: attributes can make git convert a vault when it is stored and when it is written back.
extension SyncRound {
    /// Adds a vault to git's index, provided that git would write it back unchanged.
    ///
    /// Attributes, which anyone who can push can set, may make git convert line endings or encodings.
    /// - `here`: The object that the vault itself would be.
    /// - Returns: The object that git stores.
    func add(_ name: String, _ here: String) throws -> String {
        let pathspec = GitFile.pathspec(name)
        guard try !hasEncoding(name) else { throw Self.altered(name, "was not committed") }
        // Git reapplies the attributes to a file that it has already stored only if told to. The attributes may have
        // changed since.
        for options in [[], ["--renormalize"]] {
            try git.require(["add"] + options + ["--", pathspec], "add the vault")
            let stored = try git.require(["rev-parse", "--verify", ":0:\(name)"], "find the vault").line
            if try givesBack(name, stored, here) { return stored }
        }
        _ = try git.run(["reset", "-q", "--", pathspec])
        guard try hash(file.top + "/" + name) == here else { throw Self.overwritten(name) }
        throw Self.altered(name, "was not committed")
    }

    /// Refuses attributes that would give every new clone a different file; the other side may have just added them.
    func requireGivenBack(_ name: String) throws {
        let stored = try git.require(["rev-parse", "--verify", ":0:\(name)"], "find the vault").line
        let here = try hash(file.top + "/" + name)
        // Changes made since then are checked when they are committed.
        guard stored == here, try hasEncoding(name) || !givesBack(name, stored, here) else { return }
        throw Self.altered(name, "was not pushed")
    }

    private static func altered(_ name: String, _ what: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "git would alter \(TerminalText.quoted(name)) because of its attributes, so it \(what); 'git check-attr -a' shows them: "
                + "it needs -text and -ident, and no filter or encoding that changes it")
    }

    /// True if git, writing back a stored version of a vault, would reproduce the local vault.
    func givesBack(_ name: String, _ stored: String, _ here: String) throws -> Bool {
        if stored == here, try !mayConvert(name) { return true }
        let copy = lock.temporary("stored")
        defer { unlink(copy) }
        return try write(["cat-file", "--filters", "--path=\(name)", stored], to: copy) && hash(copy) == here
    }

    /// True if a file has attributes that may make git convert what it stores, so that the results must be compared.
    /// With `text=auto`, git does not convert a file that contains a NUL, as every vault does.
    private func mayConvert(_ name: String) throws -> Bool {
        try values(["text", "crlf", "eol", "ident", "filter", Self.encoding], of: name).contains { attribute, value in
            !(attribute == "text" && value == "auto")
        }
    }

    /// True if git stores a file in another encoding. With some encodings, git writes all bytes back unchanged, but
    /// stores them altered.
    private func hasEncoding(_ name: String) throws -> Bool { try !values([Self.encoding], of: name).isEmpty }

    private static let encoding = "working-tree-encoding"

    /// Returns the values of the given attributes that a file has.
    private func values(_ attributes: [String], of name: String) throws -> [(attribute: String, value: String)] {
        let answer = try git.require(["check-attr", "-z"] + attributes + ["--", name], "read the vault's attributes")
        let parts = answer.text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
        let all = stride(from: 2, to: parts.count, by: 3).map { (attribute: parts[$0 - 1], value: parts[$0]) }
        return all.filter { !["unspecified", "unset"].contains($0.value) }
    }

    /// Returns the object that a file itself would be.
    func hash(_ path: String) throws -> String {
        try git.require(["hash-object", "--no-filters", "--", path], "read the vault").line
    }
}
