public import Foundation

/// A key-value store of bytes.
///
/// Calls only return whether they succeeded; the reason for a failure goes to the store's logger.
public protocol KeyValueStore {
    /// The value for a key; nil if the key does not exist or the value cannot be read. Assigning nil removes the key.
    /// Failures are not reported here; use the functions to detect them.
    subscript(key: String) -> Data? { get nonmutating set }

    /// Stores the value for a key, replacing any existing one. Returns false if the value cannot be stored.
    func save(data: Data, key: String) -> Bool

    /// Replaces the value for a key. Returns false if the key does not exist or the value cannot be replaced.
    func update(data: Data, key: String) -> Bool

    /// Removes a key and its value. Returns false if the key does not exist or cannot be removed.
    func delete(key: String) -> Bool

    /// Returns the value for a key, or nil if the key does not exist or the value cannot be read.
    func fetch(key: String) -> Data?
}

extension KeyValueStore {
    /// The value for a key, implemented with `fetch`, `save` and `delete`. See the requirement.
    public subscript(key: String) -> Data? {
        get { fetch(key: key) }
        nonmutating set {
            if let newValue { _ = save(data: newValue, key: key) } else { _ = delete(key: key) }
        }
    }
}
