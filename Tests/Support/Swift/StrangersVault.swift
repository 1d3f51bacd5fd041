internal import VaultBytes

/// A vault with the owners' id, states and factors, under another vault key.
package enum StrangersVault {
    /// A file whose keyring no longer says that the owners handed the vault over.
    package static func withoutHandOvers(_ file: [UInt8], rawKey: UInt8) throws -> [UInt8] {
        try withoutHandOvers(file, .rawKey([UInt8](repeating: rawKey, count: 32)))
    }

    package static func withoutHandOvers(_ file: [UInt8], _ factors: ForgeFactors) throws -> [UInt8] {
        var forge = try Forge(file, factors)
        forge.onKeyring(try forge.last(.keyring)) { $0.handOvers = [] }
        return try forge.assemble()
    }
}
