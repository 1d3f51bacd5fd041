import Glibc

/// The environment of every program that this one starts.
package enum ChildEnvironment {
    /// Returns this process's environment without the variables that open vaults, as passed to other programs. The
    /// strings still belong to this process's environment.
    /// - `isWithheld`: Whether the variable with the given name is left out as well.
    package static func inherited(
        without names: Set<String> = [], withholding isWithheld: (String) -> Bool = { _ in false }
    ) -> [UnsafeMutablePointer<CChar>?] {
        var kept: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            let length = strcspn(entry, "=")
            let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: length), as: UTF8.self)
            if !withheld.contains(name) && !names.contains(name) && !isWithheld(name) { kept.append(entry) }
            next += 1
        }
        return kept
    }

    /// The variables that provide the factors of vaults.
    package static let withheld = Set(
        ["PASSPHRASE", "PASSPHRASE_FILE", "KEY_FILE", "IDENTITY"].flatMap { ["VAULTFMT_\($0)", "VAULTFMT_NEW_\($0)"] })
}
