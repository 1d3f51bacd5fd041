internal import VaultBytes

/// A part of an item that keeps the file from being rewritten: what is damaged can neither be moved nor sealed again,
/// and is not dropped without a word.
enum DamagedPart {
    case secret, attribute, earlierValue
    /// The frame that names all of them.
    case earlierValues

    /// What one of an item's records is.
    init(_ place: RecordPlace, of item: LiveItem) {
        if place == item.own {
            self = .secret
        } else {
            self = item.decoded.largeRecords.contains(place.asAttributeRecord) ? .attribute : .earlierValue
        }
    }

    fileprivate var name: String {
        switch self {
        case .secret: "the secret"
        case .attribute: "a large attribute"
        case .earlierValue: "an earlier value"
        case .earlierValues: "the list of earlier values"
        }
    }

    fileprivate var wayOut: String {
        switch self {
        case .secret: "set another secret, restore an earlier value, or remove the item"
        case .attribute: "set that attribute again, or remove the item"
        case .earlierValue, .earlierValues: "forget the item's earlier values, or remove it"
        }
    }
}

extension VaultError {
    /// The same failure with the item that it concerns and what can be done about it, if damage is the reason.
    func naming(_ part: DamagedPart, of key: ItemKey) -> VaultError {
        switch code {
        case .authenticationFailed, .structureInvalid, .io:
            VaultError(
                code,
                "\(part.name) of \(key.summary) cannot be read: \(detail); \(part.wayOut)", at: offset)
        default: self
        }
    }
}

extension ItemKey {
    /// What tells it from others, in one line.
    fileprivate var summary: String {
        func quoted(_ text: String) -> String { "'\(text)'" }
        func hex(_ bytes: [UInt8]) -> String { Hex.encode(bytes) }
        var parts: [String]
        switch fields {
        case .genericPassword(let service, let account): parts = [quoted(service), quoted(account)]
        case .internetPassword(let server, let transport, let port, let path, let account, _, _):
            parts = [quoted(server), quoted(account)]
            parts += (transport.isEmpty ? [] : ["protocol \(quoted(transport))"]) + (port == 0 ? [] : ["port \(port)"])
            parts += path.isEmpty ? [] : ["path \(quoted(path))"]
        case .certificate(_, _, let serial), .identity(_, _, let serial): parts = ["serial \(hex(serial))"]
        case .key(_, _, let label, let tag, _, _):
            parts = ["application label \(hex(label))"] + (tag.isEmpty ? [] : ["tag \(hex(tag))"])
        case .reserved(_, let texts): parts = texts.map(quoted)
        }
        if !group.isEmpty { parts.append("group \(quoted(group))") }
        return ([itemClass.name] + parts).joined(separator: " ")
    }
}
