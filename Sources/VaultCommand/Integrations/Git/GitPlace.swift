import VaultExchange
import VaultFmt

/// The place named by a request from git, expressed in the fields of internet passwords.
struct GitPlace {
    let networkProtocol: String
    let server: String
    /// The port, or 0 if none is given.
    let port: UInt32
    /// The path without its leading slash; nil matches any path.
    let path: String?
    /// The user name; nil matches any user name.
    let username: String?

    /// Returns nil for a request that does not name a place; nothing is found, stored or removed for such a request.
    init?(_ request: borrowing GitRequest) {
        guard let networkProtocol = request.networkProtocol, !networkProtocol.isEmpty else { return nil }
        let path = request.path.map(Self.withoutSlash)
        guard let (server, port) = Self.split(request.host ?? ""), !server.isEmpty || !(path ?? "").isEmpty else {
            return nil
        }
        self.networkProtocol = networkProtocol.lowercased()
        self.server = server.lowercased()
        self.port = port
        self.path = path
        username = request.username
    }

    /// Returns whether a request names no place because of the port in its host.
    static func hasInvalidPort(_ request: borrowing GitRequest) -> Bool { split(request.host ?? "") == nil }

    /// Returns the key for a new item at this place.
    func key(authenticationType: String) throws -> ItemKey {
        try ItemKey.internetPassword(
            server: server, account: username ?? "", protocol: networkProtocol, port: port,
            path: path.flatMap { $0.isEmpty ? nil : "/" + $0 } ?? "", authenticationType: authenticationType)
    }

    /// Returns the items that may be given to git for this place. A field that the request omits matches any value.
    func items(in vault: Vault) throws -> [Item] {
        let query = Query(itemClass: .internetPassword, [.server: .text(server)])
        var found: [Item] = []
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            guard isNamed(item.key) || isUser(TwinName.userName(item)) else { continue }
            if matches(item.key), item.attributes[DockerCredential.serverAttribute] == nil { found.append(item) }
        }
        return found
    }

    /// Returns whether an item's account is the request's user name, without an added suffix.
    func isNamed(_ key: ItemKey) -> Bool { isUser(key.account) }

    private func isUser(_ name: String?) -> Bool {
        guard let username else { return true }
        return (name ?? "").utf8.elementsEqual(username.utf8)
    }

    private func matches(_ key: ItemKey) -> Bool {
        guard let itsProtocol = key[.protocol]?.text, let itsPort = key[.port]?.number, let itsPath = key[.path]?.text
        else { return false }
        // An item without a protocol is not used for a protocol that would send the password in the clear.
        guard itsProtocol.lowercased() == networkProtocol || (itsProtocol.isEmpty && networkProtocol == "https") else {
            return false
        }
        guard effective(itsPort) == effective(port) else { return false }
        return path.map { $0.utf8.elementsEqual(Self.withoutSlash(itsPath).utf8) } ?? true
    }

    /// Returns whether an item is for this place as a whole rather than for a part of the place.
    func isExact(_ key: ItemKey) -> Bool {
        guard let itsPath = key[.path]?.text else { return false }
        return Self.withoutSlash(itsPath).utf8.elementsEqual((path ?? "").utf8)
    }

    private func effective(_ port: UInt32) -> UInt32 {
        let usual: [String: UInt32] = [
            "http": 80, "https": 443, "ftp": 21, "ftps": 990, "smtp": 25, "imap": 143, "imaps": 993,
        ]
        return port == 0 ? usual[networkProtocol] ?? 0 : port
    }

    private static func withoutSlash(_ path: String) -> String { path.hasPrefix("/") ? String(path.dropFirst()) : path }

    /// `host`, `host:port`, `[address]` or `[address]:port`; nil if the port is not valid.
    private static func split(_ text: String) -> (server: String, port: UInt32)? {
        let bracket = text.hasPrefix("[") ? text.firstIndex(of: "]") : nil
        let rest = bracket.map { text[text.index(after: $0)...] } ?? text[...]
        guard let colon = rest.lastIndex(of: ":") else {
            return (bracket.map { String(text[text.index(after: text.startIndex)..<$0]) } ?? text, 0)
        }
        guard let port = UInt32(rest[rest.index(after: colon)...]), port <= 65_535 else { return nil }
        let server = bracket.map { text[text.index(after: text.startIndex)..<$0] } ?? text[..<colon]
        return (String(server), port)
    }
}
