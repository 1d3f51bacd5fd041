internal import Glibc
internal import TestSupport

extension Folder {
    var names: [String] { Files.names(in: path) }
}

/// Small things about files.
enum Files {
    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Wrong("cannot open \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var out: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count > 0 else { return out }
            out.append(contentsOf: piece[..<count])
        }
    }

    /// Writes a whole new file, or says how far it got.
    @discardableResult
    static func write(_ bytes: [UInt8], to path: String) throws -> Int {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Wrong("cannot make \(path): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            guard count > 0 else { return done }
            done += count
        }
        return done
    }

    static func status(_ path: String, followingLinks: Bool = true) -> stat? {
        var status = stat()
        let result = followingLinks ? stat(path, &status) : lstat(path, &status)
        return result == 0 ? status : nil
    }
}
