public import Foundation

/// Turns a value into bytes: `JSONEncoder` and `PropertyListEncoder` do, others in a line.
public protocol ObjectEncoder {
    /// The bytes of a value.
    func encode<T: Encodable>(_ value: T) throws -> Data
}

/// Turns bytes into a value: `JSONDecoder` and `PropertyListDecoder` do, others in a line.
public protocol ObjectDecoder {
    /// The value of some bytes.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

extension JSONEncoder: ObjectEncoder {}
extension JSONDecoder: ObjectDecoder {}
extension PropertyListEncoder: ObjectEncoder {}
extension PropertyListDecoder: ObjectDecoder {}

/// A store of Codable values by key.
public protocol CodableKeyValueStore {
    /// Stores the value of a key, new or in place of the one that is there. False if it cannot be stored. Throws what
    /// the encoder throws.
    func save<Element: Encodable>(element: Element, key: String) throws -> Bool

    /// Replaces the value of a key. False if there is none, or it cannot be replaced. Throws what the encoder throws.
    func update<Element: Encodable>(element: Element, key: String) throws -> Bool

    /// Removes a key and its value. False if there is none, or it cannot be removed.
    func delete(key: String) -> Bool

    /// The value of a key; nil if there is none, or it cannot be read. Throws what the decoder throws.
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
/// The encoded value is ordinary memory that is not wiped.
public struct ObjectKeyValueStore: CodableKeyValueStore {
    private let encoder: any ObjectEncoder
    private let decoder: any ObjectDecoder
    private let store: any KeyValueStore

    /// Stores values in `store` as what the encoder makes of them; JSON unless said otherwise.
    public init(
        encoder: any ObjectEncoder = JSONEncoder(), decoder: any ObjectDecoder = JSONDecoder(), store: any KeyValueStore
    ) {
        self.encoder = encoder
        self.decoder = decoder
        self.store = store
    }

    /// Stores the value of a key, new or in place of the one that is there. See the requirement.
    public func save<Element: Encodable>(element: Element, key: String) throws -> Bool {
        store.save(data: try encoder.encode(element), key: key)
    }

    /// Replaces the value of a key. See the requirement.
    public func update<Element: Encodable>(element: Element, key: String) throws -> Bool {
        store.update(data: try encoder.encode(element), key: key)
    }

    /// Removes a key and its value. False if there is none, or it cannot be removed.
    public func delete(key: String) -> Bool { store.delete(key: key) }

    /// The value of a key; nil if there is none, or it cannot be read. See the requirement.
    public func fetch<Element: Decodable>(key: String, type: Element.Type) throws -> Element? {
        try store.fetch(key: key).map { try decoder.decode(type, from: $0) }
    }
}
