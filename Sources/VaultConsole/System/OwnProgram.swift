import Glibc

/// The executable file of this process.
package enum OwnProgram {
    /// The path of the file; nil if the system does not report it. Other processes of this user can start it, unlike
    /// `/proc/PID/exe`, which only root can read if the process is not dumpable.
    package static var path: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
