internal import VaultExchange

/// What a client wants to store in a collection.
struct NewItem: Sendable {
    let group: String
    /// Nil if the client gives none: an item that is replaced keeps its own.
    let label: String?
    let attributes: LookupAttributes
    let contentType: String
    let secret: SharedSecret
}
