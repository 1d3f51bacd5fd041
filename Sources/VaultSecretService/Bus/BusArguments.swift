internal import VaultExchange

/// The arguments of a call, which are consumed one by one. Anything that does not fit the method is rejected with
/// `InvalidArgs`.
struct BusArguments {
    private var rest: ArraySlice<BusValue>

    init(_ call: BusCall) { rest = call.arguments[...] }

    private mutating func next() throws(BusError) -> BusValue {
        guard let value = rest.popFirst() else { throw Self.mismatch }
        return value
    }

    /// Throws if any argument remains.
    func end() throws(BusError) { guard rest.isEmpty else { throw Self.mismatch } }

    mutating func text() throws(BusError) -> String {
        guard case .text(let text) = try next() else { throw Self.mismatch }
        return text
    }

    mutating func path() throws(BusError) -> String {
        guard case .path(let path) = try next() else { throw Self.mismatch }
        return path
    }

    mutating func boolean() throws(BusError) -> Bool {
        guard case .boolean(let value) = try next() else { throw Self.mismatch }
        return value
    }

    mutating func variant() throws(BusError) -> BusValue {
        guard case .variant(let value) = try next() else { throw Self.mismatch }
        return value
    }

    mutating func paths() throws(BusError) -> [String] {
        guard case .array("o", let values) = try next() else { throw Self.mismatch }
        return try values.map { (value) throws(BusError) in
            guard case .path(let path) = value else { throw Self.mismatch }
            return path
        }
    }

    mutating func attributes() throws(BusError) -> LookupAttributes { try Self.attributes(in: try next()) }

    mutating func properties() throws(BusError) -> [(name: String, value: BusValue)] {
        guard case .array("{sv}", let entries) = try next() else { throw Self.mismatch }
        return try entries.map { (entry) throws(BusError) in
            guard case .entry(.text(let name), .variant(let value)) = entry else { throw Self.mismatch }
            return (name, value)
        }
    }

    mutating func secret() throws(BusError) -> ServiceSecret {
        guard case .structure(let parts) = try next(), parts.count == 4, case .path(let session) = parts[0],
            case .bytes(let parameters) = parts[1], case .bytes(let value) = parts[2], case .text(let type) = parts[3]
        else { throw Self.mismatch }
        return ServiceSecret(session: session, parameters: parameters, value: value, contentType: type)
    }

    /// Returns the attributes in a dictionary of strings.
    static func attributes(in value: BusValue) throws(BusError) -> LookupAttributes {
        guard case .array("{ss}", let entries) = value else { throw mismatch }
        let pairs = try entries.map { (entry) throws(BusError) -> (name: String, value: String) in
            guard case .entry(.text(let name), .text(let value)) = entry else { throw mismatch }
            return (name, value)
        }
        return try LookupAttributes(pairs)
    }

    private static let mismatch = BusError.arguments("the arguments are not those of the method")
}

/// A secret in transit: either in the clear, or encrypted for a session.
struct ServiceSecret: Sendable {
    /// The path of the session.
    let session: String
    /// The initialization vector; empty if the secret is not encrypted.
    let parameters: SharedSecret
    let value: SharedSecret
    let contentType: String

    var busValue: BusValue {
        .structure([.path(session), .bytes(parameters), .bytes(value), .text(contentType)])
    }

    static let signature = "(oayays)"
}

/// The attributes by which clients find an item: names and values, sorted by the bytes of the names. Strings are
/// compared by their bytes.
struct LookupAttributes: Sendable, Equatable {
    private(set) var all: [(name: String, value: String)] = []

    init() {}

    /// Throws `LimitsExceeded` if a limit is exceeded, and `InvalidArgs` for an empty or repeated name.
    init(_ pairs: [(name: String, value: String)]) throws(BusError) {
        guard pairs.count <= BusLimits.attributes else {
            throw .limit("an item can have at most \(BusLimits.attributes) attributes")
        }
        for (name, value) in pairs {
            guard !name.isEmpty else { throw .arguments("an attribute has no name") }
            guard name.utf8.count <= BusLimits.attributeName, value.utf8.count <= BusLimits.attributeValue else {
                throw .limit(
                    "an attribute's name can have at most \(BusLimits.attributeName) bytes, and its value "
                        + "\(BusLimits.attributeValue)")
            }
        }
        self.init(listed: pairs)
        for (one, next) in zip(all, all.dropFirst()) where one.name.isSame(as: next.name) {
            throw .arguments("an attribute is given twice")
        }
    }

    /// Makes the attributes of an item in the vault, whose names are unique.
    init(listed pairs: [(name: String, value: String)]) {
        all = pairs.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Returns the value of an attribute, given its name.
    subscript(name: String) -> String? { all.first { $0.name.isSame(as: name) }?.value }

    /// Returns whether these attributes include all of the given ones.
    func include(_ others: LookupAttributes) -> Bool {
        others.all.allSatisfy { (name, value) in self[name]?.isSame(as: value) ?? false }
    }

    static func == (left: LookupAttributes, right: LookupAttributes) -> Bool {
        left.all.count == right.all.count && left.include(right)
    }
}
