import Glibc
import VaultBytes
package import VaultFmt

/// When an item got its secret, which a change to a note, to a label or to its name does not alter.
///
/// The vault knows when each secret was set in it. An imported secret can be older: the import's source gives the item
/// an earlier time of change, and when the item is changed later, the attribute `secret-changed` keeps that date.
package struct SecretDate {
    /// Milliseconds since 1970.
    package let milliseconds: Int64
    /// Whether this is the time at which the secret was set; otherwise it may be older.
    package let isExact: Bool

    /// The attribute that keeps the date: a time in RFC 3339 form.
    package static let attribute = "secret-changed"

    /// The date as far as a listing shows it, without opening anything.
    package init(listed item: Item) {
        milliseconds = Self.stated(item.attributes) ?? min(item.modified, item.secretChanged)
        isExact = false
    }

    /// The date; it is exact if the item had another secret before.
    ///
    /// A value that cannot be opened here is treated as if it were not there.
    package init(of item: Item, in vault: Vault) throws(VaultError) {
        let replaced = try Self.replaced(by: item, in: vault)
        var date = min(item.modified, item.secretChanged)
        // Another program may have replaced the secret without knowing of the attribute.
        if let stated = Self.stated(item.attributes), stated != replaced.flatMap({ Self.stated($0.attributes) }) {
            date = stated
        }
        milliseconds = date
        isExact = replaced != nil || abs(milliseconds - item.created) < Timestamp.day
    }

    /// The date that an item's attribute states; nil if there is none.
    package static func stated(_ attributes: Attributes) -> Int64? {
        attributes.string(attribute).flatMap(ImportedTime.milliseconds(dayOrTime:))
    }

    /// The newest of the item's earlier secrets; nil if it has none, or if it cannot be read.
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
    /// States since when an item has had its secret, for a place where only its attributes and its last change are
    /// known.
    ///
    /// Nothing is added if the secret is as old as that change, or if there is no room.
    ///
    /// `modified`: the last change as that place will know it, in milliseconds since 1970.
    package mutating func stateDate(ofSecretOf item: Item, lastChange modified: Int64) {
        guard item.key.account != nil, attribute(SecretDate.attribute) == nil, count < Format.Limit.attributes else {
            return
        }
        // A source can have said that it was changed later than it was imported.
        if item.isSecretOfLastChange, modified == item.modified { return }
        let date = SecretDate(listed: item).milliseconds
        guard modified > date, modified - date >= Timestamp.day else { return }
        set(Attribute(SecretDate.attribute, Array(Timestamp.text(date).utf8)))
    }
}

extension AttributeChanges {
    /// Seals attributes that are sealed because of their names, such as notes, even if the item has them unsealed: an
    /// import may have added them that way, and whoever writes notes does not expect others to read them.
    package mutating func sealUsual(of item: Item?) {
        guard let item else { return }
        for attribute in set.all where !attribute.areFlagsStated {
            guard let old = item.attributes.attribute(attribute.name) else { continue }
            let usual = Attribute.Flags.usual(for: attribute.name)
            if !usual.isSubset(of: old.flags) { set.set(attribute.with(flags: old.flags.union(usual))) }
        }
    }

    /// Keeps the date of an item's secret through a change that leaves the secret as it is.
    ///
    /// Nothing is added if the vault itself knows the date, as it does unless the secret was imported.
    package mutating func keepDate(ofSecretOf item: Item, in vault: Vault) throws(VaultError) {
        guard set[SecretDate.attribute] == nil, !remove.contains(SecretDate.attribute), item.key.account != nil else {
            return
        }
        keep(try SecretDate(of: item, in: vault), of: item)
    }

    /// The same for an item that gets a secret: the secret that it already has keeps its date, and a new one has none
    /// yet.
    package mutating func keepDate(ofSecretOf item: Item?, unlessNew secret: borrowing Secret, in vault: Vault)
        throws(VaultError)
    {
        guard let item else { return }
        if try Self.has(secret, { () throws(VaultError) -> Secret? in try vault.open(item).takeSecret() }) {
            return try keepDate(ofSecretOf: item, in: vault)
        }
        forgetDate(of: item)
    }

    /// The same within a transaction, which does not read earlier values.
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
            // A value that is not a date is the user's own.
            guard set.attribute(SecretDate.attribute) == nil else { return }
            return isSame ? keep(SecretDate(listed: item), of: item) : forgetDate(of: item)
        }
        // A program that does not know the attribute has left it as it was with the previous secret.
        guard !isSame, stated <= SecretDate(listed: item).milliseconds else { return }
        set[SecretDate.attribute] = nil
        forgetDate(of: item)
    }

    /// Whether an item has this secret. A secret that is damaged, or that belongs to another device, can only be
    /// replaced.
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
