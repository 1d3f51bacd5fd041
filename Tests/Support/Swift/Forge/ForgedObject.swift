package import VaultBytes

/// One frame of a vault that was taken apart, and what is to be changed when it is put together again.
///
/// Changes are made at one of five stages, so that one thing is wrong and everything that is made later is right.
package struct ForgedObject {
    /// Where an object was, and where it is in the file that is being put together.
    package typealias ID = Int

    package let id: ID
    package let type: FrameType
    /// Where it was in the file that was taken apart; nil for one that is new.
    package let origin: UInt64?
    package var nonce: [UInt8]
    /// The plaintext, padded; of a commit, the core. References in it are brought up to date when the file is put
    /// together, before the edits.
    package var body: [UInt8]
    /// Of a record: what its page says, and what its locator says.
    package var identity: RecordName?
    /// The whole frame as it is, if it did not open; then nothing but `written` is done to it.
    package var opaque: [UInt8]?
    /// Of a commit: whether it is signed; nil for what asks for.
    package var isSigned: Bool?

    /// On the plaintext.
    package var editBody: [(inout [UInt8], ForgeLayout) throws -> Void] = []
    /// Of a commit: on owner MAC and signature, 96 bytes; with its chain value.
    package var editProof: [(inout [UInt8], [UInt8]) throws -> Void] = []
    /// On how it is sealed.
    package var editRecipe: [(inout SealRecipe, ForgeLayout) throws -> Void] = []
    /// On the frame, before anything is hashed: references, digest and everything above are right for what comes out.
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
        package var compartment: UInt64
        package var revision: UInt64

        package init(item: Bytes16, compartment: UInt64, revision: UInt64) {
            self.item = item
            self.compartment = compartment
            self.revision = revision
        }

        /// As it is bound, and in a locator.
        package var bytes: [UInt8] {
            var out = item.bytes
            out.append(u64: compartment)
            out.append(u64: revision)
            return out
        }

        package init?(_ bytes: [UInt8]) {
            guard bytes.count == 32, let item = Bytes16(Array(bytes[..<16])) else { return nil }
            self.item = item
            var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
            do throws(FormatError) {
                _ = try cursor.slice(16, "an item id")
                compartment = try cursor.u64(bytes.span)
                revision = try cursor.u64(bytes.span)
            } catch { return nil }
        }

        /// XORed with the mask of a locator (section 5.1), which hides and shows it.
        package static func masked(_ bytes: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8] {
            zip(bytes, Plain.mac(key, "vaultfmt-1 locator mask", nonce)).map { $0 ^ $1 }
        }
    }
}

/// Everything that goes into sealing one frame (section 4): label, vault, x and the frame's first 8 bytes, in this
/// order.
package struct SealRecipe {
    package var key: [UInt8]
    package var nonce: [UInt8]
    package var label: String
    package var vault: [UInt8]
    package var x: [UInt8]
    /// The frame's first 8 bytes as they are bound, and as they are in the file.
    package var head: [UInt8]
    package var clearHead: [UInt8]
    /// Of a record: what the locator says, and its key.
    package var locator: ForgedObject.RecordName?
    package var locatorKey: [UInt8] = []

    package var bound: [UInt8] { Plain.label(label) + vault + x + head }
}

/// What is known while a file is put together: where the objects so far are, and what they hash to.
package struct ForgeLayout {
    /// Where the object that is being made will be.
    package fileprivate(set) var offset: UInt64 = 0
    /// Where the first object is.
    package let bodyStart: UInt64
    /// What the header states of itself.
    package let headerHash: Bytes32
    private var refs: [ForgedObject.ID: ObjectRef] = [:]
    private var cores: [ForgedObject.ID: [UInt8]] = [:]

    init(bodyStart: UInt64, headerHash: Bytes32) {
        self.bodyStart = bodyStart
        self.headerHash = headerHash
    }

    /// The core of a commit.
    package func core(_ id: ForgedObject.ID) throws -> [UInt8] {
        guard let core = cores[id] else { throw ForgeError("commit \(id) is not yet there") }
        return core
    }

    mutating func add(_ id: ForgedObject.ID, core: [UInt8]) { cores[id] = core }

    package func ref(_ id: ForgedObject.ID) throws -> ObjectRef {
        guard let ref = refs[id] else { throw ForgeError("object \(id) is not yet there") }
        return ref
    }

    mutating func begin(at offset: UInt64) { self.offset = offset }
    mutating func add(_ id: ForgedObject.ID, _ ref: ObjectRef) { refs[id] = ref }
    func knows(_ id: ForgedObject.ID) -> Bool { refs[id] != nil }
}
