import Foundation
import TestSupport
import VaultFmt

typealias Folder = TestSupport.Folder

extension Folder {
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
