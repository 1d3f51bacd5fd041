import CVaultFmt
import Foundation
import Testing
import VaultC
import VaultFmt

@Suite("The C interface")
struct StatusTests {
    private static let header = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/C/CVaultFmt/include/vaultfmt.h").standardizedFileURL

    /// `noSuchItem` as `no-such-item`.
    private func words(_ code: VaultError.Code) -> String {
        if code == .io { return "io" }
        return "\(code)".replacing("KDF", with: "Kdf").map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }
            .joined()
    }

    @Test("has the library's numbers and names for errors", arguments: VaultError.Code.allCases)
    func status(_ code: VaultError.Code) throws {
        let name = words(code)
        #expect(String(cString: vaultfmt_status_name(code.rawValue)) == name)
        let text = try String(contentsOf: Self.header, encoding: .utf8)
        let constant = "VAULTFMT_" + name.replacing("-", with: "_").uppercased()
        #expect(text.contains("    \(constant) = \(code.rawValue)"), "the header has \(constant) = \(code.rawValue)")
    }

    @Test("knows no other errors")
    func others() {
        let numbers = VaultError.Code.allCases.map(\.rawValue)
        #expect(String(cString: vaultfmt_status_name(0)) == "ok")
        #expect(String(cString: vaultfmt_status_name((numbers.max() ?? 0) + 1)) == "unknown")
        #expect(numbers.sorted() == Array(1...Int32(numbers.count)))
    }

    @Test("cuts a long text between characters")
    func longText() {
        let factors = [UInt8](repeating: 1, count: 32)
        let path = "/nonexistent/" + String(repeating: "ü", count: 2000)
        let status = factors.withUnsafeBufferPointer { key in
            var given = vaultfmt_factors()
            given.struct_size = UInt32(MemoryLayout<vaultfmt_factors>.stride)
            given.raw_key = vaultfmt_bytes(data: key.baseAddress, size: key.count)
            var vault: OpaquePointer?
            return vaultfmt_open(path, &given, nil, &vault)
        }
        let text = String(validatingCString: vaultfmt_error_text())
        #expect(status != 0)
        #expect(text.map { (1022...1023).contains($0.utf8.count) } ?? false, "it is UTF-8, and as long as fits")
    }
}
