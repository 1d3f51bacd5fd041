import VaultBytes
import VaultExchange
import VaultFmt
import VaultLocal

/// Findings from listings, which are made without opening any secret: dates, addresses, missing second factors.
struct ListedChecks {
    /// The current time, in milliseconds since 1970.
    let now: Int64
    /// Items that expire before this time are reported.
    let soon: Int64
    let wantsSecondFactor: Bool

    func findings(_ item: Item) -> [Finding] {
        var out: [Finding?] = [
            Expiry.finding(
                item, item.attributes.string(AttributeName.expires).flatMap(ImportedTime.milliseconds(dayOrTime:)),
                now: now, soon: soon)
        ]
        guard item.key.itemClass == .genericPassword || item.key.itemClass == .internetPassword else {
            return out.compactMap(\.self)
        }
        out.append(secondFactor(item))
        out.append(address(item))
        return out.compactMap(\.self)
    }

    private func secondFactor(_ item: Item) -> Finding? {
        guard wantsSecondFactor, item.attributes.attribute(AttributeName.oneTimePassword) == nil else { return nil }
        let isLogin = item.key.itemClass == .internetPassword || item.key.account?.isEmpty == false
        return isLogin ? Finding(kind: .noSecondFactor, items: [item], why: "it has no one-time code") : nil
    }

    private func address(_ item: Item) -> Finding? {
        var addresses = (item.attributes.string(AttributeName.address) ?? "").split(whereSeparator: \.isNewline)
            .map(String.init)
        // If the key contains the whole address, the attribute adds no information.
        if let name = item.key[.protocol]?.text, let server = item.key.server {
            addresses.append("\(name)://\(server)")
        }
        guard let open = addresses.first(where: Self.isOpen) else { return nil }
        return Finding(
            kind: .unencryptedAddress, items: [item],
            why: "\(TerminalText.quoted(open)) sends the password in cleartext")
    }

    /// Returns whether an address on the public network is used without encryption.
    private static func isOpen(_ address: String) -> Bool {
        let address = address.lowercased()
        guard address.hasPrefix("http://") else { return false }
        let host = address.dropFirst(7).prefix { !"/:?#".contains($0) }
        let isLocal =
            host == "localhost" || host.hasSuffix(".localhost") || host.hasSuffix(".local") || host.hasPrefix("127.")
            || host.hasPrefix("10.") || host.hasPrefix("192.168.") || host.hasPrefix("[") || !host.contains(".")
        return !isLocal
    }
}
