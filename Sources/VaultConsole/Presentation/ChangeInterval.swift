import ArgumentParser
package import VaultExchange
package import VaultFmt

/// The interval at which a secret should be changed: an item's attribute `change-every`, a duration such as 90d.
package enum ChangeInterval: ExpressibleByArgument, Equatable {
    case never
    /// The interval as typed, and in milliseconds.
    case every(String, milliseconds: Int64)

    package init?(argument: String) {
        if argument == "never" {
            self = .never
        } else if let age = Age(argument: argument) {
            self = .every(argument, milliseconds: age.milliseconds)
        } else {
            return nil
        }
    }

    /// The time by which an item's secret should be changed, in milliseconds since 1970; nil if the item has no
    /// interval.
    package static func due(_ item: Item, since changed: SecretDate) -> Int64? {
        item.attributes.string(AttributeName.changeInterval).flatMap(Age.init(argument:)).map {
            changed.milliseconds + $0.milliseconds
        }
    }
}
