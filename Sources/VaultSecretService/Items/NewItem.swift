internal import VaultExchange

/// An item that a client wants to store in a collection.
struct NewItem: Sendable {
    let group: String
    /// Nil if the client does not provide one; an item that is replaced then keeps its label.
    let label: String?
    let attributes: LookupAttributes
    let contentType: String
    let secret: SharedSecret
}
