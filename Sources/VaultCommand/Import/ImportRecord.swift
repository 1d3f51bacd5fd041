import VaultFmt

/// An item as a source has it.
struct ImportRecord: ~Copyable {
    /// Where it stands in the source, for messages: "line 12", "byte 345".
    let place: String
    let key: ItemKey
    let secret: Secret
    var attributes = Attributes()
    /// What finds it again in a later export of the same source, if anything does: an attribute of it too.
    var origin = ""
    /// The key that it had in the vault, where an export of ours says so.
    var formerKey: ItemKey?
    var accessibility = Accessibility.whenUnlocked
    /// Milliseconds since 1970; nil: now.
    var created: Int64?
    var modified: Int64?
    /// What the item was before, the oldest first.
    var earlier: [Earlier] = []

    /// An earlier value, and its secret, for a vault does not show that of a new one.
    struct Earlier {
        let value: NewEarlierValue
        let secret: SharedSecret
    }
}

/// Something that items can be imported from.
protocol ImportSource: ~Copyable {
    /// Hands over each item in the order of the source.
    /// - Returns: What else the source holds and a vault would not, a line each.
    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission]
}

/// Runs a step of the library and gives its error the place in the source that caused it. What does not fit into a
/// vault is no wrong use of the command, but a wrong source.
func importing<R: ~Copyable>(_ place: String, _ body: () throws -> R) throws -> R {
    do {
        return try body()
    } catch let error as VaultError {
        let failure = CommandFailure(error)
        throw CommandFailure(failure.status == .usage ? .damaged : failure.status, "\(place): \(failure.message)")
    }
}
