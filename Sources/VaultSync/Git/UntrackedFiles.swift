import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The local files that git does not track. A merge overwrites ignored files.
extension SyncRound {
    /// Fails if an untracked local file has the same path as a file that the other side added.
    func requireNoLoss() throws {
        let options = ["--cached", "--name-only", "--no-renames", "--diff-filter=D", "-z"]
        let compared = try git.require(["diff"] + options + [fetched, "--"], "compare the index")
        let missing = compared.text.split(separator: "\0").map(String.init)
        guard !missing.isEmpty else { return }
        var theirs: Set<String> = []
        for base in try git.run(["merge-base", "--all", "HEAD", fetched]).text.split(separator: "\n") {
            theirs.formUnion(try changed(String(base), fetched, "AMT"))
        }
        let added = Set(missing).intersection(theirs)
        let folders = Set(added.flatMap(Self.folders))
        var places = Array(Set(added.compactMap(occupied)))
        while !places.isEmpty {
            let some = places.suffix(Self.mostPlaces).map(GitFile.pathspec)
            places.removeLast(some.count)
            let found = try git.require(["ls-files", "--others", "-z", "--"] + some, "list the files here").text
            for name in found.split(separator: "\0").map(String.init) {
                let isInPlace = added.contains(name) || folders.contains(name)
                guard isInPlace || Self.folders(of: name).contains(where: added.contains) else { continue }
                throw CommandFailure(
                    .io,
                    "git would overwrite \(TerminalText.quoted(name)), which it does not track, with what the other side added; "
                        + "move it to another name or folder first")
            }
        }
    }

    /// The number of names that fit in one command line, regardless of their length.
    private static let mostPlaces = 200

    /// Returns the part of a path at which git would have to replace an existing file, or nil.
    private func occupied(_ name: String) -> String? {
        var path = ""
        let parts = name.split(separator: "/")
        for (index, part) in parts.enumerated() {
            // The name is not UTF-8, so the file system would not find it; its entire folder is listed instead.
            guard !part.contains("\u{FFFD}") else { return path }
            path += path.isEmpty ? part : "/" + part
            var status = vault_status()
            guard vault_status_of(file.top + "/" + path, false, &status) == 0 else { return nil }
            if status.mode & S_IFMT != S_IFDIR || index == parts.count - 1 { return path }
        }
        return nil
    }

    /// Returns the folders that contain a file, given its name.
    private static func folders(of name: String) -> [String] {
        name.indices.filter { name[$0] == "/" }.map { String(name[..<$0]) }
    }
}
