import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore

@testable import VaultLocal

@Suite("Keys in the kernel keyring")
struct KernelKeyringTests {
    static var isThere: Bool {
        do throws(VaultError) {
            _ = try KernelKeyring.drop(path: "/nothing is kept for this path")
            return true
        } catch { return false }
    }

    /// Keeps and drops the key of one vault, again and again.
    private static func keepAndDrop(_ vault: VaultID, times: Int) throws(VaultError) {
        for _ in 0..<times {
            let key = KeptKey(slot: .zero, wrappingKey: Secret(bytes: Array(repeating: 7, count: 32)))
            try KernelKeyring.keep(key, vault: vault, path: "/kept for this test", seconds: 60)
            _ = try KernelKeyring.drop(vault: vault)
        }
    }

    @Test("a key that another process drops meanwhile is gone; that is no denial", .enabled(if: Self.isThere))
    func race() async throws {
        let vault = VaultID(Bytes16(Array(repeating: 0xA5, count: 16)) ?? .zero)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try Self.keepAndDrop(vault, times: 3000) }
            group.addTask { for _ in 0..<3000 { _ = try KernelKeyring.find(vault: vault) } }
            group.addTask { for _ in 0..<300 { _ = try KernelKeyring.drop(path: "/not kept for this test") } }
            group.addTask { for _ in 0..<3000 { _ = try KernelKeyring.drop(vault: vault) } }
            try await group.waitForAll()
        }
        _ = try KernelKeyring.drop(vault: vault)
    }
}
