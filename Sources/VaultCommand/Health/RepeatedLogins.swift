import VaultExchange
import VaultFmt
import VaultLocal

/// Finds logins that are stored more than once: the same account at the same server, under different names.
struct RepeatedLogins {
    private struct Login: Hashable {
        let account: String
        let host: String
    }

    private var items: [Login: [Item]] = [:]
    private var order: [Login] = []

    mutating func look(at item: Item) {
        guard let account = TwinName.userName(item), !account.isEmpty, let host = Self.host(of: item) else { return }
        let login = Login(account: account.lowercased(), host: host)
        if items[login] == nil { order.append(login) }
        items[login, default: []].append(item)
    }

    var findings: [Finding] {
        order.compactMap { login in
            guard let found = items[login], found.count > 1 else { return nil }
            let dates = found.map { Timestamp.short(SecretDate(listed: $0).milliseconds) }.joined(separator: " and ")
            return Finding(
                kind: .repeated, items: found,
                why: "the same account at \(TerminalText.quoted(login.host)); last changed \(dates) UTC")
        }
    }

    /// The server named in an item's first address or in its key.
    private static func host(of item: Item) -> String? {
        let address = item.attributes.string(AttributeName.address)?.split(whereSeparator: \.isNewline).first
        guard let server = address.flatMap({ WebAddress(list: String($0))?.server }) ?? item.key.server, !server.isEmpty
        else { return nil }
        let host = server.lowercased()
        return host.hasPrefix("www.") ? String(host.dropFirst(4)) : host
    }
}
