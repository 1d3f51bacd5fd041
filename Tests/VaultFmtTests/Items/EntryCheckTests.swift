import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// Indexes that authenticate and that no writer of ours makes.
@Suite("An entry of the index")
struct EntryCheckTests {
    private let key: ItemKey
    private let other: ItemKey

    init() throws {
        key = try .genericPassword(service: "mail", account: "ann", group: "team")
        other = try .genericPassword(service: "mail", account: "bob", group: "others")
    }

    /// Two items of two groups; the first has a large attribute, and one earlier value that shares it.
    private func vault(_ path: String) throws -> Vault {
        let vault = try Fast.create(path, device: .random())
        let large = [UInt8](repeating: 7, count: 5000)
        try vault.add(key, secret: Secret(text: "one"), attributes: Attributes(["file": large]))
        try vault.put(other, "x")
        try vault.put(key, "two")
        return vault
    }

    enum Fault: CaseIterable, Sendable {
        case noCompartment, otherGroup, ownersGroup, largeOfOtherGroup, largeOfOwners, device, revision, noRevision,
            recordRevision
        case largeRevision
    }

    @Test(
        "is refused if its compartment, a device or a revision is not possible; others are not (R-6.6 to R-6.8)",
        arguments: Fault.allCases)
    func entries(fault: Fault) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, frames) throws(VaultError) in
            let foreign = try state.entry(other).compartment
            let owners = state.keyring.compartments.first { $0.group == Keyring.ownersGroup }?.number ?? 0
            let clock = state.clock
            try state.alter(key) { (entry, attributes) throws(VaultError) in
                guard let own = attributes[0].record else { throw VaultError(.structureInvalid, "no large attribute") }
                var changed = own
                switch fault {
                case .noCompartment: entry.compartment = 77
                case .otherGroup: entry.compartment = foreign
                case .ownersGroup: entry.compartment = owners
                case .largeOfOtherGroup: changed.compartment = foreign
                case .largeOfOwners: changed.compartment = owners
                case .device: entry.device = 2
                case .revision: entry.revision = clock + 1
                case .noRevision: entry.revision = 0
                case .recordRevision: entry.recordRevision = clock + 1
                case .largeRevision: changed.revision = clock + 1
                }
                attributes[0] = PageAttribute(
                    name: attributes[0].name, flags: attributes[0].flags, value: .inOwnRecord(changed))
            }
        }
        let reader = try Fast.open(path)
        fails(.structureInvalid) { _ = try reader.item(key) }
        fails(.structureInvalid) { _ = try reader.allItems() }
        fails(.structureInvalid) { try reader.forEachSecret { _, _ in } }
        fails(.structureInvalid) { try reader.compact() }
        #expect(try reader.text(other) == "x")
        #expect(try !reader.verify().isSound)
    }

    enum VersionFault: CaseIterable, Sendable {
        case otherItem, otherNumber, notEarlier, sameRevisionAndDevice, itemsCompartment, noCompartment, largeNotShared,
            device, revision
        case recordRevision, largeRevision
    }

    @Test(
        "is read although its earlier values are not possible, and those are refused (R-5.13, R-6.6 to R-6.8)",
        arguments: VersionFault.allCases)
    func versions(fault: VersionFault) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let known = try #require(try vault.earlierValues(of: key).first).version
        try vault.forge { (state, frames) throws(VaultError) in
            let item = try state.entry(key)
            let foreign = try state.entry(other)
            var versions = Versions(item: item.id, versions: [known])
            var large = known.largeRecords[0]
            switch fault {
            case .otherItem: versions.item = foreign.id
            case .otherNumber: versions.versions.append(contentsOf: [known])
            case .notEarlier: versions.versions[0].revision = item.revision + 1
            case .sameRevisionAndDevice:
                (versions.versions[0].revision, versions.versions[0].device) = (item.revision, item.device)
            case .itemsCompartment: versions.versions[0].compartment = item.compartment
            case .noCompartment: versions.versions[0].compartment = 77
            case .largeNotShared: large.revision += 1
            case .device: versions.versions[0].device = 2
            case .revision: versions.versions[0].revision = state.clock + 1
            case .recordRevision: versions.versions[0].recordRevision = state.clock + 1
            case .largeRevision: large.revision = state.clock + 1
            }
            if fault == .otherNumber { versions.versions[1].revision += 1 }
            if fault == .revision { state.clock += 0 }
            let attribute = known.attributes[0]
            versions.versions[0].attributes = [
                PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(large))
            ]
            var frame = try frames.versions(versions)
            frame.count = 1
            try state.alter(key) { (entry, _) throws(VaultError) in entry.versions = frame }
        }
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two" && reader.allItems().count == 2)
        fails(.structureInvalid) { _ = try reader.earlierValues(of: key) }
        #expect(try !reader.verify().isSound)
        fails(.structureInvalid) { try reader.compact() }
    }

    @Test("may have the revision of an earlier value if the devices differ (R-5.13)")
    func sameRevision() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let known = try #require(try vault.earlierValues(of: key).first).version
        try vault.forge { (state, frames) throws(VaultError) in
            let item = try state.entry(key)
            var versions = Versions(item: item.id, versions: [known])
            (versions.versions[0].revision, versions.versions[0].device) = (item.revision, 0)
            let frame = try frames.versions(versions)
            try state.alter(key) { (entry, _) throws(VaultError) in entry.versions = frame }
        }
        #expect(try Fast.open(path).earlierValues(of: key).count == 1)
    }

    @Test("may have the revision of an earlier value by a later device: what it is becomes one before that (R-5.13)")
    func sameRevisionOfLaterDevice() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let known = try #require(try vault.earlierValues(of: key).first).version
        try vault.forge { (state, frames) throws(VaultError) in
            let item = try state.entry(key)
            var versions = Versions(item: item.id, versions: [known])
            (versions.versions[0].revision, versions.versions[0].device) = (item.revision, 1)
            let frame = try frames.versions(versions)
            try state.alter(key) { (entry, _) throws(VaultError) in
                entry.device = 0
                entry.versions = frame
            }
        }
        let writer = try Fast.open(path)
        for text in ["three", "four"] { try writer.put(key, text) }
        #expect(try writer.earlierValues(of: key).map(\.version.device) == [0, 1, 0])
        let secrets = try writer.earlierValues(of: key).map {
            String(decoding: try writer.secret(of: $0).array, as: UTF8.self)
        }
        #expect(secrets == ["two", "one", "three"])
        try writer.compact()
        #expect(try Fast.open(path).verify().problems.isEmpty)
    }

    enum Tomb: CaseIterable, Sendable {
        case longKey, shortKey, trailing, device, lastDevice, notLater, future, ofAnItem
    }

    @Test(
        "of a removed item is refused in another form, and where the item is still there (R-6.14)",
        arguments: Tomb.allCases)
    func tombstones(fault: Tomb) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, frames) throws(VaultError) in
            let item = try state.entry(key)
            let clock = state.clock
            let id = Array(TombstoneEntry.key(fault == .ofAnItem ? item.id : Bytes16(high: 5, low: 5)))
            let good = TombstoneEntry(revision: clock, device: 1, lastRevision: clock - 1, lastDevice: 0)
            switch fault {
            case .longKey: state.entries.append((id + [0], good.encode()))
            case .shortKey: state.entries.append((Array(id.dropLast()), good.encode()))
            case .trailing: state.entries.append((id, good.encode() + [0]))
            case .device:
                state.entries.append(
                    (id, TombstoneEntry(revision: clock, device: 2, lastRevision: 1, lastDevice: 0).encode()))
            case .lastDevice:
                state.entries.append(
                    (id, TombstoneEntry(revision: clock, device: 0, lastRevision: 1, lastDevice: 2).encode()))
            case .notLater:
                state.entries.append(
                    (id, TombstoneEntry(revision: 5, device: 0, lastRevision: 5, lastDevice: 0).encode()))
            case .future:
                state.entries.append(
                    (id, TombstoneEntry(revision: clock + 1, device: 0, lastRevision: 5, lastDevice: 0).encode()))
            case .ofAnItem: state.entries.append((id, good.encode()))
            }
            state.tombstones = 1
        }
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two")
        fails(.structureInvalid) { _ = try reader.allItems() }
        fails(.structureInvalid) { try reader.forEachSecret { _, _ in } }
        #expect(try !reader.verify().isSound)
    }

    @Test(
        "is counted: a commit with other numbers is refused by whoever reads the whole tree (R-5.25)",
        arguments: 0..<5)
    func counts(which: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.put(try password("gone"), "x")
        try vault.remove(try password("gone"))
        try vault.forge { (state, _) throws(VaultError) in
            switch which {
            case 0: state.items += 1
            case 1: state.tombstones += 1
            case 2: state.tombstones -= 1
            case 3: state.versions += 1
            default: state.versions -= 1
            }
        }
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two")
        fails(.structureInvalid, "counts differ") { _ = try reader.allItems() }
        fails(.structureInvalid, "counts differ") { try reader.forEachSecret { _, _ in } }
        var query = Query()
        query.itemClass = .genericPassword
        var some = try reader.items(matching: query)
        while try some.next() != nil {}
        #expect(try !reader.verify().isSound)
    }

    @Test("that refers to what is not possible costs that item, and no other (R-2.3)", arguments: 0..<5)
    func references(which: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, _) throws(VaultError) in
            try state.alter(key) { (entry, _) throws(VaultError) in
                switch which {
                // The header's copy; beyond the page; a length that no record has.
                case 0: entry.record = ObjectRef(offset: 4096, length: entry.record.length, hash: entry.record.hash)
                case 1: entry.record = ObjectRef(offset: 1 << 40, length: entry.record.length, hash: entry.record.hash)
                case 2: entry.record = ObjectRef(offset: entry.record.offset, length: 207, hash: entry.record.hash)
                case 3: entry.record = ObjectRef(offset: entry.record.offset, length: 0, hash: entry.record.hash)
                default: entry.record = ObjectRef(offset: entry.record.offset, length: .max, hash: entry.record.hash)
                }
            }
        }
        let reader = try Fast.open(path)
        #expect(try reader.allItems().count == 2)
        fails(.structureInvalid, "a reference to a record") { _ = try reader.get(key) }
        #expect(try reader.text(other) == "x")
        fails(.structureInvalid, "a reference to a record") { try reader.forEachSecret { _, _ in } }
        // It can be given another secret.
        try reader.set(key, secret: Secret(text: "repaired"))
        #expect(try Fast.open(path).text(key) == "repaired")
    }

    @Test("can claim any length, also twice, and is removed (R-2.3)")
    func lengths() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, _) throws(VaultError) in
            for each in [key, other] {
                try state.alter(each) { (entry, attributes) throws(VaultError) in
                    entry.record = ObjectRef(offset: entry.record.offset, length: .max, hash: entry.record.hash)
                    for index in attributes.indices {
                        guard var own = attributes[index].record else { continue }
                        own.record = ObjectRef(offset: own.record.offset, length: .max, hash: own.record.hash)
                        let flags = attributes[index].flags
                        attributes[index] = PageAttribute(
                            name: attributes[index].name, flags: flags, value: .inOwnRecord(own))
                    }
                }
            }
        }
        fails(.structureInvalid) { try vault.forEachSecret { _, _ in } }
        try vault.transaction { (transaction) throws(VaultError) in
            for each in [key, other] { _ = try transaction.remove(each) }
        }
        #expect(try Fast.open(path).allItems().isEmpty)
    }

    @Test(
        "of which two refer to records of any length are listed and removed, and a scan ends at the first (R-2.2)",
        arguments: [0, 1, 79, 80, 1 << 32, 1 << 62, .max])
    func anyLength(length: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, _) throws(VaultError) in
            for key in [key, other] {
                try state.alter(key) { (entry, _) throws(VaultError) in
                    entry.record = ObjectRef(offset: entry.record.offset, length: length, hash: entry.record.hash)
                }
            }
        }
        let reader = try Fast.open(path)
        #expect(try reader.allItems().allSatisfy { $0.paddedSize >= 0 })
        fails(.structureInvalid, "a reference to a record of \(length) bytes") { try reader.forEachSecret { _, _ in } }
        fails(.structureInvalid, "a reference to a record of \(length) bytes") { try reader.compact() }
        try reader.transaction { (transaction) throws(VaultError) in
            for key in [key, other] { _ = try transaction.remove(key) }
        }
        #expect(try Fast.open(path).allItems().isEmpty)
    }

    enum Form: CaseIterable, Sendable { case unknown, attribute, otherKey, badKey, otherAttributes }

    @Test(
        "whose record has another form or key costs that item; an unknown form is named (R-5.3, R-5.4, R-6.5)",
        arguments: Form.allCases)
    func forms(form: Form) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, frames) throws(VaultError) in
            let name = form == .otherKey ? other.bytes : form == .badKey ? [1, 65] : key.bytes
            var body: [UInt8] = [form == .unknown ? 2 : form == .attribute ? 1 : 0]
            body.append(varint: UInt64(name.count))
            body += name
            switch form {
            case .attribute:
                body += [0x20, 1, 65]
                body.append(varint: 4097)
                body += [UInt8](repeating: 1, count: 4097)
            case .otherAttributes: body += [1, 115, 1, 0x11, 1, 65, 1, 66]
            default: body += [1, 115, 0]
            }
            body.append(zeros: Padding.record(body.count) - body.count)
            var entry = try state.entry(key)
            entry.recordRevision = state.clock
            let record = try frames.record(body, entry.identity)
            let clock = state.clock
            try state.alter(key) { (entry, _) throws(VaultError) in
                entry.recordRevision = clock
                entry.record = record
            }
        }
        let reader = try Fast.open(path)
        #expect(try reader.allItems().count == 2)
        fails(form == .unknown ? .unsupportedForm : .structureInvalid) { _ = try reader.get(key) }
        #expect(try reader.text(other) == "x")
        #expect(try reader.attribute("file", of: try #require(try reader.item(key)))?.count == 5000)
    }

    @Test(
        "whose large attribute's record is another's, or of another form, costs that attribute only (R-5.4, R-6.5)",
        arguments: 0..<4)
    func largeForms(which: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, frames) throws(VaultError) in
            let entry = try state.entry(key)
            var own = RecordRef(record: .none, revision: state.clock, compartment: entry.compartment)
            var body: [UInt8] = [which == 0 ? 2 : which == 1 ? 0 : 1]
            body.append(varint: UInt64(key.bytes.count))
            body += key.bytes
            if which == 1 {
                body += [1, 115, 0]
            } else {
                body += [which == 2 ? 0x21 : 0x20, 4] + Array((which == 3 ? "fill" : "file").utf8)
                body.append(varint: 5000)
                body += [UInt8](repeating: 1, count: 5000)
            }
            body.append(zeros: Padding.record(body.count) - body.count)
            own.record = try frames.record(body, own.identity(of: entry.id))
            let record = own
            try state.alter(key) { (_, attributes) throws(VaultError) in
                attributes[0] = PageAttribute(
                    name: attributes[0].name, flags: attributes[0].flags, value: .inOwnRecord(record))
            }
        }
        let reader = try Fast.open(path)
        let item = try #require(try reader.item(key))
        fails(which == 0 ? .unsupportedForm : .structureInvalid) { _ = try reader.attribute("file", of: item) }
        #expect(try reader.text(key) == "two")
    }

    @Test("has a tombstone after its removal, with the revision and device that the item had")
    func tombstoneContents() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let entry = try #require(try vault.item(key)).entry
        try vault.remove(key)
        let found = try vault.reading { (core) throws(VaultError) in
            var found: [(Bytes16, TombstoneEntry)] = []
            try Tombstones.forEach(core.store.tree, core.entryCheck) { (item, tombstone) throws(VaultError) in
                found.append((item, tombstone))
            }
            return found
        }
        #expect(found.count == 1 && found[0].0 == entry.id)
        #expect(found[0].1.lastRevision == entry.revision && found[0].1.lastDevice == entry.device && entry.device == 1)
        #expect(found[0].1.revision > entry.revision && found[0].1.device == 1)
    }

    @Test(
        "in a vault with an unknown read-only extension is read, and nothing is changed (R-3.24)"
    )
    func readOnlyExtension() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, _) throws(VaultError) in
            state.keyring.extensions = [
                Extension(name: "example.org/harmless", isCritical: false, value: [1]),
                Extension(name: "example.org/strict", isCritical: false, isReadOnly: true, value: []),
            ]
        }
        let before = try contents(path)
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two" && reader.earlierValues(of: key).count == 1)
        fails(.readOnlyExtension, "example.org/strict") { try reader.put(key, "three") }
        fails(.readOnlyExtension, "example.org/strict") { try reader.compact() }
        fails(.readOnlyExtension, "example.org/strict") { _ = try reader.transaction { _ in } }
        #expect(try contents(path) == before)
        // Nor is what follows the newest commit, whatever it is.
        let junk = [UInt8](repeating: 7, count: 512)
        let head = withUnsafeBytes(of: FrameHead(.commit, length: Format.commitSize).encoded.littleEndian, Array.init)
        for tail in [junk, head + junk.dropFirst(head.count)] {
            try write(before + tail, path)
            fails(.readOnlyExtension, "example.org/strict") { try reader.put(key, "three") }
            fails(.readOnlyExtension, "example.org/strict") { _ = try reader.repair() }
            #expect(try contents(path) == before + tail)
        }
        try write(before, path)
        // It was no hindrance before it was there, and is none once it is gone.
        try vault.forge { (state, _) throws(VaultError) in state.keyring.extensions.removeLast() }
        try reader.put(key, "three")
        let kept = try reader.reading { (core) throws(VaultError) in core.store.keyring.extensions.map(\.name) }
        #expect(kept == ["example.org/harmless"], "R-3.25")
    }

    @Test("in a vault whose header has an unknown read-only extension is read, and nothing is changed (R-3.24)")
    func readOnlyHeader() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        do {
            let vault = try vault(path)
            try vault.reading { (core) throws(VaultError) in
                let store = core.store
                try store.beginWriting(wait: 1)
                defer { store.endWriting() }
                var header = store.header
                header.extensions = [
                    Extension(name: "example.org/strict", isCritical: false, isReadOnly: true, value: [])
                ]
                try store.replaceHeader(
                    Store.Replacement(
                        header: header, keys: try Rebuild.ownKeys(store), wrappingKey: store.slot.wrappingKey.copy(),
                        slotID: store.slot.id), clock: store.state.commit.clock)
            }
        }
        let before = try contents(path)
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two")
        fails(.readOnlyExtension, "example.org/strict") { try reader.put(key, "three") }
        fails(.readOnlyExtension, "example.org/strict") { _ = try reader.addSlot(try Fast.rawKey(9)) }
        #expect(try contents(path) == before)
    }

    @Test("in a vault with an unknown critical extension is not read (R-3.23)")
    func criticalExtension() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, _) throws(VaultError) in
            state.keyring.extensions = [Extension(name: "example.org/critical", isCritical: true, value: [])]
        }
        fails(.unsupportedCritical, "example.org/critical") { _ = try Fast.open(path) }
    }
}
