internal import CTestSupport
internal import Glibc

/// A folder of a test's own, removed with it.
package final class Folder: Sendable {
    package let path: String

    package init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/vaultfmt-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw NoFolder(number: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // What cannot be removed is left to the system's own tidying.
    deinit { test_remove_folder(path) }

    package func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// There is no room for a temporary folder, or no permission.
package struct NoFolder: Error {
    package let number: Int32
}
