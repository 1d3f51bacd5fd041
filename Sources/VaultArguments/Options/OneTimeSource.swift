import ArgumentParser
import Glibc
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The source of a seed for one-time codes: a hidden prompt, a pipe, a file, or an image of a QR code, but never an
/// argument.
package struct OneTimeSource: ParsableArguments {
    @Flag(help: "Store one-time codes: prompt for the key or an otpauth: address, or read it from a pipe.")
    var otp = false

    @Option("Read the key, or an otpauth: address, from a file.", isFile: true)
    var otpFile: String?

    @Option("Read the key from a QR code image (needs zbarimg).", isFile: true)
    var otpImage: String?

    package init() {}

    package func validate() throws {
        guard [otp, otpFile != nil, otpImage != nil].count(where: \.self) <= 1 else {
            throw ValidationError("--otp, --otp-file and --otp-image cannot be combined; use only one")
        }
    }

    /// True if one-time codes will be stored.
    package var isGiven: Bool { otp || otpFile != nil || otpImage != nil }

    /// True if the user is prompted for the seed.
    package var asks: Bool { otp && Terminal.inputIsTerminal }

    /// Fails before any prompt if there is no seed to read, or if the seed was given as an argument.
    package func check(_ name: ItemName, _ access: AccessOptions) throws {
        try check([name.service, name.account].compactMap(\.self), access)
    }

    /// Performs the same checks for the words of a name.
    package func check(_ words: [String], _ access: AccessOptions) throws {
        guard isGiven else { return }
        guard !words.contains(where: Self.isSeed) else {
            throw CommandFailure(
                .usage,
                "the seed must not be given as an argument, because other programs can read arguments; leave it out: --otp asks for it, or reads it from a pipe"
            )
        }
        guard otp else { return }
        guard access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot provide both the passphrase and the seed; read one of them from a file")
        }
        guard !(Terminal.inputIsTerminal && access.noInput) else {
            throw CommandFailure(.usage, "no seed is given, and --no-input forbids prompting; \(Self.instead)")
        }
    }

    /// Reads the seed for an item; returns nil if the options do not request one.
    package func read(for key: ItemKey, label: String?) throws -> Attribute? {
        guard isGiven else { return nil }
        let text = try text(for: ItemText.summary(key))
        let issuer = label ?? key.service ?? key.server ?? ""
        let seed = try OneTimeSeed(text, issuer: issuer, account: key.account ?? "")
        seed.warnIfShort()
        return seed.attribute
    }

    private func text(for item: String) throws -> Secret {
        if let otpImage { return try QRImage.address(in: otpImage) }
        let longest = OneTimeSeed.longest
        if let otpFile { return try Descriptor.readFile(otpFile, what: "file with the seed", limit: longest) }
        guard asks else {
            return try Descriptor.readAll(STDIN_FILENO, name: "the seed on standard input", limit: longest)
        }
        return try Prompt.secret("Key or otpauth: address for \(item)", instead: Self.instead)
    }

    /// Returns whether the text is an address with a seed.
    package static func isAddress(_ word: String) -> Bool {
        let start = word.prefix(10).lowercased()
        return start.hasPrefix("otpauth:") || start.hasPrefix("otpauth-") || start.hasPrefix("steam://")
    }

    /// Returns whether the text is an address or can only be a key in Base32.
    private static func isSeed(_ word: String) -> Bool {
        isAddress(word)
            || word.utf8.count >= 16
                && word.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x32...0x37).contains($0) }
    }

    private static let instead = "pipe it in, or use --otp-file or --otp-image"
}
