internal import VaultBytes

/// A damaged part of an item that prevents the file from being rewritten: it can be neither moved nor resealed, and
/// must not be dropped silently.
enum DamagedPart {
    case secret, attribute, earlierValue
    /// The record of a secret and attributes that a change would keep.
    case secretWithAttributes
    /// The frame that lists earlier values and values to settle.
    case past

    /// Determines which part of an item a record holds.
    init(_ place: RecordRef, of item: LiveItem) {
        if place == item.own {
            self = .secret
        } else {
            self = item.decoded.largeRecords.contains(place) ? .attribute : .earlierValue
        }
    }

    fileprivate var name: String {
        switch self {
        case .secret: "the secret"
        case .secretWithAttributes: "the record with the secret and attributes"
        case .attribute: "a large attribute"
        case .earlierValue: "an earlier value"
        case .past: "the list of earlier values"
        }
    }

    fileprivate var wayOut: String {
        switch self {
        case .secret: "set another secret, restore an earlier value, or remove the item"
        case .secretWithAttributes: "set or remove these attributes in the same change, or remove the item"
        case .attribute: "set that attribute again, or remove the item"
        case .earlierValue, .past: "forget the item's earlier values, or remove the item"
        }
    }
}

extension VaultError {
    /// Returns the error, with the affected item and a remedy added if damage is the cause; any other error is returned
    /// unchanged.
    ///
    /// `path`: the file, if it should be named, too.
    func naming(_ part: DamagedPart, of key: ItemKey, in path: String? = nil) -> VaultError {
        guard [.authenticationFailed, .structureInvalid, .io].contains(code) else { return self }
        let place = path.map { " in '\($0)'" } ?? ""
        var error = VaultError(
            code, "\(part.name) of \(key.summary)\(place) cannot be read: \(detail); \(part.wayOut)", at: offset)
        error.hasDamagedPast = part == .past
        return error
    }

    /// Returns the error, as `naming` does, for a part that is read for a caller. An error of the system is returned
    /// unchanged, because it can be temporary, and the item then needs no remedy.
    func naming(read part: DamagedPart, of key: ItemKey) -> VaultError { code == .io ? self : naming(part, of: key) }
}

extension ItemKey {
    /// A one-line summary that distinguishes the item from others.
    var summary: String {
        func quoted(_ text: String) -> String { "'\(text)'" }
        func hex(_ bytes: [UInt8]) -> String { Hex.encode(bytes) }
        func shown(_ field: Field) -> String {
            switch self[field] {
            case .text(let text)?: quoted(text)
            case .number(let number)?: "\(number)"
            case .bytes(let bytes)?: hex(bytes)
            case nil: ""
            }
        }
        func detail(_ field: Field) -> [String] {
            guard let value = self[field], value != field.empty else { return [] }
            return ["\(field.words.joined(separator: " ")) \(shown(field))"]
        }
        var parts: [String] =
            switch itemClass {
            case .genericPassword: [shown(.service), shown(.account)]
            case .internetPassword:
                [shown(.server), shown(.account)] + detail(.protocol) + detail(.port) + detail(.path)
            case .certificate, .identity: ["serial \(shown(.serialNumber))"]
            case .key: ["application label \(shown(.applicationLabel))"] + detail(.applicationTag)
            case .reserved: texts.map(quoted)
            }
        if !group.isEmpty { parts.append("group \(quoted(group))") }
        return ([itemClass.name] + parts).joined(separator: " ")
    }
}
