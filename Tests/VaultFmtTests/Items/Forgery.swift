import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// A state that an owner with a bad writer could commit: everything authenticates, and anything can be wrong in it. The
/// index is one leaf.
struct ForgedState {
    /// Keys and values of the leaf.
    var entries: [(key: [UInt8], value: [UInt8])]
    var keyring: Keyring
    let clock: UInt64
    var items: UInt64
    var forgotten: UInt64
    var pasts: UInt64
    var liveBytes: UInt64

    /// Changes the entry and attributes of an item.
    mutating func alter(
        _ key: ItemKey, _ change: (inout ItemEntry, inout [PageAttribute]) throws(VaultError) -> Void
    ) throws(VaultError) {
        guard let index = entries.firstIndex(where: { $0.key == key.bytes }) else {
            throw VaultError(.noSuchItem, "no such item to be altered")
        }
        var (entry, attributes) = try decoding { () throws(FormatError) in
            let bytes = entries[index].value
            var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
            var entry = try ItemEntry(bytes.span, &cursor)
            let attributes = try PageAttributes.decode(bytes.span, &cursor)
            try entry.finish(bytes.span, &cursor, attributes: attributes.count)
            return (entry, attributes)
        }
        try change(&entry, &attributes)
        entries[index].value = ItemCodec.encode(entry, attributes)
    }

    /// The entry of an item.
    func entry(_ key: ItemKey) throws(VaultError) -> ItemEntry {
        var copy = self
        var found: ItemEntry?
        try copy.alter(key) { (entry, _) throws(VaultError) in found = entry }
        guard let found else { throw VaultError(.noSuchItem, "no such item") }
        return found
    }
}

/// Appends what a forgery refers to.
struct ForgedFrames {
    let core: VaultCore
    let appender: Appender

    /// A record with any body, of an item and under a compartment's key.
    func record(_ body: [UInt8], _ identity: Sealing.RecordIdentity) throws(VaultError) -> ObjectRef {
        try RecordCodec.append(body: Secret(bytes: body), try seal(identity), to: appender)
    }

    func seal(_ identity: Sealing.RecordIdentity) throws(VaultError) -> RecordCodec.Seal {
        let locator: SecretBox
        switch core.store.slot.keys.owner {
        case .some(let owner): locator = SecretBox(owner.locator.copy())
        case .none: throw VaultError(.notPermitted, "not an owner")
        }
        return RecordCodec.Seal(
            identity: identity, key: try core.key(identity.compartment), locatorKey: locator,
            sealing: core.store.sealing)
    }

    func past(_ past: Past) throws(VaultError) -> ObjectRef {
        let body = try decoding { () throws(FormatError) in try past.encode() }
        return try appender.append(body, as: .past, .past, key: try core.pastKey().secret)
    }
}

extension Vault {
    /// Commits a forged state over the current one, whose index must be one leaf.
    func forge(_ change: (inout ForgedState, ForgedFrames) throws(VaultError) -> Void) throws {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            try store.beginWriting(wait: 1)
            defer { store.endWriting() }
            let commit = store.state.commit
            let appender = try store.makeAppender()
            var state = ForgedState(
                entries: [], keyring: store.keyring, clock: commit.clock, items: commit.items,
                forgotten: commit.forgotten, pasts: commit.pasts, liveBytes: commit.liveBytes)
            if let root = commit.root {
                precondition(root.level == 0, "a forgery starts from one leaf")
                let page = try store.pages.page(root.ref, level: 0)
                for index in 0..<page.count { state.entries.append((page.key(index), page.value(index))) }
            }
            try change(&state, ForgedFrames(core: core, appender: appender))
            var page = PageBuilder(level: 0)
            for entry in state.entries.sorted(by: { ByteOrder.isLess($0.key, $1.key) }) {
                page.append(entry.key, entry.value)
            }
            let root = Commit.Root(
                ref: try appender.append(page.encode(), as: .page, .page, key: store.slot.keys.index), level: 0)
            var ring = commit.keyring
            if state.keyring != store.keyring {
                let body = try decoding { () throws(FormatError) in try state.keyring.encode() }
                ring = try appender.append(body, as: .keyring, .keyring, key: store.slot.keys.index)
            }
            var next = store.state.successor
            (next.root, next.keyring, next.items) = (root, ring, state.items)
            (next.forgotten, next.pasts, next.liveBytes) = (state.forgotten, state.pasts, state.liveBytes)
            try store.commit(appender, next, try store.nextVector(), keyring: state.keyring)
            core.stateChanged()
        }
    }

    /// Reads something of the core.
    func reading<R>(core body: (VaultCore) throws(VaultError) -> R) throws -> R { try withCore(body) }

    /// The group of a compartment: 0 for the owners'.
    func group(ofCompartment number: UInt64) throws -> UInt64? {
        try reading { (core) throws(VaultError) in core.store.keyring.compartments.first { $0.number == number }?.group
        }
    }
}
