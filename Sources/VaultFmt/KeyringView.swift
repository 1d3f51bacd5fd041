internal import VaultBytes

/// A keyring in the form that reading items needs: who may read what, by compartment number.
final class KeyringView: Sendable {
    /// Shared by all items that are in it.
    final class Compartment: Sendable {
        let info: Keyring.Compartment
        let group: Keyring.Group
        let encodedGroup: [UInt8]
        let accessibility: Accessibility

        fileprivate init(_ info: Keyring.Compartment, _ group: Keyring.Group, _ accessibility: Accessibility) {
            self.info = info
            self.group = group
            encodedGroup = ItemKey.encodedGroup(group.name)
            self.accessibility = accessibility
        }
    }

    let keyring: Keyring
    private let compartments: [UInt32: Compartment]

    init(_ keyring: Keyring) {
        self.keyring = keyring
        var all: [UInt32: Compartment] = [:]
        let groups = Dictionary(keyring.groups.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        for info in keyring.compartments {
            guard let group = groups[info.group], let accessibility = Accessibility(rawValue: info.accessibility)
            else { continue }
            all[info.number] = Compartment(info, group, accessibility)
        }
        compartments = all
    }

    func compartment(_ number: UInt32) -> Compartment? { compartments[number] }
}

/// Looks up the compartments of many items, which are mostly the same one's.
struct CompartmentLookup {
    let view: KeyringView
    private var last: KeyringView.Compartment?

    init(_ view: KeyringView) { self.view = view }

    /// The compartment of an item whose encoded group stands in `bytes`.
    mutating func compartment(
        of entry: ItemEntry, _ bytes: Span<UInt8>, _ group: Range<Int>, at offset: UInt64
    ) throws(VaultError) -> KeyringView.Compartment {
        if let last, last.info.number == entry.compartment, Self.isSame(bytes, group, last) { return last }
        guard let found = view.compartment(entry.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: offset)
        }
        guard Self.isSame(bytes, group, found) else {
            throw VaultError(.structureInvalid, "an item's compartment is of another group than its name", at: offset)
        }
        last = found
        return found
    }

    private static func isSame(_ bytes: Span<UInt8>, _ group: Range<Int>, _ compartment: KeyringView.Compartment) -> Bool {
        let name = compartment.encodedGroup
        return ByteOrder.compare(bytes, group, name.span, 0..<name.count) == 0
    }
}
