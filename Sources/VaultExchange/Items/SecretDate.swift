import Glibc
import VaultBytes
package import VaultFmt

/// The time at which an item's secret was set. Changes to notes, the label or the item's name do not affect it.
///
/// The vault records when each secret was set there. An imported secret can be older: the source provides an earlier
/// time of change, and if the item is changed later, the attribute `secret-changed` preserves that date.
package struct SecretDate {
    /// Milliseconds since 1970.
    package let milliseconds: Int64
    /// True if this is the time at which the secret was set; otherwise the secret may be older.
    package let isExact: Bool

    /// The attribute that stores the date: a time in RFC 3339 form.
    package static let attribute = "secret-changed"

    /// Finds the date that a listing shows, without opening anything.
    package init(listed item: Item) {
        milliseconds = Self.stated(item.attributes) ?? min(item.modified, item.secretChanged)
        isExact = false
    }

    /// Finds the date, which is exact if the item had another secret before.
    ///
    /// A value that cannot be opened here is ignored.
    package init(of item: Item, in vault: Vault) throws(VaultError) {
        let replaced = try Self.replaced(by: item, in: vault)
        var date = min(item.modified, item.secretChanged)
        // Another program may have replaced the secret without updating the attribute.
        if let stated = Self.stated(item.attributes), stated != replaced.flatMap({ Self.stated($0.attributes) }) {
            date = stated
        }
        milliseconds = date
        isExact = replaced != nil || abs(milliseconds - item.created) < Timestamp.day
    }

    /// Returns the date in an item's attribute; nil if there is no valid date.
    package static func stated(_ attributes: Attributes) -> Int64? {
        attributes.string(attribute).flatMap(ImportedTime.milliseconds(dayOrTime:))
    }

    /// Returns the newest of the item's earlier secrets; nil if the item has no earlier secret, or if that secret
    /// cannot be read.
    private static func replaced(by item: Item, in vault: Vault) throws(VaultError) -> EarlierValue? {
        guard item.hasPast, vault.access == .owner else { return nil }
        do throws(VaultError) {
            return try vault.earlierValues(of: item).last { $0.attribute == nil }
        } catch {
            guard [.authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension Attributes {
    /// Adds the date of an item's secret, for a destination that stores only the item's attributes and its last change.
    ///
    /// Nothing is added if the secret is as old as that change, or if there is no room.
    ///
    /// `modified`: the time of the last change in that destination, in milliseconds since 1970.
    package mutating func stateDate(ofSecretOf item: Item, lastChange modified: Int64) {
        guard item.key.account != nil, attribute(SecretDate.attribute) == nil, count < Format.Limit.attributes else {
            return
        }
        // The source may have recorded a time of change that is later than the import.
        if item.isSecretOfLastChange, modified == item.modified { return }
        let date = SecretDate(listed: item).milliseconds
        guard modified > date, modified - date >= Timestamp.day else { return }
        set(Attribute(SecretDate.attribute, Array(Timestamp.text(date).utf8)))
    }
}

extension AttributeChanges {
    /// Seals attributes that are sealed because of their names, such as notes, even if they are unsealed in the item.
    /// An import may have added them unsealed, and users do not expect others to read their notes.
    package mutating func sealUsual(of item: Item?) {
        guard let item else { return }
        for attribute in set.all where !attribute.areFlagsStated {
            guard let old = item.attributes.attribute(attribute.name) else { continue }
            let usual = Attribute.Flags.usual(for: attribute.name)
            if !usual.isSubset(of: old.flags) { set.set(attribute.with(flags: old.flags.union(usual))) }
        }
    }

    /// Preserves the date of an item's secret during a change that does not affect the secret.
    ///
    /// Nothing is added if the vault has recorded the date, as it does unless the secret was imported.
    package mutating func keepDate(ofSecretOf item: Item, in vault: Vault) throws(VaultError) {
        guard set[SecretDate.attribute] == nil, !remove.contains(SecretDate.attribute), item.key.account != nil else {
            return
        }
        keep(try SecretDate(of: item, in: vault), of: item)
    }

    /// Preserves the date for an item whose secret is set: an unchanged secret keeps its date, and a new secret does
    /// not have a date yet.
    package mutating func keepDate(ofSecretOf item: Item?, unlessNew secret: borrowing Secret, in vault: Vault)
        throws(VaultError)
    {
        guard let item else { return }
        if try Self.has(secret, { () throws(VaultError) -> Secret? in try vault.open(item).takeSecret() }) {
            return try keepDate(ofSecretOf: item, in: vault)
        }
        forgetDate(of: item)
    }

    /// Preserves the date within a transaction, which does not read earlier values.
    package mutating func keepDate(
        ofSecretOf key: ItemKey, unlessNew secret: borrowing Secret, in transaction: Transaction
    )
        throws(VaultError)
    {
        guard let item = try transaction.item(key) else { return }
        let isSame = try Self.has(
            secret,
            { () throws(VaultError) -> Secret? in
                guard let opened = try transaction.get(key) else { return nil }
                return opened.takeSecret()
            })
        guard let stated = SecretDate.stated(set) else {
            // If the value is not a date, the attribute belongs to the user.
            guard set.attribute(SecretDate.attribute) == nil else { return }
            return isSame ? keep(SecretDate(listed: item), of: item) : forgetDate(of: item)
        }
        // A program that does not support the attribute has left the date of the previous secret.
        guard !isSame, stated <= SecretDate(listed: item).milliseconds else { return }
        set[SecretDate.attribute] = nil
        forgetDate(of: item)
    }

    /// Returns whether an item has this secret. A secret that is damaged, or that belongs to another device, can only
    /// be replaced.
    private static func has(
        _ secret: borrowing Secret, _ open: () throws(VaultError) -> Secret?
    ) throws(VaultError) -> Bool {
        do throws(VaultError) {
            guard let now = try open() else { return false }
            return now.equals(secret)
        } catch {
            let replaced: Set<VaultError.Code> = [
                .deviceBound, .authenticationFailed, .structureInvalid, .unsupportedForm, .noSecret,
            ]
            guard replaced.contains(error.code) else { throw error }
            return false
        }
    }

    private mutating func forgetDate(of item: Item) {
        guard item.attributes.attribute(SecretDate.attribute) != nil, set[SecretDate.attribute] == nil else { return }
        remove.append(SecretDate.attribute)
    }

    private mutating func keep(_ date: SecretDate, of item: Item) {
        let text = Timestamp.text(date.milliseconds)
        guard replaceAll || item.attributes.string(SecretDate.attribute) != text else { return }
        let known = [item.secretChanged, Int64(time(nil)) * 1000].map { $0 / Timestamp.day }
        if !known.contains(date.milliseconds / Timestamp.day) {
            set[SecretDate.attribute] = Array(text.utf8)
        } else if item.attributes.attribute(SecretDate.attribute) != nil {
            remove.append(SecretDate.attribute)
        }
    }
}
