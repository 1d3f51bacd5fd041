import Glibc

/// The environment of every program that this one starts.
enum ChildEnvironment {
    /// This process's environment without what opens vaults, as every other program gets it; its strings stay this
    /// process's.
    /// - `keepsFactors`: Whether it keeps what opens vaults.
    static func inherited(without names: Set<String> = [], keepsFactors: Bool = false) -> [UnsafeMutablePointer<CChar>?]
    {
        var kept: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            let length = strcspn(entry, "=")
            let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: length), as: UTF8.self)
            if (keepsFactors || !withheld.contains(name)) && !names.contains(name) { kept.append(entry) }
            next += 1
        }
        return kept
    }

    private static let withheld = ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE"].flatMap {
        ["VAULTFMT_\($0)", "VAULTFMT_NEW_\($0)"]
    }
}
