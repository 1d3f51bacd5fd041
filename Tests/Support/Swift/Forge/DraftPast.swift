package import VaultBytes

/// A hand-over of a draft.
package struct DraftHandOver {
    package var publicKey: Bytes32
    package var next: Bytes32
    package var vector: Vector
    package var signature: [UInt8]
    /// Where its vector is; nil if it is to be written.
    package var stored: ObjectRef?

    package init(publicKey: Bytes32, next: Bytes32, vector: Vector, signature: [UInt8]) {
        self.publicKey = publicKey
        self.next = next
        self.vector = vector
        self.signature = signature
    }

    var listed: HandOver? {
        stored.map {
            HandOver(publicKey: publicKey, next: next, vector: $0, floor: vector.floor, signature: signature)
        }
    }
}

/// The vector that the last commit refers to.
struct DraftVector {
    var ref: ObjectRef
    var base: (ref: ObjectRef, rows: [Vector.Row])?
    /// What the frame has.
    var vector: Vector
}

extension DraftItem {
    /// The past that the earlier values make: the secrets and sealed attributes that the item does not have any more.
    /// Nil if there are none, and nothing else is to be put in.
    func past() throws -> Past? {
        var values: [Past.Value] = []
        for version in versions { values += try earlier(version) }
        guard !values.isEmpty || editPast != nil else { return nil }
        return Past(item: id, values: values.sorted(by: Past.Value.precedes))
    }

    private func earlier(_ version: DraftValue) throws -> [Past.Value] {
        guard let own = version.own else { throw ForgeError("an earlier value without a record") }
        var values: [Past.Value] = []
        let later = versions.drop { $0.dot != version.dot }.dropFirst() + [value]
        if !later.contains(where: { $0.secretDot == version.secretDot }) {
            let attributes = try version.attributes.filter { $0.flags & 1 == 0 }.map { try $0.inPage(live: value) }
            values.append(
                Past.Value(
                    kind: .secret, dot: version.secretDot, flags: .earlier, replaced: version.replaced,
                    content: .secret(own, attributes)))
        }
        for attribute in version.attributes where attribute.flags & 1 != 0 {
            let dot = attribute.dot ?? version.dot
            guard !later.contains(where: { $0.attributes.contains { $0.name == attribute.name && $0.dot == dot } })
            else {
                continue
            }
            let large = try attribute.inPage(live: value).record
            values.append(
                Past.Value(
                    kind: .attribute, name: Array(attribute.name.utf8),
                    attribute: AttributeFlags(rawValue: attribute.flags), dot: dot, flags: .earlier,
                    replaced: version.replaced, content: .attributeInRecord(large ?? own)))
        }
        return values
    }
}
