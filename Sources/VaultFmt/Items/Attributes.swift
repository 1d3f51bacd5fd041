internal import VaultBytes

/// What an item has besides its key and its secret: attributes with different names, sorted by name (specification,
/// section 6.2).
///
/// At most 64 of them, with names of 1 to 255 bytes of UTF-8 and values of at most 16 MiB. Values of at most 256 bytes
/// are in the index and are there when items are listed, unless they are sealed; others, of at most 4096 bytes, come
/// with the secret. Larger values are read one at a time, with `Vault.attribute(_:of:)`.
public struct Attributes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// In the order of their names, as bytes.
    public private(set) var all: [Attribute] = []

    /// Makes an empty set.
    public init() {}

    /// Makes a set of names and values, with the usual flags.
    public init(_ values: [String: [UInt8]]) {
        for (name, value) in values { self[name] = value }
    }

    /// Makes a set of names and texts, with the usual flags.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = Array(value.utf8) }
    }

    /// Makes a set of attributes; of several with one name, the last.
    public init(_ attributes: some Sequence<Attribute>) {
        for attribute in attributes { set(attribute) }
    }

    init(sorted attributes: [Attribute]) { all = attributes }

    /// The attribute with a name; nil if there is none.
    public func attribute(_ name: String) -> Attribute? {
        let (index, isThere) = position(of: name)
        return isThere ? all[index] : nil
    }

    /// Adds an attribute, or replaces the one with its name.
    public mutating func set(_ attribute: Attribute) {
        let (index, isThere) = position(of: attribute.name)
        if isThere { all[index] = attribute } else { all.insert(attribute, at: index) }
    }

    /// The value of a name; nil where there is none or it was not read, and to remove it. A value that is set has the
    /// flags of the one that it replaces, or the usual ones. A sealed value is copied out of wiped memory:
    /// `attribute(_:)` avoids that.
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

    /// The item's name for people.
    public var label: String? {
        get { string("label") }
        set { self["label"] = newValue.map { Array($0.utf8) } }
    }

    /// Notes on the item that are not sealed.
    public var comment: String? {
        get { string("comment") }
        set { self["comment"] = newValue.map { Array($0.utf8) } }
    }

    /// What kind of item it is, in words: the attribute `description`.
    public var description: String? {
        get { string("description") }
        set { self["description"] = newValue.map { Array($0.utf8) } }
    }

    /// Whether there are none.
    public var isEmpty: Bool { all.isEmpty }

    /// How many there are, read or not.
    public var count: Int { all.count }

    /// Their names, sorted by their bytes.
    public var names: [String] { all.map(\.name) }

    /// How many have a value that was not read.
    public var unread: Int { all.count { !$0.isRead } }

    /// Calls `body` with each name and value that was read, in the order of names. Sealed values are copied out of
    /// wiped memory.
    public func forEach(_ body: (String, [UInt8]) -> Void) {
        for attribute in all { if let value = attribute.value { body(attribute.name, value) } }
    }

    /// A value as text; nil if it is absent, was not read or is not UTF-8.
    public func string(_ name: String) -> String? { self[name].flatMap { String(validating: $0, as: UTF8.self) } }

    /// Checks the limits, and that all values are here or those of `old`.
    func check(replacing old: Attributes = Attributes()) throws(VaultError) {
        guard all.count <= Format.Limit.attributes else {
            throw VaultError(
                .limitExceeded, "an item has at most \(Format.Limit.attributes) attributes, not \(all.count)")
        }
        for attribute in all {
            let length = attribute.name.utf8.count
            guard (1...Format.Limit.attributeName).contains(length) else {
                throw VaultError(
                    .limitExceeded, "an attribute's name has 1 to \(Format.Limit.attributeName) bytes, not \(length)")
            }
            guard attribute.flags.isSubset(of: [.sealed, .concealed, .binary]) else {
                throw VaultError(.invalidArgument, "the attribute \"\(attribute.name)\" has unknown flags")
            }
            if let size = attribute.size {
                guard size <= Format.Limit.attributeValue else {
                    throw VaultError(
                        .limitExceeded, "an attribute has at most \(Format.Limit.attributeValue) bytes, not \(size)")
                }
            } else {
                guard old.attribute(attribute.name) == attribute else {
                    throw VaultError(.invalidArgument, "the value of the attribute \"\(attribute.name)\" was not read")
                }
            }
        }
    }

    /// Binary search by the bytes of names.
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

/// What is to become of an item's attributes: those named are set or removed, the others stay.
public struct AttributeChanges: Sendable {
    /// New values. One whose flags are not stated keeps those that the item's attribute of its name has.
    public var set: Attributes
    /// Names to be removed; one that is not there is no error.
    public var remove: [String]
    /// Whether the attributes not named in `set` go too.
    public var replaceAll: Bool

    /// Makes a change; by default one that changes nothing.
    public init(set: Attributes = .init(), remove: [String] = [], replaceAll: Bool = false) {
        self.set = set
        self.remove = remove
        self.replaceAll = replaceAll
    }

    /// Whether it changes nothing, whatever there is.
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
