import Foundation
import VaultFmt

/// A folder of its own for one test, removed with it.
final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("vaultfmt-spec-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit {
        // A folder that cannot be removed is left to the system's own tidying.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

extension Secret {
    /// Bytes that are no secret but of a test.
    init(_ bytes: [UInt8]) {
        self.init(count: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }
}
