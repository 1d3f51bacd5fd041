package import VaultFmt

extension VaultError {
    /// True if something in the file is not what was written there.
    package var isDamage: Bool { code == .authenticationFailed || code == .structureInvalid }
}
