package import VaultBytes

/// A class of values with the same bytes. The reader of the records determines the class: two values are the same if
/// their classes are equal. A value that cannot be read is different from all others.
package enum ValueClass: Hashable, Sendable {
    /// The bytes of a value that is not secret, and the flags of an attribute.
    case plain([UInt8], AttributeFlags)
    /// A digest of the bytes, and the flags of an attribute.
    case digest(Bytes32, AttributeFlags)
    case unknown(ValueName)
}

extension HeldValue {
    /// The class of a value that is not stored in a record; nil for other values.
    package var plainClass: ValueClass? {
        switch content {
        case .key(let bytes): return .plain(bytes, [])
        case .attribute(let flags, .inPage(let bytes)): return .plain(bytes, flags.meaning)
        case .place(let place):
            var bytes: [UInt8] = [place.accessibility]
            bytes.append(place.device)
            return .plain(bytes + place.group, [])
        case .secret, .attribute(_, .inRecord), .forgotten: return nil
        }
    }
}

/// A cache of the classes of compared values.
struct ValueClasses {
    private var known: [ValueName: ValueClass] = [:]

    /// Returns the class of a value.
    mutating func find<Failure: Error>(
        _ name: ValueName, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> ValueClass {
        if let known = known[name] { return known }
        let found = try classOf(name)
        known[name] = found
        return found
    }

    /// Returns the newest `limit` different values of each field, with a few dots for equal values.
    mutating func newest<Failure: Error>(
        _ pool: Set<ValueName>, _ limit: Int, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> Set<ValueName> {
        guard limit > 0 else { return [] }
        var kept: Set<ValueName> = []
        for (_, names) in Dictionary(grouping: pool, by: \.field) {
            guard names.count > min(limit, Format.equalValues) else {
                // Even if some of them are equal, all are kept.
                kept.formUnion(names)
                continue
            }
            var counts: [ValueClass: Int] = [:]
            for name in names.sorted(by: >) {
                let found = try find(name, classOf)
                guard counts[found] != nil || counts.count < limit else { continue }
                counts[found, default: 0] += 1
                if counts[found, default: 0] <= Format.equalValues { kept.insert(name) }
            }
        }
        return kept
    }
}
