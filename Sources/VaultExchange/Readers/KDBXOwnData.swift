import FoundationEssentials
import VaultFmt

/// Restores an item from an entry written by our export, including the changes that other programs have made to it
/// since.
enum KDBXOwnData {
    private typealias Key = KDBXPlacement.Key

    /// Returns the parts of the item, or nil if the entry was not written by our export or its recorded data is
    /// damaged.
    ///
    /// `isEarlier`: true if the entry is an earlier state, which does not have its own folder.
    static func item(
        in source: KDBXEntry, as entry: ImportedEntry, _ binaries: KDBXBinaries, isEarlier: Bool
    ) -> ExactItem? {
        guard let encoded = source.own(Key.item).flatMap({ KDBXPlacement.decodedBytes($0) }),
            let list = KDBXPlacement.list(source.own(Key.attributes) ?? ""), list.count <= 64,
            let accessibility = Accessibility(name: source.own(Key.accessibility) ?? ""),
            !accessibility.isThisDeviceOnly, let former = formerKey(encoded)
        else { return nil }
        func value(_ place: KDBXPlacement.Place) -> SharedSecret? {
            switch place {
            case .string(KDBXString.otp): entry.oneTimePassword
            case .string(let name): source[name]
            case .binary(let name):
                source.binaries.first { $0.name == name }.map { SharedSecret(binaries.secret($0.place)) }
            case .addresses: text(entry.addresses.joined(separator: "\n"))
            case .tags: text(entry.tags.joined(separator: "\n"))
            case .folder: text(FolderPath.text(entry.folder))
            case .expiry: entry.expires.flatMap { text(Timestamp.text($0)) }
            case .icon where !source.customIcon.isEmpty: text(source.customIcon)
            case .icon: text(source.icon == 0 ? "" : String(source.icon))
            case .autoType: text(source.autoType)
            }
        }
        let secretPlace: KDBXPlacement.Place
        let attached = source.own(Key.secret).flatMap { KDBXPlacement.decoded(Substring($0)) }
        // A password that was set in another program replaces an attached secret, which could not be a password.
        if let attached, source[KDBXString.password]?.count ?? 0 == 0 {
            secretPlace = .binary(attached)
        } else {
            secretPlace = .string(KDBXString.password)
        }
        var attributes = Attributes()
        for placement in list {
            guard let value = value(placement.place) else { continue }
            var flags = Attribute.Flags(rawValue: placement.flags)
            // A field that was protected in another program also becomes secret here.
            if case .string(let name) = placement.place, flags.isDisjoint(with: Attribute.Flags.protecting),
                source.strings.contains(where: { $0.name == name && $0.isProtected })
            {
                flags.formUnion(Attribute.Flags.protecting)
            }
            // Another program may have added an address with a password. An address that was already in the vault keeps
            // the protection that it had there.
            if placement.place == .addresses, KDBXConversion.isChanged(source),
                entry.addresses.contains(where: { WebAddress.hasPassword($0) })
            {
                flags.insert(.sealed)
            }
            attributes.set(Attribute(placement.name, secret: value.secret.copy(), flags: flags))
        }
        guard let key = key(former, list, entry, attributes) else { return nil }
        var placed = Set(list.map(\.place))
        placed.insert(secretPlace)
        if let attached { placed.insert(.binary(attached)) }
        if isEarlier { placed.insert(.folder) }
        let title = KDBXPlacement.Place.string(KDBXString.title)
        if !placed.contains(title), !entry.title.isEmpty, !KDBXNames.title(key).utf8.elementsEqual(entry.title.utf8) {
            attributes.label = entry.title
        }
        return ExactItem(
            key: key, formerKey: former, secret: value(secretPlace) ?? SharedSecret(Secret(count: 0)),
            attributes: attributes,
            accessibility: accessibility,
            group: source.own(Key.group).flatMap { KDBXPlacement.decoded(Substring($0)) } ?? former.group,
            placed: placed)
    }

    private static func text(_ text: String) -> SharedSecret? { text.isEmpty ? nil : SharedSecret(text: text) }

    private static func formerKey(_ encoded: [UInt8]) -> ItemKey? {
        do throws(VaultError) {
            let key = try ItemKey(encoded)
            return key.itemClass.isDefined ? key : nil
        } catch { return nil }
    }

    /// Returns the recorded key, updated with later changes to the account and address.
    private static func key(
        _ former: ItemKey, _ list: [KDBXPlacement], _ entry: ImportedEntry, _ attributes: Attributes
    ) -> ItemKey? {
        do throws(VaultError) {
            var key = former
            if let written = TwinName.userName(key, attributes), KDBXText.isLiteral(written),
                !written.utf8.elementsEqual(entry.userName.utf8)
            {
                key = try key.with(account: entry.userName)
            }
            let hasAddresses = list.contains { $0.place == .addresses }
            guard !hasAddresses, KDBXText.isLiteral(KDBXNames.address(key)), let now = entry.addresses.first,
                !now.utf8.elementsEqual(KDBXNames.address(key).utf8), let address = WebAddress(list: now),
                key.itemClass == .internetPassword
            else { return key }
            return try key.replacing([
                .server: .text(address.server), .protocol: .text(address.protocol), .port: .number(address.port),
                .path: .text(address.path),
            ])
        } catch { return nil }
    }
}
