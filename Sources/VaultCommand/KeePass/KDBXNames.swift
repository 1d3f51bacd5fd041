import VaultFmt

/// What an item's key is called in an entry's own fields.
enum KDBXNames {
    /// The title of an item without a label.
    static func title(_ key: ItemKey) -> String {
        switch key.fields {
        case .genericPassword(let service, _): service
        case .internetPassword(let server, _, _, _, _, _, _): server
        case .certificate: "certificate"
        case .key: "key"
        case .identity: "identity"
        case .reserved: ""
        }
    }

    /// The address of an internet password; empty for other classes.
    static func address(_ key: ItemKey) -> String {
        guard case .internetPassword(let server, let scheme, let port, let path, _, _, _) = key.fields else {
            return ""
        }
        let host = server.contains(":") ? "[\(server)]" : server
        return (scheme.isEmpty ? "" : "\(scheme)://") + host + (port == 0 ? "" : ":\(port)") + path
    }
}
