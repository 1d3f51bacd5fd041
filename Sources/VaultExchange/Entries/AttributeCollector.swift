import FoundationEssentials
import VaultBytes
import VaultFmt

/// Collects attributes within an item's limits. Names that are too long are truncated, duplicate names are numbered,
/// and attributes beyond the limit of 64 are combined into one.
struct AttributeCollector {
    private(set) var list: [Attribute] = []
    private var names: Set<[UInt8]> = []
    /// The number for the next attribute with each name.
    private var numbers: [String: Int] = [:]

    init(_ attributes: Attributes = Attributes()) {
        list = attributes.all
        names = Set(list.map { Array($0.name.utf8) })
    }

    mutating func put(_ name: String, _ text: String, sealed: Bool = false) {
        guard !text.isEmpty else { return }
        put(name, SharedSecret(text: text), sealed ? .sealed : .usual(for: name))
    }

    mutating func put(_ name: String, _ value: SharedSecret, _ flags: Attribute.Flags) {
        guard value.count > 0 || !name.isEmpty else { return }
        let free = freeName(name.isEmpty ? "field" : name)
        names.insert(Array(free.utf8))
        if flags.contains(.sealed) {
            list.append(Attribute(free, secret: value.secret.copy(), flags: flags))
        } else {
            list.append(Attribute(free, value.withBytes { Array($0) }, flags: flags))
        }
    }

    private mutating func freeName(_ name: String) -> String {
        let short = Self.cut(name, 255)
        guard names.contains(Array(short.utf8)) else { return short }
        let base = Self.cut(name, 240)
        while true {
            let number = numbers[base, default: 2]
            numbers[base] = number + 1
            let other = "\(base) (\(number))"
            if !names.contains(Array(other.utf8)) { return other }
        }
    }

    private static func cut(_ name: String, _ size: Int) -> String {
        guard name.utf8.count > size else { return name }
        var bytes = Array(name.utf8.prefix(size))
        while let last = bytes.popLast() {
            // Removes bytes back to the start of the character that was cut.
            if last & 0xC0 != 0x80, let whole = String(validating: bytes, as: UTF8.self) { return whole }
        }
        return ""
    }

    var attributes: Attributes {
        let most = Format.Limit.attributes
        guard list.count > most else { return Attributes(list) }
        let kept = Attributes(list.prefix(most - 1))
        // An exported item can already have such an attribute.
        let name = CombinedAttributes.names.first { kept.attribute($0) == nil } ?? AttributeName.more
        return Attributes(kept.all + [CombinedAttributes.attribute(name, list.dropFirst(most - 1))])
    }
}

/// The fields that an item has no room for, in one attribute.
enum CombinedAttributes {
    /// The names of such attributes; an item gets the first name that it does not already use.
    static let names = [AttributeName.more] + (2...Format.Limit.attributes).map { "\(AttributeName.more) (\($0))" }

    /// Returns a sealed attribute that holds the values of other attributes: a JSON object that maps names to texts or
    /// to `{"base64": …}`.
    static func attribute(_ name: String, _ others: some Collection<Attribute>) -> Attribute {
        var out = SecretBuffer()
        out.append("{")
        for (index, attribute) in others.enumerated() {
            if index > 0 { out.append(",\n") }
            attribute.name.utf8.withContiguousStorageIfAvailable { Self.quote(UnsafeRawBufferPointer($0), &out) }
            out.append(": ")
            attribute.withUnsafeBytes { bytes in
                if String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) != nil {
                    Self.quote(bytes, &out)
                } else {
                    out.append("{\"base64\": \"")
                    out.append(contentsOf: Data(bytes).base64EncodedString().utf8)
                    out.append("\"}")
                }
            }
        }
        out.append("}")
        return Attribute(name, secret: out.secret(), flags: .sealed)
    }

    private static func quote(_ text: UnsafeRawBufferPointer, _ out: inout SecretBuffer) {
        out.append(0x22)
        for byte in text {
            switch byte {
            case 0x22, 0x5C:
                out.append(0x5C)
                out.append(byte)
            case 0..<0x20:
                out.append("\\u00")
                for digit in [byte >> 4, byte & 15] { out.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
            default: out.append(byte)
            }
        }
        out.append(0x22)
    }
}

extension Attributes {
    /// Returns the change that sets these attributes on an item and keeps the item's other attributes. If there is not
    /// enough room, the last of the new attributes are combined into one. Attributes that the command understands, and
    /// attachments, come first.
    ///
    /// `item`: the item's attributes. Attributes with other names are kept, except for those that an earlier import
    /// combined.
    ///
    /// Throws `damaged` if the item does not even have room for the attributes that the command understands.
    func fitting(into item: Attributes) throws(ExchangeError) -> AttributeChanges {
        let name = CombinedAttributes.names.first { attribute($0) == nil } ?? AttributeName.more
        let date = SecretDate.attribute
        let kept = item.names.count { $0 != name && $0 != date && attribute($0) == nil }
        let all = Format.Limit.attributes - kept
        let others = [name, date].count { item.attribute($0) != nil && attribute($0) == nil }
        guard count + others > all else { return AttributeChanges(set: self) }
        // Room for the secret's date is always reserved, because combined attributes are not separated again.
        let room = all - (attribute(date) == nil ? 1 : 0)
        let meaningful = names.count { AttributeName.meaningful.contains($0) }
        guard room > meaningful else {
            throw ExchangeError(
                .damaged,
                "the item has \(item.count) attributes in the vault, and no room for those from the source",
                .removeAttributes)
        }
        func rank(_ name: String) -> Int {
            AttributeName.meaningful.contains(name) ? 0 : name.hasPrefix(AttributeName.filePrefix) ? 1 : 2
        }
        let ordered = (0...2).flatMap { order in self.all.filter { rank($0.name) == order } }
        let combined = ordered.dropFirst(room - 1)
        return AttributeChanges(
            set: Attributes(ordered.prefix(room - 1) + [CombinedAttributes.attribute(name, combined)]),
            remove: combined.map(\.name).filter { item.attribute($0) != nil })
    }
}
