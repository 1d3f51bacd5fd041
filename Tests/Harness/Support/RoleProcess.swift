internal import Glibc

/// This program once more, in a role, as a process of its own.
struct RoleProcess {
    let pid: pid_t

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func start(_ role: String, _ arguments: [String]) throws -> RoleProcess {
        var words: [UnsafeMutablePointer<CChar>?] = (["harness", "--role", role] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, "/proc/self/exe", nil, nil, &words, environ)
        guard result == 0 else { throw Failure(description: "cannot start a process: error \(result)") }
        return RoleProcess(pid: pid)
    }

    /// The exit code; 128 and the number for a signal.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}

/// A folder that goes with its last holder.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/vaultfmt-harness-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw RoleProcess.Failure(description: "cannot make a folder: error \(errno)") }
        path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func file(_ name: String) -> String { path + "/" + name }

    var names: [String] {
        var all: [String] = []
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { all.append(name) }
        }
        return all.sorted()
    }

    deinit {
        for name in names { unlink(file(name)) }
        rmdir(path)
    }
}
