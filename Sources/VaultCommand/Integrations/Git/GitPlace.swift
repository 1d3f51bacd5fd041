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
        guard case .valid(let server, let port) = GitHost(request.host ?? ""), !server.isEmpty || !(path ?? "").isEmpty
        else { return nil }
        self.networkProtocol = networkProtocol.lowercased()
        self.server = server.lowercased()
        self.port = port
        self.path = path
        username = request.username
    }

    /// Describes what is wrong with a request's host, if the request does not name a place for that reason.
    static func flaw(of request: borrowing GitRequest) -> String? {
        switch GitHost(request.host ?? "") {
        case .valid: nil
        case .invalidPort: "a port that is not a number from 1 to 65535"
        case .invalidName: "a host that is neither a name nor an address in brackets"
        }
    }

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
}

/// The host of a request: `host`, `host:port`, `[address]` or `[address]:port`.
private enum GitHost {
    /// The port is 0 if none is given.
    case valid(server: String, port: UInt32)
    case invalidPort
    case invalidName

    init(_ text: String) {
        let server: Substring
        let rest: Substring
        if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
            server = text[text.index(after: text.startIndex)..<bracket]
            rest = text[text.index(after: bracket)...]
        } else {
            server = text.prefix { $0 != ":" }
            rest = text[server.endIndex...]
        }
        self = Self.host(server, rest, isEmpty: text.isEmpty)
    }

    /// - `rest`: The text after the name or the address: it must be empty, or a colon and a port in canonical form.
    private static func host(_ server: Substring, _ rest: Substring, isEmpty: Bool) -> GitHost {
        let isName = !server.isEmpty && !server.contains("[") && !server.contains("]")
        guard isName || isEmpty else { return .invalidName }
        guard !rest.isEmpty else { return .valid(server: String(server), port: 0) }
        let digits = rest.dropFirst()
        guard rest.hasPrefix(":"), !digits.contains(":") else { return .invalidName }
        guard digits.first != "0", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt32(digits),
            port <= 65_535
        else { return .invalidPort }
        return .valid(server: String(server), port: port)
    }
}
