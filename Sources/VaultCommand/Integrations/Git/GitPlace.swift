import VaultFmt

/// The place that a request of git names, as the fields of internet passwords have it.
struct GitPlace {
    let networkProtocol: String
    let server: String
    /// 0 where none is named.
    let port: UInt32
    /// Without a slash at its start; nil where any will do.
    let path: String?
    /// Nil where any will do.
    let username: String?

    /// Nil for a request that names no place: nothing is found for it, stored or removed.
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

    /// The key of a new item here.
    func key(authenticationType: String) throws -> ItemKey {
        try ItemKey.internetPassword(
            server: server, account: username ?? "", protocol: networkProtocol, port: port,
            path: path.flatMap { $0.isEmpty ? nil : "/" + $0 } ?? "", authenticationType: authenticationType)
    }

    /// The items that git may be given here: a field that the request does not name may have any value.
    func items(in vault: Vault) throws -> [Item] {
        var query = Query(itemClass: .internetPassword, [.server: .text(server)])
        query[.account] = username.map { .text($0) }
        var found: [Item] = []
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            if matches(item.key), item.attributes[DockerCredential.serverAttribute] == nil { found.append(item) }
        }
        return found
    }

    private func matches(_ key: ItemKey) -> Bool {
        guard let itsProtocol = key[.protocol]?.text, let itsPort = key[.port]?.number, let itsPath = key[.path]?.text
        else { return false }
        // An item that says nothing of its protocol is not handed to one that sends it in clear.
        guard itsProtocol.lowercased() == networkProtocol || (itsProtocol.isEmpty && networkProtocol == "https") else {
            return false
        }
        guard effective(itsPort) == effective(port) else { return false }
        return path.map { $0.utf8.elementsEqual(Self.withoutSlash(itsPath).utf8) } ?? true
    }

    /// Whether an item stands for this place as a whole, and not for a part of it.
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

    /// `host`, `host:port`, `[address]` or `[address]:port`.
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
