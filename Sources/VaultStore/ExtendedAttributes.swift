internal import CVaultShim
internal import Glibc

/// Carries a file's extended attributes (access control lists among them) over to its replacement.
enum ExtendedAttributes {
    static func copy(from source: Int32, to target: Int32, path: String) throws(VaultError) {
        for name in try names(source, path) {
            let size = fgetxattr(source, name, nil, 0)
            guard size >= 0 else { throw failure(name, path) }
            var value = [UInt8](repeating: 0, count: size)
            let read = value.withUnsafeMutableBytes { fgetxattr(source, name, $0.baseAddress, $0.count) }
            guard read == size else { throw failure(name, path) }
            // Equal already where the system sets it on every new file (SELinux labels).
            guard !holds(target, name, value) else { continue }
            guard value.withUnsafeBytes({ fsetxattr(target, name, $0.baseAddress, $0.count, 0) }) == 0 else { throw failure(name, path) }
        }
    }

    private static func names(_ descriptor: Int32, _ path: String) throws(VaultError) -> [String] {
        let size = flistxattr(descriptor, nil, 0)
        if size < 0 && errno == ENOTSUP { return [] }
        guard size >= 0 else { throw SystemCall.error(errno, "read the attributes of", path) }
        var list = [CChar](repeating: 0, count: size)
        let used = flistxattr(descriptor, &list, size)
        guard used >= 0 else { throw SystemCall.error(errno, "read the attributes of", path) }
        return list[..<used].split(separator: 0).map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    private static func holds(_ descriptor: Int32, _ name: String, _ value: [UInt8]) -> Bool {
        var current = [UInt8](repeating: 0, count: value.count)
        let read = current.withUnsafeMutableBytes { fgetxattr(descriptor, name, $0.baseAddress, $0.count) }
        return read == value.count && current == value
    }

    private static func failure(_ name: String, _ path: String) -> VaultError {
        VaultError(.cannotReplace, "the attribute \(name) of \(path) could not be kept on a new file")
    }
}
