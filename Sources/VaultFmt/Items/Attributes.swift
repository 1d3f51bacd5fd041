internal import VaultBytes

/// An item's data other than its key and secret: attributes with unique names, sorted by name (specification, section
/// 6.2).
///
/// There are at most 64 attributes, with names of 1 to 255 bytes of UTF-8 and values of at most 16 MiB. Unsealed values
/// of at most 256 bytes are stored in the index and are available when items are listed; other values of at most 4096
/// bytes are read with the secret. Larger values are read one at a time, with `Vault.attribute(_:of:)`.
public struct Attributes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// The attributes, sorted by the bytes of their names.
    public private(set) var all: [Attribute] = []

    /// Makes an empty set.
    public init() {}

    /// Makes a set of names and values, with default flags.
    public init(_ values: [String: [UInt8]]) {
        for (name, value) in values { self[name] = value }
    }

    /// Makes a set of names and text values, with default flags.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = Array(value.utf8) }
    }

    /// Makes a set of attributes; if several have the same name, the last one is used.
    public init(_ attributes: some Sequence<Attribute>) {
        for attribute in attributes { set(attribute) }
    }

    init(sorted attributes: [Attribute]) { all = attributes }

    /// Returns the attribute with the given name; nil if it does not exist.
    public func attribute(_ name: String) -> Attribute? {
        let (index, isThere) = position(of: name)
        return isThere ? all[index] : nil
    }

    /// Returns the index of the attribute with the given name; nil if it does not exist.
    func index(of name: String) -> Int? {
        let (index, isThere) = position(of: name)
        return isThere ? index : nil
    }

    /// Adds an attribute, replacing any existing one with the same name.
    public mutating func set(_ attribute: Attribute) {
        let (index, isThere) = position(of: attribute.name)
        if isThere { all[index] = attribute } else { all.insert(attribute, at: index) }
    }

    /// The value of an attribute; nil if the attribute does not exist or its value was not read. Setting it to nil
    /// removes the attribute. The flags of the replaced value, or the default flags, apply to the new value. A sealed
    /// value is copied into ordinary memory; `attribute(_:)` avoids this.
    public subscript(name: String) -> [UInt8]? {
        get { attribute(name)?.value }
        set {
            let (index, isThere) = position(of: name)
            switch (newValue, isThere) {
            case (let value?, true):
                let old = all[index]
                all[index] = Attribute(name, value, flags: old.areFlagsStated ? old.flags : nil)
            case (let value?, false): all.insert(Attribute(name, value), at: index)
            case (nil, true): all.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// The item's human-readable name.
    public var label: String? {
        get { string("label") }
        set { self["label"] = newValue.map { Array($0.utf8) } }
    }

    /// Unsealed notes on the item.
    public var comment: String? {
        get { string("comment") }
        set { self["comment"] = newValue.map { Array($0.utf8) } }
    }

    /// A description of the kind of item: the attribute `description`.
    public var description: String? {
        get { string("description") }
        set { self["description"] = newValue.map { Array($0.utf8) } }
    }

    /// True if the set is empty.
    public var isEmpty: Bool { all.isEmpty }

    /// The number of attributes, whether read or not.
    public var count: Int { all.count }

    /// The names of the attributes, sorted by their bytes.
    public var names: [String] { all.map(\.name) }

    /// The number of attributes whose values were not read.
    public var unread: Int { all.count { !$0.isRead } }

    /// Calls `body` with the name and value of each attribute that was read, sorted by name. Sealed values are copied
    /// into ordinary memory.
    public func forEach(_ body: (String, [UInt8]) -> Void) {
        for attribute in all { if let value = attribute.value { body(attribute.name, value) } }
    }

    /// Returns a value as text; nil if it is absent, was not read, or is not UTF-8.
    public func string(_ name: String) -> String? { self[name].flatMap { String(validating: $0, as: UTF8.self) } }

    /// Checks the limits, and that every value was read or is unchanged from `old`.
    func check(replacing old: Attributes = Attributes()) throws(VaultError) {
        guard all.count <= Format.Limit.attributes else {
            throw VaultError(
                .limitExceeded, "an item can have at most \(Format.Limit.attributes) attributes, not \(all.count)")
        }
        for attribute in all {
            let length = attribute.name.utf8.count
            guard (1...Format.Limit.attributeName).contains(length) else {
                throw VaultError(
                    .limitExceeded,
                    "an attribute's name must be 1 to \(Format.Limit.attributeName) bytes long, not \(length)")
            }
            guard attribute.flags.isSubset(of: [.sealed, .concealed, .binary]) else {
                throw VaultError(.invalidArgument, "the attribute \"\(attribute.name)\" has unknown flags")
            }
            if let size = attribute.size {
                guard size <= Format.Limit.attributeValue else {
                    throw VaultError(
                        .limitExceeded,
                        "an attribute can be at most \(Format.Limit.attributeValue) bytes long, not \(size)")
                }
            } else {
                guard old.attribute(attribute.name) == attribute else {
                    throw VaultError(
                        .invalidArgument, "the value of the attribute \"\(attribute.name)\" has not been read")
                }
            }
        }
    }

    /// Finds a name by binary search over the bytes of the names.
    private func position(of name: String) -> (index: Int, isThere: Bool) {
        let wanted = Array(name.utf8)
        var low = 0
        var high = all.count
        while low < high {
            let middle = (low + high) / 2
            let other = Array(all[middle].name.utf8)
            if other == wanted { return (middle, true) }
            if ByteOrder.isLess(other, wanted) { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}

/// A change to an item's attributes: the named attributes are set or removed, and all others are kept.
public struct AttributeChanges: Sendable {
    /// The attributes to set. An attribute without flags keeps the flags of the item's existing attribute with the same
    /// name.
    public var set: Attributes
    /// The names of attributes to remove; names that do not exist are ignored.
    public var remove: [String]
    /// True if attributes that are not in `set` are removed too.
    public var replaceAll: Bool

    /// Makes a change, which by default has no effect.
    public init(set: Attributes = .init(), remove: [String] = [], replaceAll: Bool = false) {
        self.set = set
        self.remove = remove
        self.replaceAll = replaceAll
    }

    /// True if the change has no effect on any item.
    public var isEmpty: Bool { self.set.isEmpty && remove.isEmpty && !replaceAll }

    func applied(to old: Attributes) -> Attributes {
        var new = replaceAll ? Attributes() : old
        for name in remove { new[name] = nil }
        for attribute in self.set.all {
            let flags = attribute.areFlagsStated ? nil : old.attribute(attribute.name)?.flags
            new.set(flags.map { attribute.with(flags: $0) } ?? attribute)
        }
        return new
    }
}
