public import VaultCrypto

/// An identity of a plugin, `AGE-PLUGIN-NAME-1…`. It is only stored, because only the plugin can use it.
public final class PluginIdentity: Sendable {
    /// The plugin's name. Its program is called `age-plugin-NAME`.
    public let name: String
    /// The text from the file, in which some plugins keep secrets.
    public let text: Secret

    init(name: String, text: consuming Secret) {
        self.name = name
        self.text = text
    }

    /// Creates an identity of a plugin that contains `data`.
    public convenience init(name: String, data: borrowing Secret) {
        self.init(name: name, text: Bech32.encode(prefix: "age-plugin-\(name)-", data).uppercased())
    }

    /// Returns the data in the text of an identity of the plugin `name`, or nil if the text is not such an identity.
    static func data(of text: String, name: String) -> Secret? {
        guard let decoded = Secret(text: text).withUnsafeBytes({ Bech32.decode($0) }),
            decoded.prefix == "age-plugin-\(name)-"
        else { return nil }
        return decoded.bytes.copy()
    }
}

/// A decoded identity.
public enum IdentityText: Sendable {
    /// An identity that needs no other program.
    case native(any NativeIdentity)
    /// An identity of a plugin.
    case plugin(PluginIdentity)

    /// Reads `AGE-SECRET-KEY-1…`, `AGE-SECRET-KEY-PQ-1…` or `AGE-PLUGIN-NAME-1…`. Throws `invalidIdentity`.
    public init(_ text: UnsafeRawBufferPointer) throws(AgeError) {
        guard !text.starts(with: "age1".utf8) else {
            throw AgeError(
                .invalidIdentity, "this is a recipient; use the corresponding identity, which starts with AGE-")
        }
        let malformed = AgeError(.invalidIdentity, "not an age identity: it is mistyped or incomplete")
        guard text.starts(with: "AGE-".utf8), let decoded = Bech32.decode(text) else { throw malformed }
        let prefix = decoded.prefix
        switch prefix {
        case X25519Identity.prefix:
            guard decoded.bytes.count == KeyAgreement.size else { throw malformed }
            self = .native(X25519Identity(privateKey: decoded.bytes.copy()))
        case HybridIdentity.prefix:
            guard decoded.bytes.count == HybridIdentity.seedSize else { throw malformed }
            self = .native(try HybridIdentity(seed: decoded.bytes.copy()))
        default:
            let name = String(prefix.dropFirst(Self.pluginPrefix.count).dropLast())
            guard prefix.hasPrefix(Self.pluginPrefix), prefix.hasSuffix("-"), PluginName.isValid(name) else {
                throw malformed
            }
            self = .plugin(PluginIdentity(name: name, text: Secret(copying: text)))
        }
    }

    private static let pluginPrefix = "age-plugin-"
}

/// A file of identities, one per line, as `age-keygen` writes it.
public enum IdentityList {
    /// Reads a file's content, skipping empty lines and lines that start with `#`. Throws `tooLarge`, or
    /// `invalidIdentity` if a line is malformed (the error then contains the line number) or if the file contains no
    /// identity.
    public static func read(_ content: borrowing Secret) throws(AgeError) -> [IdentityText] {
        guard content.count <= AgeLimit.identityFile else {
            throw AgeError(.tooLarge, "an identity file must not exceed 1 MiB")
        }
        let all = try content.withUnsafeBytes { (content) throws(AgeError) in
            var all: [IdentityText] = []
            for (index, bytes) in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .enumerated()
            {
                var line = bytes
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                guard let first = line.first, first != UInt8(ascii: "#") else { continue }
                guard all.count < AgeLimit.identities else {
                    throw AgeError(.tooLarge, "a file can contain at most \(AgeLimit.identities) identities")
                }
                do throws(AgeError) { all.append(try IdentityText(UnsafeRawBufferPointer(rebasing: line))) } catch {
                    throw AgeError(error.code, "line \(index + 1): \(error.detail)")
                }
            }
            return all
        }
        guard !all.isEmpty else { throw AgeError(.invalidIdentity, "the file contains no identity") }
        return all
    }
}
