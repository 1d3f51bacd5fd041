package import VaultFmt

/// An item read from a source.
package struct ImportRecord: ~Copyable {
    /// The item's position in the source, for messages: "line 12", "byte 345".
    package let place: String
    package let key: ItemKey
    package let secret: Secret
    package var attributes: Attributes
    /// An identifier that recognizes the item in a later export of the same source; empty if the source has no
    /// identifiers. It is also stored as an attribute.
    package var origin: String
    /// The key that the item had in the vault, if one of our exports records it.
    package var formerKey: ItemKey?
    /// True if a second entry with the same name becomes a second item with a different name. In our own exports and in
    /// PEM, names are exact.
    var mayHaveTwins: Bool
    package var accessibility = Accessibility.whenUnlocked
    /// The time of creation, in milliseconds since 1970; nil means now.
    package var created: Int64?
    package var modified: Int64?
    /// The earlier values of the item, oldest first.
    package var earlier: [Earlier] = []
    /// The reason the entry's seed of one-time codes, which the item keeps, yields no codes; nil if it does, or if there
    /// is none.
    package var codeProblem: String?

    /// An earlier value with its secret, which cannot be read back from a new item.
    package struct Earlier {
        package let value: NewEarlierValue
        package let secret: SharedSecret
        /// The time at which the value was set in the source, in milliseconds since 1970. If the source does not know
        /// that time, this is the time at which the value was replaced.
        package let modified: Int64

        package init(value: NewEarlierValue, secret: SharedSecret, modified: Int64) {
            self.value = value
            self.secret = secret
            self.modified = modified
        }
    }

    package init(
        place: String, key: ItemKey, secret: consuming Secret, attributes: Attributes = Attributes(),
        origin: String = "",
        mayHaveTwins: Bool = true
    ) {
        self.place = place
        self.key = key
        self.secret = secret
        self.attributes = attributes
        self.origin = origin
        self.mayHaveTwins = mayHaveTwins
    }
}

extension ImportRecord {
    /// The text of the attribute `secret-changed`, if the earlier values show that the secret is older than the item's
    /// last change; otherwise nil.
    var secretDate: String? {
        guard key.account != nil, SecretDate.stated(attributes) == nil, let modified else { return nil }
        var oldest = modified
        for value in earlier.reversed() {
            guard value.secret.secret.equals(secret) else { break }
            oldest = min(oldest, SecretDate.stated(value.value.attributes) ?? value.modified)
        }
        return oldest / Timestamp.day < modified / Timestamp.day ? Timestamp.text(oldest) : nil
    }
}

extension ImportRecord {
    /// True if the attribute `secret-changed` belongs to an earlier secret, because a program that does not know the
    /// attribute has changed the secret since.
    var hasDateOfEarlierSecret: Bool {
        guard let stated = SecretDate.stated(attributes) else { return false }
        for value in earlier.reversed() where !value.secret.secret.equals(secret) {
            return SecretDate.stated(value.value.attributes) == stated
        }
        return false
    }
}

/// A source that items can be imported from.
package protocol ImportSource: ~Copyable {
    /// Passes each item to `take`, in source order.
    /// - Returns: Descriptions of the parts that would not be imported, one line each.
    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission]
}

/// Calls the library and adds the place in the source to its errors. If an item does not fit into a vault, the error
/// describes an invalid source, not an invalid use of the command.
package func importing<R: ~Copyable>(_ place: String, _ body: () throws -> R) throws -> R {
    do {
        return try body()
    } catch let error as VaultError {
        throw ExchangeError(error).at(place)
    }
}
