import Foundation
import TestSupport
import VectorMaking

/// `random`: vaults of a seed as vectors, for an exchange with another implementation (Tools/exchange).
enum RandomCommand {
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 4, let seed = UInt64(arguments[0]), let first = Int(arguments[1]),
            let count = Int(arguments[2])
        else {
            throw ForgeError("random takes a seed, the number of the first vault, how many, and a folder")
        }
        let folder = URL(fileURLWithPath: arguments[3], isDirectory: true)
        for number in first..<first + count {
            let digits = "\(number)"
            let name = "random-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
            var vault = try RandomVault(seed, number)
            let (vector, dump) = try vault.vector(name, "vault \(number) of seed \(seed), by the library")
            // What the specification alone makes of it is compared at once.
            guard SpecReading(vector.file, vector.request).dump == dump else {
                throw ForgeError("\(name): the dumps differ")
            }
            try Data(try vector.encode(dump: dump)).write(to: folder.appendingPathComponent(name + ".vector"))
        }
    }
}
