package import VaultFmt

/// The damaged parts of an item that an export leaves out: its other parts are exported all the same.
final class DamagedParts {
    private let item: Item
    /// The reasons, each of which names the part and the item.
    private(set) var reasons: [String] = []
    /// The attributes that could not be read, as far as `reading` was told their names.
    private(set) var attributes: Set<String> = []

    init(of item: Item) { self.item = item }

    /// Returns what `read` returns, or nil if it fails because of damage, which is then noted. Any other error is
    /// rethrown.
    /// - `name`: The attribute that is read, if it is one.
    func reading<R: ~Copyable>(
        attribute name: String? = nil, _ read: () throws(VaultError) -> R?
    ) throws(VaultError) -> R? {
        do throws(VaultError) { return try read() } catch {
            guard error.isDamage else { throw error }
            if let name { attributes.insert(name) }
            note(error.description)
            return nil
        }
    }

    /// Notes that an earlier value is damaged; its error names no item.
    func note(earlierValue error: VaultError) {
        note("an earlier value of \(ItemText.summary(item.key)) cannot be read: \(error.description)")
    }

    /// Several parts of an export can contain the same value.
    private func note(_ reason: String) {
        if !reasons.contains(reason) { reasons.append(reason) }
    }

    /// Returns the message about a damaged item, or a part of one, that an export does not contain.
    static func message(_ reason: String) -> String { "not exported, because it is damaged: \(reason)" }
}

extension VaultError {
    /// The message about an item that an export does not contain because of this error.
    package var exportMessage: String { DamagedParts.message(description) }
}
