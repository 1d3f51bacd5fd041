import VaultFmt

/// The standard fields of an entry for an item's key.
enum KDBXNames {
    /// Returns the title for an item without a label.
    static func title(_ key: ItemKey) -> String {
        switch key.itemClass {
        case .genericPassword: key.service ?? ""
        case .internetPassword: key.server ?? ""
        case .certificate: "certificate"
        case .key: "key"
        case .identity: "identity"
        case .reserved: ""
        }
    }

    /// Returns the URL of an internet password; empty for other classes.
    static func address(_ key: ItemKey) -> String {
        guard let server = key.server, let scheme = key[.protocol]?.text, let port = key[.port]?.number,
            let path = key[.path]?.text
        else { return "" }
        let host = server.contains(":") ? "[\(server)]" : server
        return (scheme.isEmpty ? "" : "\(scheme)://") + host + (port == 0 ? "" : ":\(port)") + path
    }
}
