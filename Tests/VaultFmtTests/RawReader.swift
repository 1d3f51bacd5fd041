import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// An attacker who holds exactly what an open handle holds, and reads a raw file with it: every frame, live or dead,
/// with every key.
struct RawReader {
    private let index: [UInt8]
    /// Owners have these.
    private let locator: [UInt8]?
    private let past: [UInt8]?
    private let vault: Bytes16
    private let handle: Vault

    init(_ handle: Vault) throws {
        self.handle = handle
        (index, locator, past, vault) = try handle.withCore { (core) throws(VaultError) in
            let keys: (locator: [UInt8], past: [UInt8])? =
                switch core.store.slot.keys.owner {
                case .some(let owner): (owner.locator.array, owner.past.array)
                case .none: nil
                }
            return (core.store.slot.keys.index.array, keys?.locator, keys?.past, core.store.vault)
        }
    }

    /// The secrets and large attributes, as text, of all records in these bytes that open; of an earlier value of a short
    /// sealed attribute, the attribute.
    func secrets(in bytes: [UInt8]) throws -> Set<String> {
        let all = try frames(bytes)
        var held = try keptKeys()
        var identities: [Int: Set<Identity>] = [:]
        for frame in all {
            if frame.type == .keyring, let body = open(bytes, frame, .keyring) {
                held += try keys(of: Keyring(body.span, at: 0))
            }
            for (offset, identity) in try named(bytes, frame) { identities[offset, default: []].insert(identity) }
        }
        var found: Set<String> = []
        for frame in all where frame.type == .record {
            let bytes = Array(bytes[frame.range])
            var claimed = identities[frame.range.lowerBound] ?? []
            if let identity = claim(bytes) { claimed.insert(identity) }
            for identity in claimed {
                for key in held { if let secret = secret(bytes, identity, key) { found.insert(secret) } }
            }
        }
        return found
    }

    /// How many pages, pasts, keyrings, vectors and commits in these bytes open.
    func indexObjects(in bytes: [UInt8]) throws -> Int {
        let kinds: [FrameType: Sealing.Placed] = [
            .page: .page, .past: .past, .keyring: .keyring, .vector: .vector, .commit: .commit,
        ]
        return try frames(bytes).count { frame in
            guard let kind = kinds[frame.type] else { return false }
            return open(bytes, frame, kind) != nil
        }
    }

    /// Whether a text is in a page in these bytes that opens.
    func pages(in bytes: [UInt8], contain text: String) throws -> Bool {
        try frames(bytes).contains { frame in
            guard frame.type == .page, let body = open(bytes, frame, .page) else { return false }
            return body.firstRange(of: Array(text.utf8)) != nil
        }
    }

    /// What a record is bound to.
    private struct Identity: Hashable {
        let item: Bytes16
        let revision: UInt64
        let compartment: UInt64

        var sealed: Sealing.RecordIdentity {
            Sealing.RecordIdentity(item: item, revision: revision, compartment: compartment)
        }
    }

    /// The records that a page or a past refers to.
    private func named(_ bytes: [UInt8], _ frame: FrameInFile) throws -> [(offset: Int, identity: Identity)] {
        var all: [(offset: Int, identity: Identity)] = []
        func add(
            _ item: Bytes16, _ record: ObjectRef, _ revision: UInt64, _ compartment: UInt64,
            _ attributes: [PageAttribute]
        ) {
            all.append((Int(record.offset), Identity(item: item, revision: revision, compartment: compartment)))
            for own in attributes.compactMap(\.record) {
                all.append(
                    (Int(own.record.offset), Identity(item: item, revision: own.revision, compartment: own.compartment))
                )
            }
        }
        if frame.type == .page, let body = open(bytes, frame, .page) {
            let layout = try PageLayout(body.span, at: 0)
            guard layout.isLeaf else { return [] }
            for entry in layout.entries {
                let tag = layout.prefix.isEmpty ? entry.rest : layout.prefix
                guard body[tag.lowerBound] != Format.forgottenTag else { continue }
                var cursor = Cursor(over: entry.value, of: Cursor(body.span, at: 0, else: .structureInvalid))
                let item = try ItemEntry(body.span, &cursor)
                add(
                    item.id, item.record, item.recordRevision, item.compartment,
                    try PageAttributes.decode(body.span, &cursor))
            }
        }
        if frame.type == .past, let body = open(bytes, frame, .past) {
            let past = try Past(body.span, at: 0)
            for record in past.values.flatMap(\.records) {
                add(past.item, record.record, record.revision, record.compartment, [])
            }
        }
        return all
    }

    /// The keys that the handle has in memory: all that a locked one can use.
    private func keptKeys() throws -> [SecretBox] {
        try handle.withCore { (core) throws(VaultError) in
            core.view.keyring.compartments.compactMap { info in
                core.view.compartment(info.number).flatMap { try? core.compartments.key($0, core.context) }
            }
        }
    }

    /// The keys that a keyring's compartments unwrap to.
    private func keys(of keyring: Keyring) throws -> [SecretBox] {
        let view = KeyringView(keyring)
        return try handle.withCore { (core) throws(VaultError) in
            keyring.compartments.compactMap { info in
                view.compartment(info.number).flatMap { try? CompartmentKeys().key($0, core.context) }
            }
        }
    }

    private func open(_ bytes: [UInt8], _ frame: FrameInFile, _ kind: Sealing.Placed) -> [UInt8]? {
        guard let key = kind == .past ? past : index else { return nil }
        let sealing = Sealing(vault: vault, random: .system)
        let part = Array(bytes[frame.range])
        var out = [UInt8](repeating: 0, count: part.count - Format.sealOverhead)
        do {
            try out.withUnsafeMutableBytes { out in
                try part.withUnsafeBytes {
                    try sealing.open(
                        $0, as: kind, at: UInt64(frame.range.lowerBound), key: Secret(bytes: key), into: out)
                }
            }
            return out
        } catch { return nil }
    }

    /// What a record's locator says.
    private func claim(_ frame: [UInt8]) -> Identity? {
        guard let locator else { return nil }
        let sealing = Sealing(vault: vault, random: .system)
        let claimed = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: Secret(bytes: locator)) }
        return Identity(item: claimed.item, revision: claimed.revision, compartment: claimed.compartment)
    }

    private func secret(_ frame: [UInt8], _ identity: Identity, _ key: SecretBox) -> String? {
        let sealing = Sealing(vault: vault, random: .system)
        do {
            let body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, identity.sealed, key: key.secret, sealing, at: 0)
            }
            switch try body.withSpan({ (bytes) throws(VaultError) in try RecordCodec.found(bytes, at: 0) }) {
            case .item(_, let secret, let attributes):
                let bytes = secret.isEmpty ? attributes.first?.value : body.array[secret].map { $0 }
                return String(decoding: bytes ?? [], as: UTF8.self)
            case .attribute(_, _, _, let value): return String(decoding: body.array[value], as: UTF8.self)
            }
        } catch { return nil }
    }
}
