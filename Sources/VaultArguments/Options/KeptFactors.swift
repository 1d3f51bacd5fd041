import ArgumentParser
import VaultConsole
package import VaultFmt
package import VaultLocal

/// Factors of additional slots that a rotation will keep.
package struct KeptFactors: ParsableArguments {
    @Option("Keep the slot that this passphrase opens, alone or with a --keep-key-file; may be repeated.", isFile: true)
    var keepPassphraseFile: [String] = []

    @Option("Keep the slot that this key file opens; may be repeated.", isFile: true)
    var keepKeyFile: [String] = []

    @Option("Keep the slot that this raw key opens; may be repeated.", isFile: true)
    var keepRawKeyFile: [String] = []

    package init() {}

    package var isAnyGiven: Bool { !(keepPassphraseFile.isEmpty && keepKeyFile.isEmpty && keepRawKeyFile.isEmpty) }

    /// Keeps every slot that the factors open. A file that opens no slot is an error, because the slot that it was
    /// meant for would otherwise be lost.
    /// - `limits`: The limits on key derivation for finding these slots.
    package func apply(to rotation: inout Rotation, limits: ReaderLimits) throws {
        var useful: Set<String> = []
        for passphrase in keepPassphraseFile {
            if try keep(&rotation, limits, passphrase: passphrase) { useful.insert(passphrase) }
            for keyFile in keepKeyFile where try keep(&rotation, limits, passphrase: passphrase, keyFile: keyFile) {
                useful.formUnion([passphrase, keyFile])
            }
        }
        for keyFile in keepKeyFile where try keep(&rotation, limits, keyFile: keyFile) { useful.insert(keyFile) }
        for rawKey in keepRawKeyFile where try keep(&rotation, limits, rawKey: rawKey) { useful.insert(rawKey) }
        if let useless = (keepPassphraseFile + keepKeyFile + keepRawKeyFile).first(where: { !useful.contains($0) }) {
            throw CommandFailure(
                .noAccess, "\(TerminalText.quoted(useless)) does not open any slot to keep; check it, or leave it out"
            )
        }
    }

    private func keep(
        _ rotation: inout Rotation, _ limits: ReaderLimits, passphrase: String? = nil, keyFile: String? = nil,
        rawKey: String? = nil
    ) throws -> Bool {
        let sources = FactorSources(passphraseFile: passphrase, keyFile: keyFile, rawKeyFile: rawKey, twin: .kept)
        return try rotation.keeps(whileOpening { try sources.read() }, limits: limits)
    }
}

extension Rotation {
    /// Keeps the slot that opens with all the given factors together, and returns whether there is such a slot.
    package mutating func keeps(_ given: borrowing GivenFactors, limits: ReaderLimits) throws -> Bool {
        do throws(VaultError) {
            _ = try keep(try given.together(), limits: limits)
            return true
        } catch {
            guard error.code == .noSlotOpens else { throw CommandFailure(error) }
            return false
        }
    }
}
