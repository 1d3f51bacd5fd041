public import Foundation

/// A store of bytes by key: saves, updates, removes and fetches them.
///
/// Calls tell whether they did it, and no more: the reason goes to the store's logger.
public protocol KeyValueStore {
    /// Stores the value of a new key. False if it exists already, or cannot be stored.
    func save(data: Data, key: String) -> Bool

    /// Replaces the value of a key. False if there is none, or it cannot be replaced.
    func update(data: Data, key: String) -> Bool

    /// Removes a key and its value. False if there is none, or it cannot be removed.
    func delete(key: String) -> Bool

    /// The value of a key; nil if there is none, or it cannot be read.
    func fetch(key: String) -> Data?
}
