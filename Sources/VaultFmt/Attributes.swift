package import VaultBytes

/// What an item has beside its key and its secret: names and values, sorted by name (specification, section 6.2).
///
/// Names have 1 to 255 bytes of UTF-8, values any bytes; at most 64 of them, with at most 1 MiB of values in all. Values of at most 256 bytes stand in
/// the index and are there when items are listed; longer ones, and those whose name starts with `sealed:`, are sealed with the secret.
public struct Attributes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package private(set) var entries: [AttributeList.Entry] = []

    /// Makes an empty set.
    public init() {}

    /// Makes a set of names and values.
    public init(_ values: [String: [UInt8]]) {
        for (name, value) in values { self[name] = value }
    }

    /// Makes a set of names and texts.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = Array(value.utf8) }
    }

    package init(sorted entries: [AttributeList.Entry]) { self.entries = entries }

    /// The value of a name; nil where there is none, and to remove it.
    public subscript(name: String) -> [UInt8]? {
        get {
            let (index, isThere) = position(of: name)
            return isThere ? entries[index].value : nil
        }
        set {
            let (index, isThere) = position(of: name)
            switch (newValue, isThere) {
            case (let value?, true): entries[index] = AttributeList.Entry(name: name, value: value)
            case (let value?, false): entries.insert(AttributeList.Entry(name: name, value: value), at: index)
            case (nil, true): entries.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// The item's name for people.
    public var label: String? {
        get { string("label") }
        set { self["label"] = newValue.map { Array($0.utf8) } }
    }

    /// Notes on the item.
    public var comment: String? {
        get { string("comment") }
        set { self["comment"] = newValue.map { Array($0.utf8) } }
    }

    /// What kind of item it is, in words: the attribute `description`.
    public var text: String? {
        get { string("description") }
        set { self["description"] = newValue.map { Array($0.utf8) } }
    }

    /// Whether there are none.
    public var isEmpty: Bool { entries.isEmpty }

    /// How many there are.
    public var count: Int { entries.count }

    /// Their names, sorted by their bytes.
    public var names: [String] { entries.map(\.name) }

    /// Calls `body` with each name and value, in the order of names.
    public func forEach(_ body: (String, [UInt8]) -> Void) {
        for entry in entries { body(entry.name, entry.value) }
    }

    /// A value as text; nil if it is absent or not UTF-8.
    public func string(_ name: String) -> String? { self[name].flatMap { String(validating: $0, as: UTF8.self) } }

    /// Those that stand in the index.
    var inPage: [AttributeList.Entry] { entries.filter { !$0.isInRecord } }

    /// Those that are sealed with the secret.
    var inRecord: [AttributeList.Entry] { entries.filter(\.isInRecord) }

    func check() throws(VaultError) {
        guard entries.count <= Format.Limit.attributes else {
            throw VaultError(.limitExceeded, "an item has at most \(Format.Limit.attributes) attributes, not \(entries.count)")
        }
        for entry in entries where !(1...Format.Limit.attributeName).contains(entry.name.utf8.count) {
            throw VaultError(
                .limitExceeded, "an attribute's name has 1 to \(Format.Limit.attributeName) bytes, not \(entry.name.utf8.count)")
        }
        let bytes = entries.reduce(0) { $0 + $1.value.count }
        guard bytes <= Format.Limit.attributeBytes else {
            throw VaultError(.limitExceeded, "an item's attributes have at most \(Format.Limit.attributeBytes) bytes, not \(bytes)")
        }
    }

    /// Binary search by the bytes of names.
    private func position(of name: String) -> (index: Int, isThere: Bool) {
        let wanted = Array(name.utf8)
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            let other = Array(entries[middle].name.utf8)
            if other == wanted { return (middle, true) }
            if ByteOrder.isLess(other, wanted) { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}

/// What is to become of an item's attributes: those named are set or removed, the others stay.
public struct AttributeChanges: Sendable {
    /// New values.
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
        for entry in self.set.entries { new[entry.name] = entry.value }
        return new
    }
}
