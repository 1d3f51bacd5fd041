import FoundationEssentials

/// A URL, split into the fields of an internet password.
package struct WebAddress {
    package let server: String
    /// The scheme in lower case, such as "https"; empty if the text has none.
    package let `protocol`: String
    /// The port, or 0 if the text has none.
    package let port: UInt32
    /// The path as in the URL, without the query; a lone "/" becomes empty.
    package let path: String
    /// True if these fields represent the text completely.
    package private(set) var isExact: Bool

    /// Splits addresses joined by commas, as Bitwarden writes them.
    package static func list(_ text: String) -> [String] {
        var list: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let isAddress = part.contains("://")
            if list.isEmpty {
                list.append(String(part))
            } else if isAddress {
                // Proton Pass puts a space after the comma.
                list.append(String(part.drop { $0 == " " }))
            } else {
                list[list.count - 1] += "," + part
            }
        }
        return list
    }

    /// Parses an address, or the first of several joined by commas, as Bitwarden writes them.
    /// - Returns: nil if the text names no server.
    package init?(list text: String) {
        guard let comma = text.firstIndex(of: ",") else {
            self.init(text)
            return
        }
        let rest = text[text.index(after: comma)...]
        let scheme = rest.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
        let isList = !scheme.isEmpty && rest[scheme.endIndex...].hasPrefix("://")
        if !isList, let whole = WebAddress(text) {
            self = whole
            return
        }
        guard let first = WebAddress(String(text[..<comma])) else { return nil }
        self = first
        isExact = false
    }

    /// - Returns: nil if the text names no server.
    private init?(_ text: String) {
        let hasScheme = text.contains("://")
        guard hasScheme || !text.contains("@"), let parts = URLComponents(string: hasScheme ? text : "//" + text) else {
            return nil
        }
        guard let host = parts.host, !host.isEmpty, !host.contains(",") else { return nil }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed || host.unicodeScalars.allSatisfy(Self.mayBeInHost) else { return nil }
        server = (isBracketed ? String(host.dropFirst().dropLast()) : host).lowercased()
        `protocol` = (parts.scheme ?? "").lowercased()
        guard let port = UInt32(exactly: parts.port ?? 0), port <= 65_535 else { return nil }
        self.port = port
        path = parts.percentEncodedPath == "/" ? "" : parts.percentEncodedPath
        let scheme = hasScheme ? `protocol` + "://" : ""
        let rebuilt = scheme + (isBracketed ? "[\(server)]" : server) + (port == 0 ? "" : ":\(port)") + path
        isExact =
            rebuilt.utf8.elementsEqual(text.utf8) || (path.isEmpty && (rebuilt + "/").utf8.elementsEqual(text.utf8))
    }

    /// Returns whether a text contains an address with a password, such as `https://user:password@host`; with a token
    /// in the password's place, such as `https://ghp_0123456789@host`; or with a parameter whose name indicates a
    /// secret value, such as `https://host/?access_token=0123456789`.
    package static func hasPassword(_ text: UnsafeRawBufferPointer, isAddress: Bool = false) -> Bool {
        let mark = Array("://".utf8)
        var index = 0
        while index + mark.count < text.count {
            guard text[index] == mark[0], text[index + 1] == mark[1], text[index + 2] == mark[2] else {
                index += 1
                continue
            }
            index += mark.count
            let rest = text[index...].prefix(longest)
            // A text can continue after an address. An address that contains spaces is still an address.
            if hasPassword(after: rest.prefix { isAddress || $0 > 0x20 }) { return true }
        }
        return false
    }

    /// Returns whether an address, with or without a scheme, contains a password.
    package static func hasPassword(_ address: String) -> Bool {
        var copy = address
        guard !address.contains("://") else {
            return copy.withUTF8 { hasPassword(UnsafeRawBufferPointer($0), isAddress: true) }
        }
        guard let at = address.lastIndex(of: "@") else { return false }
        guard let colon = address[..<at].firstIndex(of: ":") else { return AccessToken.hasKnownPrefix(address.utf8) }
        return !namesOfPeople.contains(address[..<colon].lowercased()) && address.index(after: colon) < at
    }

    /// The schemes of addresses in which an `@` has another meaning.
    private static let namesOfPeople: Set<String> = ["mailto", "acct", "sip", "sips", "xmpp", "im", "tel"]

    /// `word`: the text after the scheme.
    private static func hasPassword(after word: Slice<UnsafeRawBufferPointer>) -> Bool {
        let authority = word.prefix { !ends.contains($0) }
        if hasSecretParameter(word[authority.endIndex...]) { return true }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            guard let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":")) else {
                let name = String(decoding: authority[..<at], as: UTF8.self)
                return AccessToken.isLikely(authority[..<at]) || name.lowercased().contains("%3a")
            }
            // After a token, the password is empty or a word such as "x-oauth-basic".
            return colon + 1 < at || AccessToken.isLikely(authority[..<colon])
        }
        // The text after the colon is not a port, so it is a password that contains a slash.
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")), colon + 1 < authority.endIndex else {
            return false
        }
        let isPort = authority[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
        return !isPort && !authority.contains(UInt8(ascii: "]")) && word.contains(UInt8(ascii: "@"))
    }

    /// Returns whether a query or a fragment has a parameter with a value and with a name that indicates a secret.
    private static func hasSecretParameter(_ rest: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let start = rest.firstIndex(where: { parameterStarts.contains($0) }) else { return false }
        return rest[start...].split(whereSeparator: { parameterEnds.contains($0) }).contains { parameter in
            guard let sign = parameter.firstIndex(of: UInt8(ascii: "=")), sign + 1 < parameter.endIndex else {
                return false
            }
            let name = String(decoding: parameter[..<sign], as: UTF8.self)
            return secretParameters.contains(name.lowercased()) || SecretName.isSecret(name)
        }
    }

    /// Names of parameters with secret values, in addition to the names that indicate a secret value in any field.
    private static let secretParameters: Set<String> = [
        "key", "auth", "authorization", "credential", "credentials", "sig", "signature", "sid", "session", "sessionid",
        "ticket", "jwt", "code",
    ]
    private static let parameterStarts = ASCIISet("?#")
    private static let parameterEnds = ASCIISet("?#&;")

    private static let ends = ASCIISet("/?#")
    /// The number of bytes of an address that are examined.
    private static let longest = 4096

    /// Returns an address without any part that may be a user name or a password.
    static func withoutUser(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return address }
        return String(address[address.index(after: at)...])
    }

    /// Returns whether a host name may contain the character (WHATWG URL, "forbidden domain code point").
    private static func mayBeInHost(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x20, scalar.value != 0x7F, !scalar.properties.isWhitespace else { return false }
        return !"\"#%/:<>?@[\\]^`{|}".unicodeScalars.contains(scalar)
    }
}
