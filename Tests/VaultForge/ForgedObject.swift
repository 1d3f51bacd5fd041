package import VaultBytes
internal import VaultCrypto

/// One frame of a vault that was taken apart, and what is to be changed when it is put together again.
///
/// Changes are made at one of five stages, so that one thing is wrong and everything that is made later is right.
package struct ForgedObject {
    /// Where an object stood, and where it stands in the file that is being put together.
    package typealias ID = Int

    package let id: ID
    package let type: FrameType
    /// Where it stood in the file that was taken apart; nil for one that is new.
    package let origin: UInt64?
    package var nonce: [UInt8]
    /// The plaintext, padded. References in it are brought up to date when the file is put together, before the edits.
    package var body: [UInt8]
    /// Of a record: what its page says, and what its locator says.
    package var identity: RecordName?
    /// The whole frame as it is, if it did not open; then nothing but `written` is done to it.
    package var opaque: [UInt8]?

    /// On the plaintext.
    package var editBody: [(inout [UInt8], ForgeLayout) throws -> Void] = []
    /// On how it is sealed.
    package var editRecipe: [(inout SealRecipe, ForgeLayout) throws -> Void] = []
    /// On the frame, before anything is hashed: references, digest and all above are right for what comes out.
    package var editSealed: [(inout [UInt8]) throws -> Void] = []
    /// On the frame after references to it took its hash, and before the digest.
    package var editReferenced: [(inout [UInt8]) throws -> Void] = []
    /// On the frame after everything: nothing is right for it.
    package var editWritten: [(inout [UInt8]) throws -> Void] = []
    /// Of a commit: on the zeros before it.
    package var editPadding: [(inout [UInt8]) throws -> Void] = []

    package init(id: ID, type: FrameType, origin: UInt64?, nonce: [UInt8], body: [UInt8]) {
        self.id = id
        self.type = type
        self.origin = origin
        self.nonce = nonce
        self.body = body
    }

    /// What a record is bound to.
    package struct RecordName: Hashable, Sendable {
        package var item: Bytes16
        package var revision: UInt64
        package var compartment: UInt32

        package init(item: Bytes16, revision: UInt64, compartment: UInt32) {
            self.item = item
            self.revision = revision
            self.compartment = compartment
        }

        var identity: Sealing.RecordIdentity {
            Sealing.RecordIdentity(item: item.words, revision: revision, compartment: compartment)
        }
    }
}

/// Everything that goes into sealing one frame (section 4): label, vault, x and the frame's first 8 bytes, in this order.
package struct SealRecipe {
    package var key: [UInt8]
    package var nonce: [UInt8]
    package var label: String
    package var vault: [UInt8]
    package var x: [UInt8]
    /// The frame's first 8 bytes as they are bound, and as they stand in the file.
    package var head: [UInt8]
    package var clearHead: [UInt8]
    /// Of a record: what the locator says, and its key.
    package var locator: ForgedObject.RecordName?
    package var locatorKey: [UInt8] = []
    /// Of a commit: the keys of its MACs, and what they cover before the frame.
    package var reader: [UInt8] = []
    package var owner: [UInt8] = []

    package var bound: [UInt8] { [UInt8(label.utf8.count)] + Array(label.utf8) + vault + x + head }
}

/// What is known while a file is put together: where the objects so far are, and what they hash to.
package struct ForgeLayout {
    /// Where the object that is being made will stand.
    package fileprivate(set) var offset: UInt64 = 0
    private var refs: [ForgedObject.ID: ObjectRef] = [:]

    package func ref(_ id: ForgedObject.ID) throws -> ObjectRef {
        guard let ref = refs[id] else { throw ForgeError("object \(id) is not yet there") }
        return ref
    }

    mutating func begin(at offset: UInt64) { self.offset = offset }
    mutating func add(_ id: ForgedObject.ID, _ ref: ObjectRef) { refs[id] = ref }
    func knows(_ id: ForgedObject.ID) -> Bool { refs[id] != nil }
}
