import VaultFmt

/// What an item's key is called in an entry's own fields.
enum KDBXNames {
    /// The title of an item without a label.
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

    /// The address of an internet password; empty for other classes.
    static func address(_ key: ItemKey) -> String {
        guard let server = key.server, let scheme = key[.protocol]?.text, let port = key[.port]?.number,
            let path = key[.path]?.text
        else { return "" }
        let host = server.contains(":") ? "[\(server)]" : server
        return (scheme.isEmpty ? "" : "\(scheme)://") + host + (port == 0 ? "" : ":\(port)") + path
    }
}
