import CVaultShim
import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The copies that file syncers create next to a file that was changed on two machines.
package enum ConflictCopies {
    /// A file that may be a copy. The file was recognized only by its name and has not been read yet.
    package struct Candidate {
        package let path: String
        /// True if a person could have chosen this name. OneDrive adds a computer's name, which can be any word.
        package let mayBeNamedByPerson: Bool
    }

    /// Returns the candidates next to a vault, sorted by path.
    package static func candidates(of vault: String) throws -> [Candidate] {
        let folder = UserFiles.parent(of: vault)
        let name = String(vault[(vault.lastIndex(of: "/").map { vault.index(after: $0) } ?? vault.startIndex)...])
        guard let directory = opendir(folder) else {
            throw CommandFailure(system: errno, "cannot list the folder \(TerminalText.path(folder))")
        }
        defer { closedir(directory) }
        let host = hostName()
        var found: [Candidate] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let other = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                bytes.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            guard let other, let middle = middle(of: other, beside: name) else { continue }
            let isCertain = isCopy(middle, host: host)
            guard isCertain || isWord(middle) else { continue }
            let path = folder == "." && !vault.hasPrefix("./") ? other : folder + "/" + other
            found.append(Candidate(path: path, mayBeNamedByPerson: !isCertain))
        }
        guard errno == 0 else {
            throw CommandFailure(system: errno, "cannot list the folder \(TerminalText.path(folder))")
        }
        return found.sorted { $0.path < $1.path }
    }

    /// Returns whether a file name follows a syncer's pattern for a copy of another file, given what the syncer added
    /// to that file's name.
    ///
    /// - Syncthing: `work.sync-conflict-20260131-235959-ABCDEFG.vault`
    /// - Dropbox, Nextcloud, ownCloud, Seafile, Synology, Resilio and others: "conflict" in the user's language, such
    ///   as `work (Ann's conflicted copy 2026-01-31).vault` or `work_conflict-20260131-235959.vault`
    /// - OneDrive: `work-DESKTOP-1A2B3C4.vault`, where the last part is the name of a Windows computer or of this
    ///   computer, possibly followed by a number; any other computer's name is not a reliable mark
    /// - iCloud and Google Drive: `work 2.vault` and `work (1).vault`
    private static func isCopy(_ middle: Substring, host: String) -> Bool {
        isConflictMark(middle) || isNumber(middle) || isComputer(middle, host: host)
    }

    /// Returns the part of a file name that lies between the two parts of another file's name.
    private static func middle(of other: String, beside name: String) -> Substring? {
        let (stem, suffix) = split(name)
        guard other != name, other.hasPrefix(stem), other.hasSuffix(suffix) else { return nil }
        let middle = other.dropFirst(stem.count).dropLast(suffix.count)
        return !middle.isEmpty && stem.count + middle.count + suffix.count == other.count ? middle : nil
    }

    /// Splits a name at its last dot.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Returns whether the name marks the file explicitly as a conflict copy, rather than just with a number or the
    /// name of a computer.
    static func isMarked(_ path: String) -> Bool { holdsMark(path.split(separator: "/").last ?? "") }

    private static func isConflictMark(_ middle: Substring) -> Bool {
        guard let first = middle.first, " .-_([".contains(first) else { return false }
        return holdsMark(middle)
    }

    private static func holdsMark(_ name: Substring) -> Bool {
        let text = name.lowercased()
        return ["conflict", "konflikt", "conflit"].contains { text.contains($0) }
    }

    /// " 2" or " (2)".
    private static func isNumber(_ middle: Substring) -> Bool {
        guard middle.first == " " else { return false }
        var text = middle.dropFirst()
        if text.first == "(" && text.last == ")" { text = text.dropFirst().dropLast() }
        return (1...2).contains(text.count) && text.allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// "-NAME" or "-NAME-2", where NAME is the name of a computer.
    private static func isComputer(_ middle: Substring, host: String) -> Bool {
        guard middle.first == "-" else { return false }
        let text = middle.dropFirst().uppercased()
        if ["DESKTOP-", "LAPTOP-", "WIN-"].contains(where: { text.hasPrefix($0) && text.count > $0.count }) {
            return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        }
        guard !host.isEmpty, text.hasPrefix(host.uppercased()) else { return false }
        let rest = text.dropFirst(host.count)
        return rest.isEmpty || (rest.first == "-" && rest.count > 1 && rest.dropFirst().allSatisfy(\.isNumber))
    }

    /// "-NAME", where NAME can be the name of any computer.
    private static func isWord(_ middle: Substring) -> Bool {
        middle.first == "-" && (2...64).contains(middle.count)
            && middle.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }
    }

    private static func hostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(text.prefix { $0 != "." })
    }
}

/// The state of a file when a copy was opened, so that a copy that has changed since then is not moved aside.
struct FileMark: Equatable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let changed: (Int64, Int64)

    /// - Throws: `ExitStatus.usage` if the path is not a regular file: a link can point anywhere, and a pipe may never
    ///   end.
    init(_ path: String) throws {
        var status = vault_status()
        guard vault_status_of(path, false, &status) == 0 else {
            throw CommandFailure(system: errno, "cannot look up \(TerminalText.path(path))")
        }
        guard status.mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.usage, "not a regular file; if you trust what it points to, merge it by name")
        }
        device = status.device
        number = status.number
        size = status.size
        changed = (status.changed_seconds, status.changed_nanoseconds)
    }

    static func == (left: FileMark, right: FileMark) -> Bool {
        left.device == right.device && left.number == right.number && left.size == right.size
            && left.changed == right.changed
    }
}
