internal import CVaultShim
internal import Glibc

/// Guesses the holder of a lock: open-file-description locks do not belong to a process, but `/proc` lists them for
/// each descriptor.
enum LockHolder {
    /// Returns "name (pid)" of the first process found with a lock on the inode that blocks a writer. A read lock also
    /// blocks writers, and any program that can read the file can acquire one; the returned text mentions this case.
    static func find(inode: UInt64) -> String? {
        var reader: String?
        for process in names(in: "/proc") where process.utf8.allSatisfy({ (48...57).contains($0) }) {
            for descriptor in names(in: "/proc/\(process)/fdinfo") {
                guard let info = content(of: "/proc/\(process)/fdinfo/\(descriptor)") else { continue }
                for line in info.split(separator: "\n") where line.hasPrefix("lock:") && !line.contains("FLOCK") {
                    guard line.contains(":\(inode) ") else { continue }
                    let name =
                        content(of: "/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init) ?? "process"
                    if line.contains(" WRITE ") { return "\(name) (\(process))" }
                    if line.contains(" READ ") {
                        reader = reader ?? "\(name) (\(process)), which holds a read lock"
                    }
                }
            }
        }
        return reader
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = vault_open_directory(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let name = vault_next_name(stream).map({ String(cString: $0) }) {
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func content(of path: String) -> String? {
        let descriptor = vault_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
