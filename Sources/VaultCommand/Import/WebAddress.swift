import FoundationEssentials

/// A URL, split into the fields of an internet password.
struct WebAddress {
    let server: String
    /// The scheme in lower case, such as "https"; empty if the text has none.
    let `protocol`: String
    /// The port, or 0 if the text has none.
    let port: UInt32
    /// The path as in the URL, without the query; a lone "/" becomes empty.
    let path: String
    /// Whether these fields represent the text completely.
    private(set) var isExact: Bool

    /// Splits addresses joined by commas, as Bitwarden writes them.
    static func list(_ text: String) -> [String] {
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
    init?(list text: String) {
        guard let comma = text.firstIndex(of: ",") else {
            self.init(text)
            return
        }
        let rest = text[text.index(after: comma)...]
        let scheme = rest.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
        let isList = !scheme.isEmpty && rest[scheme.endIndex...].hasPrefix("://")
        guard let whole = WebAddress(isList ? String(text[..<comma]) : text) ?? WebAddress(String(text[..<comma]))
        else { return nil }
        self = whole
        isExact = !isList && whole.isExact
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

    /// Whether a host name may contain the character (WHATWG URL, "forbidden domain code point").
    private static func mayBeInHost(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x20, scalar.value != 0x7F, !scalar.properties.isWhitespace else { return false }
        return !"\"#%/:<>?@[\\]^`{|}".unicodeScalars.contains(scalar)
    }
}
