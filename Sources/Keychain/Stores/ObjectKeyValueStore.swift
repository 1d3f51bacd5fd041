public import Foundation

/// Encodes a value as bytes. `JSONEncoder` and `PropertyListEncoder` conform; other encoders need one line.
public protocol ObjectEncoder {
    /// Returns a value encoded as bytes.
    func encode<T: Encodable>(_ value: T) throws -> Data
}

/// Decodes a value from bytes. `JSONDecoder` and `PropertyListDecoder` conform; other decoders need one line.
public protocol ObjectDecoder {
    /// Returns the value decoded from bytes.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

extension JSONEncoder: ObjectEncoder {}
extension JSONDecoder: ObjectDecoder {}
extension PropertyListEncoder: ObjectEncoder {}
extension PropertyListDecoder: ObjectDecoder {}

/// A store of Codable values by key.
public protocol CodableKeyValueStore {
    /// Stores the value for a key, replacing any existing one. Returns false if the value cannot be stored. Rethrows
    /// the encoder's errors.
    func save<Element: Encodable>(element: Element, key: String) throws -> Bool

    /// Replaces the value for a key. Returns false if the key does not exist or the value cannot be replaced. Rethrows
    /// the encoder's errors.
    func update<Element: Encodable>(element: Element, key: String) throws -> Bool

    /// Removes a key and its value. Returns false if the key does not exist or cannot be removed.
    func delete(key: String) -> Bool

    /// Returns the value for a key, or nil if the key does not exist or the value cannot be read. Rethrows the
    /// decoder's errors.
    func fetch<Element: Decodable>(key: String, type: Element.Type) throws -> Element?
}

/// Codable values by key, in any store of bytes.
///
/// ```swift
/// let store = ObjectKeyValueStore(encoder: JSONEncoder(), decoder: JSONDecoder(), store: KeychainStore())
/// let isSaved = try store.save(element: account, key: "ann")
/// let saved = try store.fetch(key: "ann", type: Account.self)
/// ```
///
/// The encoded value is in ordinary memory that is not wiped.
public struct ObjectKeyValueStore: CodableKeyValueStore {
    private let encoder: any ObjectEncoder
    private let decoder: any ObjectDecoder
    private let store: any KeyValueStore

    /// Creates a store that keeps encoded values in `store`; the default encoding is JSON.
    public init(
        encoder: any ObjectEncoder = JSONEncoder(), decoder: any ObjectDecoder = JSONDecoder(), store: any KeyValueStore
    ) {
        self.encoder = encoder
        self.decoder = decoder
        self.store = store
    }

    /// Stores the value for a key, replacing any existing one. See the requirement.
    public func save<Element: Encodable>(element: Element, key: String) throws -> Bool {
        store.save(data: try encoder.encode(element), key: key)
    }

    /// Replaces the value for a key. See the requirement.
    public func update<Element: Encodable>(element: Element, key: String) throws -> Bool {
        store.update(data: try encoder.encode(element), key: key)
    }

    /// Removes a key and its value. Returns false if the key does not exist or cannot be removed.
    public func delete(key: String) -> Bool { store.delete(key: key) }

    /// Returns the value for a key, or nil if the key does not exist or the value cannot be read. See the requirement.
    public func fetch<Element: Decodable>(key: String, type: Element.Type) throws -> Element? {
        try store.fetch(key: key).map { try decoder.decode(type, from: $0) }
    }
}
