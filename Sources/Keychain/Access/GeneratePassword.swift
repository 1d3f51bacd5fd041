internal import VaultFmt

extension Keychain {
    /// A random password in the form `xxx-xxx-xxx-xxx`, of letters and digits that are not easily confused, at least
    /// one of each kind.
    ///
    /// 12 characters of 54; every password of the form is as likely as the others.
    public static func generatePassword() -> String {
        let sets = ["abcdefghkmnopqrstuvwxy", "ABCDEFGHJKLMNPQRSTUVWXYZ", "3456789"].map { Array($0) }
        let all = sets.joined().map { $0 }
        while true {
            let drawn = draw(12, from: all)
            guard sets.allSatisfy({ set in drawn.contains { set.contains($0) } }) else { continue }
            return stride(from: 0, to: 12, by: 3).map { String(drawn[$0..<$0 + 3]) }.joined(separator: "-")
        }
    }

    /// Characters that are each as likely as the others: bytes beyond the last multiple of their number are drawn
    /// again.
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
