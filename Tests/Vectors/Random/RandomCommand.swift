import Foundation
import VaultForge

/// `random`: vaults of a seed as vectors, for an exchange with another implementation (Tools/exchange).
enum RandomCommand {
    static func run(_ seed: String, _ count: String, _ folder: String) throws {
        guard let seed = UInt64(seed), let count = Int(count), count > 0 else {
            throw ForgeError("random takes a seed, a count and a folder")
        }
        for number in 0..<count {
            let name = "random-" + String(repeating: "0", count: max(0, 5 - "\(number)".count)) + "\(number)"
            var vault = try RandomVault(seed, number)
            let vector = try vault.vector(name, "vault \(number) of seed \(seed), by the library")
            try Data(try vector.encode()).write(to: URL(fileURLWithPath: folder).appendingPathComponent(name + ".vector"))
        }
    }
}
