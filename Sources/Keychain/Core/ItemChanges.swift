package import Foundation
package import VaultFmt
internal import VaultLocal

/// The attributes and secret for an item, taken from a dictionary: everything for a new item, or the changes to an
/// existing one.
package struct ItemChanges: Sendable {
    /// The values of the attributes, by code.
    private(set) var values: [String: AttributeValue] = [:]
    private var control: SecAccessControl?
    package var secret: Data?

    /// Creates an empty set of changes.
    package init() {}

    /// Parses a dictionary that contains only attributes and a secret. Throws `noSuchAttribute`, or `param` if a value
    /// has the wrong type.
    package init(_ dictionary: [String: Any], of itemClass: ItemClass) throws(KeychainFailure) {
        for (name, value) in dictionary { try add(name, value, of: itemClass) }
        try checkProtection()
    }

    /// Returns these changes merged with others, which take precedence.
    package func merged(with other: ItemChanges) -> ItemChanges {
        var merged = self
        if other.accessibility != nil {
            merged.values[SecKey.accessible] = nil
            merged.control = other.control
        }
        merged.values.merge(other.values) { _, new in new }
        merged.secret = other.secret ?? secret
        return merged
    }

    mutating func add(_ name: String, _ value: Any, of itemClass: ItemClass) throws(KeychainFailure) {
        if name == SecKey.valueData { return secret = try Self.secret(value) }
        guard let row = AttributeTable.of(itemClass)[name] else {
            throw KeychainFailure(
                .noSuchAttribute, "items of the class \(itemClass.name) have no attribute \(TerminalText.quoted(name))")
        }
        if row.place == .accessControl { return try add(accessControl: value) }
        guard let taken = AttributeValue(value, row.kind) else {
            throw KeychainFailure(.param, "the value of \(TerminalText.quoted(name)) has the wrong type")
        }
        if row.place == .accessible { try Self.check(accessible: taken) }
        values[name] = taken
    }

    /// Throws `param` if an accessibility and an access control contradict each other, because the choice between them
    /// would be arbitrary.
    func checkProtection() throws(KeychainFailure) {
        guard let control, let accessible = values[SecKey.accessible] else { return }
        guard accessible == .text(control.protection), control.flags == 0 else {
            throw KeychainFailure(.param, "an accessibility and an access control cannot be combined")
        }
    }

    private mutating func add(accessControl value: Any) throws(KeychainFailure) {
        guard let control = value as? SecAccessControl else {
            throw KeychainFailure(
                .param, "the value of \(TerminalText.quoted(SecKey.accessControl)) is not an access control")
        }
        try Self.check(accessible: .text(control.protection))
        self.control = control
    }

    private static func check(accessible value: AttributeValue) throws(KeychainFailure) {
        guard case .text(let code) = value, Accessibility(code: code) != nil else {
            throw KeychainFailure(.param, "the accessibility is unknown")
        }
    }

    private static func secret(_ value: Any) throws(KeychainFailure) -> Data {
        guard let data = value as? Data else { throw KeychainFailure(.param, "a secret must be of type Data") }
        return data
    }

    // MARK: for the vault

    /// The flags of the access control, if one is given.
    var policy: UInt? { control?.flags }

    /// The accessibility of the secret, if one is given.
    var accessibility: Accessibility? {
        if let control { return Accessibility(code: control.protection) }
        guard case .text(let code) = values[SecKey.accessible] else { return nil }
        return Accessibility(code: code)
    }

    /// Returns a date in milliseconds, if one is given.
    func date(_ code: String) -> Int64? {
        guard case .date(let milliseconds) = values[code] else { return nil }
        return milliseconds
    }

    /// Returns the changes to the attributes that are not part of an item's key.
    ///
    /// An accessibility without an access control removes the item's policy, as on Apple platforms.
    /// - `item`: The item being changed; nil for a new one.
    func attributes(of itemClass: ItemClass, changing item: Item? = nil) -> AttributeChanges {
        var changes = AttributeChanges()
        let table = AttributeTable.of(itemClass)
        for (code, value) in values {
            guard case .attribute(let name) = table[code]?.place else { continue }
            changes.set[name] = value.stored
        }
        let old = item.map { OtherTypes($0) } ?? OtherTypes()
        var types = old
        types.note(values, table)
        if types != old {
            if let stored = types.stored {
                changes.set[OtherTypes.name] = stored
            } else {
                changes.remove.append(OtherTypes.name)
            }
        }
        if let policy, policy != 0 {
            changes.set[Self.policyName] = Array(String(policy).utf8)
        } else if accessibility != nil {
            changes.remove.append(Self.policyName)
        }
        return changes
    }

    /// The name of the attribute that stores the policy.
    static let policyName = "authentication-policy"

    /// Copies the secret, for the duration of a call, into memory that is then wiped. The original `Data` belongs to
    /// the caller and is not wiped.
    func withSecret<R>(_ body: (borrowing Secret) throws(VaultError) -> R) throws(VaultError) -> R {
        let data = secret ?? Data()
        var copy = Secret(count: data.count)
        copy.withUnsafeMutableBytes { _ = data.copyBytes(to: $0) }
        return try body(copy)
    }
}
