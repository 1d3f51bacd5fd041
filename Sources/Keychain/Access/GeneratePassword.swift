internal import VaultFmt

extension Keychain {
    /// Returns a random password in the form `xxx-xxx-xxx-xxx`, made of letters and digits that are not easily
    /// confused, with at least one of each kind.
    ///
    /// The password has 12 characters from a set of 54; all passwords of this form are equally likely.
    public static func generatePassword() -> String {
        let sets = ["abcdefghkmnopqrstuvwxy", "ABCDEFGHJKLMNPQRSTUVWXYZ", "3456789"].map { Array($0) }
        let all = sets.joined().map { $0 }
        while true {
            let drawn = draw(12, from: all)
            guard sets.allSatisfy({ set in drawn.contains { set.contains($0) } }) else { continue }
            return stride(from: 0, to: 12, by: 3).map { String(drawn[$0..<$0 + 3]) }.joined(separator: "-")
        }
    }

    /// Draws characters uniformly: bytes beyond the last multiple of the number of characters are rejected.
    private static func draw(_ count: Int, from characters: [Character]) -> [Character] {
        let usable = 256 / characters.count * characters.count
        var drawn: [Character] = []
        while drawn.count < count {
            Secret.random(count: 64).withUnsafeBytes { bytes in
                for byte in bytes where Int(byte) < usable && drawn.count < count {
                    drawn.append(characters[Int(byte) % characters.count])
                }
            }
        }
        return drawn
    }
}
