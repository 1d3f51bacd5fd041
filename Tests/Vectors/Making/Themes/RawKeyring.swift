internal import TestSupport
internal import VaultBytes

/// A keyring's bytes, whatever it has: put together from section 5.4.
enum RawKeyring {
    static func encode(_ ring: Keyring) -> [UInt8] {
        var out: [UInt8] = [UInt8(ring.keeping.count)]
        for dot in [ring.keeping.dot, ring.vaultKey] { dot.encode(into: &out) }
        out.append(varint: UInt64(ring.groups.count))
        for group in ring.groups {
            out.append(u64: group.number)
            out.append(varint: UInt64(group.name.utf8.count))
            out += Array(group.name.utf8) + group.wrapped
        }
        out.append(varint: UInt64(ring.compartments.count))
        for one in ring.compartments {
            out.append(u64: one.number)
            out.append(u64: one.group)
            out += [one.accessibility] + one.device.bytes + one.wrapped
        }
        out.append(varint: UInt64(ring.slots.count))
        for slot in ring.slots { slot.encode(into: &out) }
        out.append(UInt8(ring.handOvers.count))
        for one in ring.handOvers { one.encode(into: &out) }
        out.append(UInt8(ring.extensions.count))
        for one in ring.extensions { one.encode(into: &out) }
        out.padSteppedBody()
        return out
    }
}

extension Keyring.Group {
    func with(number: UInt64? = nil, name: String? = nil) -> Keyring.Group {
        Keyring.Group(number: number ?? self.number, name: name ?? self.name, wrapped: wrapped)
    }
}

extension Keyring.Compartment {
    func with(number: UInt64? = nil, group: UInt64? = nil, accessibility: UInt8? = nil) -> Keyring.Compartment {
        Keyring.Compartment(
            number: number ?? self.number, group: group ?? self.group,
            accessibility: accessibility ?? self.accessibility, device: device,
            wrapped: wrapped)
    }
}

extension HandOver {
    /// A hand-over that nobody signed, unless a signature is given.
    func with(
        publicKey: Bytes32? = nil, next: Bytes32? = nil, floor: UInt64? = nil, vector: ObjectRef? = nil,
        signature: [UInt8]? = nil
    ) -> HandOver {
        HandOver(
            publicKey: publicKey ?? self.publicKey, next: next ?? self.next, vector: vector ?? self.vector,
            floor: floor ?? self.floor, signature: signature ?? self.signature)
    }
}
