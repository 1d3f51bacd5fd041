internal import VaultBytes
internal import VaultStore

/// Reads the records of one item from two copies. Records of the other copy are read from its file; the transaction
/// reads all others. The transaction's keyring contains the keys of both files.
final class MergeRecords: RecordReading {
    private let transaction: Transaction
    private let theirs: VaultCore
    private let item: MergedItem
    /// The places of records in our file, by their hashes.
    private var own: [Bytes32: RecordRef]
    /// The records that are only in the other file.
    private let foreign: Set<ObjectRef>

    init(_ transaction: Transaction, _ item: MergedItem, _ theirs: VaultCore) {
        self.transaction = transaction
        self.theirs = theirs
        self.item = item
        own = item.ownRecords
        var foreign: Set<ObjectRef> = []
        for value in item.theirs?.state.values.values ?? [:].values {
            for record in value.records where own[record.record.hash] == nil { foreign.insert(record.record) }
        }
        if let record = item.theirs?.item.entry.record, own[record.hash] == nil { foreign.insert(record) }
        self.foreign = foreign
    }

    var sealing: Sealing { transaction.sealing }
    var pages: PageSource { transaction.pages }
    var entryCheck: EntryCheck { transaction.entryCheck }
    var limit: Int { transaction.limit }

    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        let isForeign = foreign.contains(ref)
        do throws(VaultError) {
            guard isForeign else { return try transaction.frame(ref, type, before: referrer) }
            return try theirs.frame(ref, type, before: theirs.store.state.commit.offset)
        } catch { throw item.naming(error, inOurs: !isForeign) }
    }

    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox { try transaction.key(compartment) }

    func pastKey() throws(VaultError) -> SecretBox { try transaction.pastKey() }

    func vector() throws(VaultError) -> Vector { try transaction.vector() }

    /// Returns the place of a record in our file, copying it if necessary.
    func brought(_ record: RecordRef) throws(VaultError) -> RecordRef {
        if let known = own[record.record.hash] { return known }
        guard foreign.contains(record.record) else { return record }
        let frame = try frame(record.record, .record, before: 0)
        let ref = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try transaction.appender.append(sealed: frame)
        }
        let copied = RecordRef(record: ref, revision: record.revision, compartment: record.compartment)
        own[record.record.hash] = copied
        return copied
    }
}
