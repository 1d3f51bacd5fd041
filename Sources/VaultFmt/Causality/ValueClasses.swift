package import VaultBytes

/// Which values of a field have the same bytes. Only a reader of the records can tell, so it classifies them: values
/// with equal classes are the same. A value that cannot be read is the same as no other.
package enum ValueClass: Hashable, Sendable {
    /// The bytes of a value that is not secret, and the flags of an attribute.
    case plain([UInt8], AttributeFlags)
    /// A digest of the bytes, and the flags of an attribute.
    case digest(Bytes32, AttributeFlags)
    case unknown(ValueName)
}

extension HeldValue {
    /// The class of a value that is in no record; nil for others.
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

/// The classes of values that were compared, each determined once.
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

    /// Returns the newest `limit` different values of each field; of equal ones, the newest few.
    mutating func newest<Failure: Error>(
        _ pool: Set<ValueName>, _ limit: Int, _ classOf: (ValueName) throws(Failure) -> ValueClass
    ) throws(Failure) -> Set<ValueName> {
        guard limit > 0 else { return [] }
        var kept: Set<ValueName> = []
        for (_, names) in Dictionary(grouping: pool, by: \.field) {
            guard names.count > min(limit, Format.equalValues) else {
                // However many of them are equal, all are kept.
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
