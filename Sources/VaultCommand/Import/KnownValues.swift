import VaultFmt

/// The secrets and sealed attributes that an item of the vault has and had. A source's earlier values are compared with
/// them by their bytes: when the item was changed does not tell which of them it has seen.
struct KnownValues {
    private var values: [String: [SharedSecret]] = [:]
    /// The number of earlier secrets.
    private var count = 0
    /// When the first of them was replaced.
    private var oldest = Int64.max
    /// The number of earlier secrets that the vault keeps.
    private let limit: Int

    /// `open`: opens an earlier value of the item.
    init(
        _ item: borrowing OpenedItem, _ earlier: [EarlierValue], limit: Int,
        open: (EarlierValue) throws(VaultError) -> Secret
    ) throws(VaultError) {
        self.limit = limit
        add(item.secret.copy(), as: "")
        for attribute in item.item.attributes.all where attribute.flags.contains(.sealed) {
            if let value = attribute.secret { add(value, as: attribute.name) }
        }
        for value in earlier {
            if value.attribute == nil {
                count += 1
                oldest = min(oldest, value.replaced)
            }
            do throws(VaultError) { add(try open(value), as: value.attribute ?? "") } catch {
                guard error.code == .deviceBound else { throw error }
            }
        }
    }

    private mutating func add(_ value: consuming Secret, as name: String) {
        values[name, default: []].append(SharedSecret(value))
    }

    /// Returns how many of the item's own earlier secrets give way to values that are added, beyond what its change takes.
    func displaced(by added: Int, changesValues: Bool) -> Int {
        let own = count + (changesValues ? 1 : 0)
        return max(0, own + added - limit) - max(0, own - limit)
    }

    private func has(_ earlier: ImportRecord.Earlier) -> Bool {
        func has(_ value: borrowing Secret, _ name: String) -> Bool {
            for known in values[name] ?? [] where known.secret.equals(value) { return true }
            return false
        }
        for attribute in earlier.value.attributes.all where attribute.flags.contains(.sealed) {
            if let value = attribute.secret, !has(value, attribute.name) { return false }
        }
        return has(earlier.secret.secret, "")
    }

    /// Returns the earlier values of a source that the item lacks, oldest first, as far as the vault keeps so many, and the
    /// number of others. What is older than everything that a full list has is not among those: it was named before.
    ///
    /// `known`: the time of the item in the vault. Everything later is new.
    /// `most`: the most values to add. If the item is changed as well, it is one less than the vault keeps: the newest of
    /// them is what the item has now.
    func missing(
        _ earlier: [ImportRecord.Earlier], after known: Int64, most: Int
    ) -> (added: [ImportRecord.Earlier], dropped: Int) {
        let new = earlier.filter { $0.modified > known }
        let old = earlier.filter { $0.modified <= known && !has($0) }
        let added = old.suffix(max(0, limit - count - new.count))
        let beyond = count >= limit ? old.count { $0.value.replaced <= oldest } : 0
        let both = added + new
        return (both.suffix(most), max(0, old.count - added.count - beyond) + max(0, both.count - most))
    }
}
