internal import VaultBytes

/// Which items: every field that is set must match exactly; `pattern` may match in part.
public struct Query: Sendable {
    /// The class.
    public var itemClass: ItemClass?
    /// The service of generic passwords.
    public var service: String?
    /// The account of generic and internet passwords.
    public var account: String?
    /// The server of internet passwords.
    public var server: String?
    /// The protocol of internet passwords.
    public var `protocol`: String?
    /// The port of internet passwords.
    public var port: UInt32?
    /// The path of internet passwords.
    public var path: String?
    /// The access group.
    public var group: String?
    /// The label.
    public var label: String?
    /// Synchronizable or not.
    public var synchronizable: Bool?
    /// The accessibility.
    public var accessibility: Accessibility?
    /// Text that service, account, server or label contain, whatever its case.
    public var pattern: String?

    /// Matches every item.
    public init() {}

    /// Whether it matches every item.
    var isUnrestricted: Bool {
        itemClass == nil && service == nil && account == nil && server == nil && `protocol` == nil && port == nil
            && path == nil
            && group == nil
            && label == nil && synchronizable == nil && accessibility == nil && pattern == nil
    }

    /// Whether an item matches.
    public func matches(_ item: Item) -> Bool {
        let key = item.key
        return matches(key) && (accessibility == nil || item.accessibility == accessibility)
            && (label == nil || Self.isSame(item.attributes.label, label)) && matchesPattern(key, item)
    }

    private func matches(_ key: ItemKey) -> Bool {
        guard itemClass == nil || key.itemClass == itemClass,
            synchronizable == nil || key.synchronizable == synchronizable,
            group == nil || Self.isSame(key.group, group)
        else { return false }
        switch key.fields {
        case .genericPassword(let itsService, let itsAccount):
            return Self.fits(service, itsService) && Self.fits(account, itsAccount) && server == nil
                && `protocol` == nil && port == nil
                && path == nil
        case .internetPassword(let itsServer, let itsProtocol, let itsPort, let itsPath, let itsAccount, _, _):
            return Self.fits(server, itsServer) && Self.fits(account, itsAccount) && Self.fits(`protocol`, itsProtocol)
                && (port == nil || port == itsPort) && Self.fits(path, itsPath) && service == nil
        case .certificate, .key, .identity, .reserved:
            return service == nil && account == nil && server == nil && `protocol` == nil && port == nil && path == nil
        }
    }

    private func matchesPattern(_ key: ItemKey, _ item: Item) -> Bool {
        guard let pattern, !pattern.isEmpty else { return true }
        let wanted = pattern.lowercased()
        return [key.service, key.account, key.server, item.attributes.label].contains {
            $0.map { Self.contains($0.lowercased(), wanted) } ?? false
        }
    }

    /// Exact means the same bytes, not canonically equivalent ones.
    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        switch (left, right) {
        case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
        case (nil, nil): true
        default: false
        }
    }

    private static func fits(_ wanted: String?, _ value: String) -> Bool { wanted == nil || isSame(wanted, value) }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let text = Array(text.utf8)
        let part = Array(part.utf8)
        guard part.count <= text.count else { return false }
        return (0...text.count - part.count).contains { text[$0..<$0 + part.count].elementsEqual(part) }
    }

    /// What all matching keys start with: the part of the vault to be read.
    var keyPrefix: [UInt8] {
        var out: [UInt8] = []
        if itemClass ?? .genericPassword == .genericPassword, let service {
            out.append(ItemClass.genericPassword.rawValue)
            KeyFields.append(service, to: &out)
            if let account { KeyFields.append(account, to: &out) }
        } else if itemClass ?? .internetPassword == .internetPassword, let server {
            out.append(ItemClass.internetPassword.rawValue)
            KeyFields.append(server, to: &out)
            if let `protocol` { KeyFields.append(`protocol`, to: &out) }
        } else if let itemClass {
            out.append(itemClass.rawValue)
        }
        return out
    }
}
