internal import CVaultShim
internal import Glibc

/// Copies a file's extended attributes, including access control lists, to its replacement.
enum ExtendedAttributes {
    static func copy(from source: Int32, to target: Int32, path: String) throws(VaultError) {
        for name in try names(source, path) {
            guard let value = value(source, name) else { throw failure(name, path) }
            // The system may already have set this attribute on the new file, as with SELinux labels.
            if self.value(target, name) == value { continue }
            let result = value.withUnsafeBytes { vault_set_attribute(target, name, $0.baseAddress, $0.count) }
            guard result == 0 else { throw failure(name, path) }
        }
    }

    private static func names(_ descriptor: Int32, _ path: String) throws(VaultError) -> [String] {
        // The size of the largest list that the kernel allows; asking for the actual size first would race with a
        // process that adds an attribute.
        var list = [CChar](repeating: 0, count: 65_536)
        let used = vault_list_attributes(descriptor, &list, list.count)
        if used == Int64(-ENOTSUP) { return [] }
        guard used >= 0, used <= list.count else {
            throw SystemCall.error(used < 0 ? Int32(-used) : E2BIG, "read the attributes of", path)
        }
        return list[..<Int(used)].split(separator: 0).map {
            String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    private static func value(_ descriptor: Int32, _ name: String) -> [UInt8]? {
        let size = vault_get_attribute(descriptor, name, nil, 0)
        guard size >= 0 else { return nil }
        var value = [UInt8](repeating: 0, count: Int(size))
        let used = value.withUnsafeMutableBytes { vault_get_attribute(descriptor, name, $0.baseAddress, $0.count) }
        return used == size ? value : nil
    }

    private static func failure(_ name: String, _ path: String) -> VaultError {
        VaultError(.cannotReplace, "the attribute \(name) of \(path) cannot be preserved on a new file")
    }
}
