public import Foundation

/// What turns a value into bytes: `JSONEncoder` and `PropertyListEncoder` do, others in a line.
public protocol ObjectEncoder {
    /// The bytes of a value.
    func encode<T: Encodable>(_ value: T) throws -> Data
}

/// What turns bytes into a value: `JSONDecoder` and `PropertyListDecoder` do, others in a line.
public protocol ObjectDecoder {
    /// The value of some bytes.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

extension JSONEncoder: ObjectEncoder {}
extension JSONDecoder: ObjectDecoder {}
extension PropertyListEncoder: ObjectEncoder {}
extension PropertyListDecoder: ObjectDecoder {}

/// A store of Codable values by key, over any store of bytes. A `KeyValueStore` becomes one by saying so.
///
/// The encoded value is ordinary memory, which nobody wipes.
public protocol ObjectKeyValueStore: KeyValueStore {
    /// Stores the value of a new key. False if it exists already, or cannot be stored. Throws what the encoder throws.
    func save<T: Encodable>(object: T, key: String, encoder: some ObjectEncoder) throws -> Bool

    /// Replaces the value of a key. False if there is none, or it cannot be replaced. Throws what the encoder throws.
    func update<T: Encodable>(object: T, key: String, encoder: some ObjectEncoder) throws -> Bool

    /// The value of a key; nil if there is none, or it cannot be read. Throws what the decoder throws.
    func fetch<T: Decodable>(_ type: T.Type, key: String, decoder: some ObjectDecoder) throws -> T?
}

extension ObjectKeyValueStore {
    /// Stores the value of a new key, as JSON unless another encoder is given. See the requirement.
    public func save<T: Encodable>(object: T, key: String, encoder: some ObjectEncoder = JSONEncoder()) throws -> Bool {
        save(data: try encoder.encode(object), key: key)
    }

    /// Replaces the value of a key, as JSON unless another encoder is given. See the requirement.
    public func update<T: Encodable>(object: T, key: String, encoder: some ObjectEncoder = JSONEncoder()) throws -> Bool {
        update(data: try encoder.encode(object), key: key)
    }

    /// The value of a key, from JSON unless another decoder is given. See the requirement.
    public func fetch<T: Decodable>(_ type: T.Type, key: String, decoder: some ObjectDecoder = JSONDecoder()) throws -> T? {
        guard let data = fetch(key: key) else { return nil }
        return try decoder.decode(type, from: data)
    }
}
