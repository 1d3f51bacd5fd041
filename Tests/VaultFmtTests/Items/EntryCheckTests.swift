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
        case noCompartment, otherGroup, ownersGroup, largeOfOtherGroup, largeOfOwners, revision, belowFloor,
            fieldBelowFloor,
            recordRevision, largeRevision
    }

    @Test(
        "is refused if its compartment, a dot or a revision is not possible; others are not (R-1.10, R-6.6, R-6.8)",
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
                case .revision: entry.dot.revision = clock + 1
                case .belowFloor: entry.dot.position = 0
                case .fieldBelowFloor:
                    let fields = FieldSet([FieldSet.key])
                    entry.further = [FieldDots(difference: 1, position: 0, fields: fields)]
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

    enum PastFault: CaseIterable, Sendable {
        case otherItem, shown, lastSibling, itemsCompartment, noCompartment, largeNotShared, position, revision,
            recordRevision, largeRevision
    }

    @Test(
        "is read although its past is not possible, and that is refused (R-5.26 to R-5.29, R-6.6 to R-6.8)",
        arguments: PastFault.allCases)
    func pasts(fault: PastFault) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let known = try #require(
            try vault.reading { (core) throws(VaultError) in try core.past(of: core.existing(key)) })
        try vault.forge { (state, frames) throws(VaultError) in
            let item = try state.entry(key)
            let foreign = try state.entry(other)
            var past = known
            guard case .secret(var own, var attributes) = past.values[0].content, var large = attributes[0].record
            else {
                throw VaultError(.structureInvalid, "no earlier secret")
            }
            switch fault {
            case .otherItem: past.item = foreign.id
            case .shown: past.values[0].dot = item.dot(of: FieldSet.secret)
            case .lastSibling:
                past.siblings = [Past.Sibling(dot: foreign.dot, created: 0, modified: 0, fields: [0], earlier: [])]
            case .itemsCompartment: own.compartment = item.compartment
            case .noCompartment: own.compartment = 77
            case .largeNotShared: large.revision += 1
            case .position: past.values[0].dot.position = 9
            case .revision: past.values[0].dot.revision = state.clock + 1
            case .recordRevision: own.revision = state.clock + 1
            case .largeRevision: large.revision = state.clock + 1
            }
            attributes = [
                PageAttribute(name: attributes[0].name, flags: attributes[0].flags, value: .inOwnRecord(large))
            ]
            past.values[0].content = .secret(own, attributes)
            let frame = try frames.past(past)
            try state.alter(key) { (entry, _) throws(VaultError) in entry.past = frame }
        }
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "two" && reader.allItems().count == 2)
        fails(.structureInvalid) { _ = try reader.earlierValues(of: key) }
        #expect(try !reader.verify().isSound)
        fails(.structureInvalid) { try reader.compact() }
    }

    enum ForgottenFault: CaseIterable, Sendable {
        case key, place, secretWithName, attributeWithoutName, longName, noText, value, revision, noRevision,
            belowFloor,
            short
    }

    @Test("of a forgotten value is refused in another form (R-6.14)", arguments: ForgottenFault.allCases)
    func forgotten(fault: ForgottenFault) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let dot = try #require(try vault.earlierValues(of: key).first).name.dot
        try vault.forge { (state, _) throws(VaultError) in
            func bytes(_ kind: UInt8, _ name: [UInt8] = [], revision: UInt64? = nil, replica: UInt64? = nil) -> [UInt8]
            {
                let dot = Dot(revision: revision ?? dot.revision, replica: replica ?? dot.replica)
                var bytes = ForgottenValue(dot: dot, kind: .secret).key
                bytes[17] = kind
                return bytes + name
            }
            let entry: (key: [UInt8], value: [UInt8]) =
                switch fault {
                case .key: (bytes(2), [])
                case .place: (bytes(3), [])
                case .secretWithName: (bytes(0, [65]), [])
                case .attributeWithoutName: (bytes(1), [])
                case .longName: (bytes(1, [UInt8](repeating: 65, count: 256)), [])
                case .noText: (bytes(1, [0xFF]), [])
                case .value: (bytes(0), [0])
                case .revision: (bytes(0, revision: state.clock + 1), [])
                case .noRevision: (bytes(0, revision: 0), [])
                case .belowFloor: (bytes(0, replica: 0), [])
                case .short: (Array(bytes(0).dropLast()), [])
                }
            state.entries.append(entry)
            state.forgotten = 1
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
        for secret in ["x", "y", "z"] { try vault.put(try password("more"), secret) }
        let value = try vault.earlierValues(of: try password("more"))[0]
        try vault.forgetEarlierValues(of: try password("more"), [value])
        try vault.forge { (state, _) throws(VaultError) in
            switch which {
            case 0: state.items += 1
            case 1: state.forgotten += 1
            case 2: state.forgotten -= 1
            case 3: state.pasts += 1
            default: state.pasts -= 1
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

    enum Form: CaseIterable, Sendable { case unknown, attribute, badKey, otherAttributes }

    @Test(
        "whose record has another form or no key costs that item; an unknown form is named (R-5.3, R-5.4, R-6.5)",
        arguments: Form.allCases)
    func forms(form: Form) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        try vault.forge { (state, frames) throws(VaultError) in
            let name = form == .badKey ? [1, 65] : other.bytes
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
            var own = RecordRef(record: .zero, revision: state.clock, compartment: entry.compartment)
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

    @Test("leaves nothing in the index after its removal, but the vector includes the removal")
    func removal() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path)
        let before = try vault.anchor
        try vault.remove(key)
        let keys = try vault.reading { (core) throws(VaultError) in
            guard let root = core.store.state.commit.root else { return [[UInt8]]() }
            let page = try core.store.pages.page(root.ref, level: 0)
            return (0..<page.count).map { page.key($0) }
        }
        #expect(keys == [other.bytes])
        #expect(try vault.verdict(on: before) == .descends)
        #expect(try vault.anchor.point.vector.rows.count == 1)
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
                        slotID: store.slot.id), keyring: store.keyring, try store.nextVector())
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
