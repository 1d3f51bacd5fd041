public import Foundation

/// A store of bytes by key: saves, updates, removes and fetches them.
///
/// Calls say whether they succeeded, and no more: the reason goes to the store's logger.
public protocol KeyValueStore {
    /// The value of a key; nil if there is none or it cannot be read. Setting nil removes the key. Failures are not
    /// reported here: see the functions.
    subscript(key: String) -> Data? { get nonmutating set }

    /// Stores the value of a key, new or in place of the one that is there. False if it cannot be stored.
    func save(data: Data, key: String) -> Bool

    /// Replaces the value of a key. False if there is none, or it cannot be replaced.
    func update(data: Data, key: String) -> Bool

    /// Removes a key and its value. False if there is none, or it cannot be removed.
    func delete(key: String) -> Bool

    /// The value of a key; nil if there is none, or it cannot be read.
    func fetch(key: String) -> Data?
}

extension KeyValueStore {
    /// The value of a key, by `fetch`, `save` and `delete`. See the requirement.
    public subscript(key: String) -> Data? {
        get { fetch(key: key) }
        nonmutating set {
            if let newValue { _ = save(data: newValue, key: key) } else { _ = delete(key: key) }
        }
    }
}
