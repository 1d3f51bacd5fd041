import CTestSupport
import Foundation
import Synchronization
import Testing
import VaultFmt
import VaultStore

@testable import VaultLocal

@Suite("What a machine remembers")
struct MemoryTests {
    private let folder: Folder
    private let one: Owner
    private let two: Owner

    init() throws {
        folder = try Folder()
        one = Owner(folder, "one")
        two = Owner(folder, "two")
        try one.create().set(Keys.item, secret: Secret(text: "0"))
    }

    private var path: String { one.machine.places.vault }
    /// Opened without a memory.
    private func plain(_ key: UInt8 = 1, writable: Bool = false) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        return try Vault.open(path, factors: Keys.raw(key), options: options)
    }

    @Test("M1: after a rotation on one machine, the file from before it is refused on the other, which accepted the new key")
    func rotationIsNotUndone() throws {
        #expect(try two.open().text == "0")
        let old = try folder.read("a.vault")
        let vault = try one.open()
        try vault.rotate(keeping: 1)
        #expect(try one.open().text == "0", "the machine that rotates knows the new key")
        #expect(code { _ = try two.open() } == .foreignOwner)
        #expect(code { try two.machine.check(try plain()) } == .foreignOwner)
        try two.machine.accept(try plain())
        #expect(try two.open().text == "0")
        try folder.write("a.vault", old)
        #expect(code { _ = try two.open() } == .rolledBack)
        #expect(code { _ = try one.open() } == .rolledBack)
        #expect(code { try vault.refresh() } != nil)
    }

    @Test("M1: one rotation after another needs one word on each other machine, and generations go on")
    func rotations() throws {
        _ = try two.open()
        for _ in 0..<3 {
            try one.open().rotate(keeping: 1)
            #expect(code { _ = try two.open() } == .foreignOwner)
            try two.machine.accept(try plain())
            try two.set("x")
            #expect(try one.open().text == "x")
        }
    }

    @Test("M2: a scoped slot's memory refuses an older file, goes on across epochs, and never binds an owner")
    func scoped() throws {
        let owner = try one.open()
        _ = try owner.addSlot(Keys.raw(7), grantedGroups: [""])
        let ci = Owner(folder, "ci")
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let old = try folder.read("a.vault")
        // Removing a scoped slot is a new epoch, under which the index key is another.
        let gone = try owner.addSlot(Keys.raw(8), grantedGroups: [""])
        try owner.removeSlot(gone)
        let before = try ci.machine.remembered(owner.id, asOwner: false)
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let after = try ci.machine.remembered(owner.id, asOwner: false)
        #expect(before?.fingerprint != after?.fingerprint)
        try folder.write("a.vault", old)
        #expect(code { _ = try ci.open(key: 7, writable: false) } == .rolledBack)
        // It knows nothing of an owner's: first sight, whatever the scoped slot has seen.
        #expect(try ci.machine.remembered(owner.id) == nil)
        #expect(try ci.open().text == "0")
    }

    @Test("M2: what this machine saw as an owner binds a scoped opening")
    func ownerBindsScoped() throws {
        let owner = try one.open()
        _ = try owner.addSlot(Keys.raw(7), grantedGroups: [""])
        let old = try folder.read("a.vault")
        try owner.set(Keys.item, secret: Secret(text: "1"))
        try folder.write("a.vault", old)
        #expect(code { _ = try one.open(key: 7, writable: false) } == .rolledBack)
        #expect(code { try one.machine.accept(try plain(7)) } == .rolledBack)
        try one.machine.accept(try plain())
        #expect(try one.open(key: 7, writable: false).text == "0")
    }

    @Test("M3: a file that no longer proves its past is refused, also by a handle that is open, until it is accepted")
    func unprovable() throws {
        let reader = try two.open(writable: false)
        let other = try plain(writable: true)
        for number in 0..<130 { try other.set(Keys.item, secret: Secret(text: "\(number)")) }
        try other.compact()
        #expect(code { _ = try two.open() } == .ancestryUnprovable)
        #expect(code { try reader.refresh() } == .ancestryUnprovable)
        #expect(try reader.text == "0", "it stays where it was")
        try two.machine.accept(try plain())
        #expect(try two.open().text == "129")
        // The machine followed the vault there: what it remembers vouches for what the handle cannot prove.
        try reader.refresh()
        #expect(try reader.text == "129")
    }

    @Test("M3: without a memory, a handle that cannot prove the way to the newest state says so")
    func unprovableWithout() throws {
        let reader = try plain()
        let other = try one.open()
        for number in 0..<130 { try other.set(Keys.item, secret: Secret(text: "\(number)")) }
        try other.compact()
        #expect(code { try reader.refresh() } == .ancestryUnprovable)
    }

    @Test(
        "M4: a handle that is open compares when the file is put back to the very state that it reads, before it shows or writes anything")
    func openHandles() throws {
        let (reader, writer) = (try one.open(writable: false), try one.open())
        let old = try folder.read("a.vault")
        try one.set("1")
        try folder.write("a.vault", old)
        #expect(code { try reader.refresh() } == .rolledBack)
        #expect(code { try writer.set(Keys.item, secret: Secret(text: "2")) } == .rolledBack)
        #expect(try folder.read("a.vault") == old)
    }

    @Test("M5: many handles of one machine write, open and refresh at once: none is refused, and the newest state is remembered")
    func atOnce() throws {
        let machine = one.machine
        let failures = Mutex<[String]>([])
        let threads = (0..<4).map { number in
            let thread = Thread {
                do {
                    var options = OpenOptions()
                    options.writable = true
                    options.lockWait = 60
                    let vault = try machine.open(machine.places.vault, factors: Keys.raw(1), options: options)
                    for round in 0..<15 {
                        if number < 2 {
                            try vault.set(Keys.item, secret: Secret(text: "\(number)-\(round)"))
                        } else {
                            try vault.refresh()
                            _ = try machine.open(machine.places.vault, factors: Keys.raw(1))
                        }
                        if number == 0, round % 5 == 4 { try vault.compact() }
                    }
                } catch { failures.withLock { $0.append("thread \(number): \(error)") } }
            }
            thread.start()
            return thread
        }
        while threads.contains(where: { !$0.isFinished }) { usleep(10_000) }
        #expect(failures.withLock { $0 } == [])
        #expect(one.said.warnings == [])
        let now = try plain()
        #expect(try machine.remembered(now.id)?.anchor == now.anchor)
    }

    @Test("M5: a state that another process remembered meanwhile is not replaced by an older one, and another branch is refused")
    func compareAndReplace() throws {
        let vault = try one.open(writable: false)
        let memory = one.machine.memory
        let admit = try vault.withStore { (store) throws(VaultError) in try memory.watch.recall(store.vault) }
        let old = try folder.read("a.vault")
        try two.set("theirs")
        let theirs = try folder.read("a.vault")
        try folder.write("a.vault", old)
        // The machine remembers one branch after this opening has asked what is remembered, and sees the other.
        try plain(writable: true).set(Keys.item, secret: Secret(text: "ours"))
        let ours = try plain()
        let remembered = try one.machine.remembered(vault.id)
        try folder.write("a.vault", theirs)
        _ = try one.open()
        #expect(
            code {
                try ours.withStore { (store) throws(VaultError) in _ = try admit(store.watched) }
            } == .forked)
        #expect(try one.machine.remembered(vault.id)?.anchor == plain().anchor)
        #expect(try one.machine.remembered(vault.id) != remembered)
    }

    @Test("E10, H12: what is remembered and damaged is refused with its own error: too long, a link, a FIFO, a folder, other words")
    func damaged() throws {
        let id = try plain().id
        let entry = folder.file("one/anchors/\(id).owner")
        let sound = try folder.read("one/anchors/\(id).owner")
        let line = String(decoding: sound, as: UTF8.self)
        for bytes in [
            [], Array(line.dropLast().utf8), Array((line + "x").utf8), Array(line.uppercased().utf8), [UInt8](repeating: 0x30, count: 5000),
            [0xFF] + sound, Array(line.replacing(" ", with: "  ").utf8),
            Array(line.replacing(id.description, with: String(repeating: "0", count: 32)).utf8),
        ] {
            try folder.write("one/anchors/\(id).owner", bytes)
            #expect(code { _ = try one.open() } == .memoryDamaged, "\(bytes)")
        }
        try folder.write("elsewhere", sound)
        for make in [
            { symlink(folder.file("elsewhere"), entry) }, { mkfifo(entry, 0o600) }, { mkdir(entry, 0o700) },
        ] {
            _ = remove(entry)
            #expect(make() == 0)
            #expect(code { _ = try one.open() } == .memoryDamaged)
        }
        rmdir(entry)
        try folder.write("one/anchors/\(id).owner", [])
        try one.machine.accept(try plain())
        #expect(try one.open().text == "0")
    }

    @Test("E8, H12: temporaries have random names, and what killed writers left is swept, 0.1.0's too; others' files stay")
    func sweeping() throws {
        let id = try plain().id
        let hex = String(repeating: "ab", count: 16)
        let left = [".\(id).owner.vaultfmt-01234567", ".other.owner.vaultfmt-89abcdef", "\(id)-\(hex).12345", "\(hex)-\(hex).1"]
        let others = ["notes.txt", "\(hex)-\(hex)", "\(hex).1"]
        for name in left + others { try folder.write("one/anchors/\(name)", "x".utf8) }
        try one.set("1")
        #expect(try folder.names("one/anchors") == ([".lock", "\(id).owner"] + others).sorted())
        let files = RecordingFileSystem()
        let machine = Machine(one.machine.places, place: Store.Place(fileSystem: files), notices: one.said.hear)
        var options = OpenOptions()
        options.writable = true
        let vault = try machine.open(path, factors: Keys.raw(1), options: options)
        for _ in 0..<2 { try vault.set(Keys.item, secret: Secret(text: "2")) }
        let names = files.calls.filter { $0.hasPrefix("create .\(id).owner.vaultfmt-") }
        #expect(Set(names).count == 2 && files.calls.filter { $0.hasPrefix("create") }.count == 2)
    }

    @Test(
        "M7: the vault and its folder are synced before a newer state is remembered, by a reader too; what cannot be synced is not remembered"
    )
    func durability() throws {
        let files = RecordingFileSystem()
        let id = try plain().id
        let machine = Machine(two.machine.places, place: Store.Place(fileSystem: files), notices: two.said.hear)
        files.failSyncs(of: "a.vault")
        #expect(try machine.open(path, factors: Keys.raw(1)).text == "0")
        #expect(try two.machine.remembered(id) == nil)
        #expect(two.said.warnings.count == 1 && two.said.warnings[0].contains("could not be remembered"))
        files.failSyncs(of: nil)
        for _ in 0..<2 {
            files.forget()
            _ = try machine.open(path, factors: Keys.raw(1))
            let calls = files.calls
            let vault = try #require(calls.firstIndex(of: "sync a.vault"))
            let parent = try #require(calls.firstIndex(of: "sync folder of a.vault"))
            let stored = try #require(calls.firstIndex(of: "rename \(id).owner"))
            #expect(vault < stored && parent < stored)
            let file = try #require(calls.firstIndex { $0.hasPrefix("sync .\(id).owner.vaultfmt-") })
            #expect(file < stored)
            try plain(writable: true).set(Keys.item, secret: Secret(text: "1"))
        }
        _ = try machine.open(path, factors: Keys.raw(1))
        files.forget()
        _ = try machine.open(path, factors: Keys.raw(1))
        #expect(files.calls == [], "what is remembered already costs nothing")
    }

    @Test("M7: a rotation that crashes after its file has the name leaves a machine that knows the key")
    func crashedRotation() throws {
        let id = try plain().id
        let before = try folder.read("one/anchors/\(id).owner")
        let vault = try one.open()
        try vault.rotate(keeping: 1)
        let fingerprint = vault.fingerprint
        // The entry as it was when the new file got its name: the state from before, and the key to come.
        let line = String(decoding: before.dropLast(), as: UTF8.self) + " \(fingerprint)\n"
        try folder.write("one/anchors/\(id).owner", line.utf8)
        #expect(try one.open().text == "0")
        #expect(try one.machine.remembered(id)?.next == nil && one.machine.remembered(id)?.fingerprint == fingerprint)
        // It is there before the rename.
        let files = RecordingFileSystem()
        let machine = Machine(one.machine.places, place: Store.Place(fileSystem: files), notices: one.said.hear)
        var options = OpenOptions()
        options.writable = true
        try machine.open(path, factors: Keys.raw(1), options: options).rotate(keeping: 1)
        let calls = files.calls
        let announced = try #require(calls.firstIndex(of: "rename \(id).owner"))
        let replaced = try #require(calls.firstIndex(of: "rename a.vault"))
        #expect(announced < replaced)
    }

    @Test("M7: a rotation whose key to come cannot be remembered for good does not happen")
    func unannounced() throws {
        let files = RecordingFileSystem()
        let machine = Machine(one.machine.places, place: Store.Place(fileSystem: files), notices: one.said.hear)
        var options = OpenOptions()
        options.writable = true
        let vault = try machine.open(path, factors: Keys.raw(1), options: options)
        let before = (try folder.read("a.vault"), vault.fingerprint)
        files.failFolderSyncs(of: "\(vault.id).owner")
        #expect(code { try vault.rotate(keeping: 1) } == .io)
        #expect(try folder.read("a.vault") == before.0 && vault.fingerprint == before.1)
        files.failFolderSyncs(of: nil)
        try vault.rotate(keeping: 1)
        #expect(try one.open().text == "0")
    }

    @Test("D14: a rotation while another process holds the machine's memory is busy, changes nothing, and goes on afterwards")
    func heldMemory() throws {
        let vault = try one.open()
        let before = try folder.read("a.vault")
        let lock = test_lock(folder.file("one/anchors/.lock"))
        #expect(lock >= 0)
        #expect(code { try vault.rotate(keeping: 1) } == .busy)
        close(lock)
        #expect(try folder.read("a.vault") == before)
        try vault.rotate(keeping: 1)
        #expect(try one.open().text == "0")
    }

    @Test("what 0.1.0 remembered under the same key is taken over once; under another key it is left alone")
    func migration() throws {
        let vault = try plain()
        let old = folder.file("two/anchors")
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        let stale = try folder.read("a.vault")
        try one.set("1")
        let now = try plain()
        let name = "two/anchors/\(now.id)-\(now.fingerprint)"
        let other = "two/anchors/\(now.id)-\(String(repeating: "0", count: 32))"
        try folder.write(name, "\(now.anchor)\n".utf8)
        try folder.write(other, "\(vault.id):99:\(String(repeating: "0", count: 64))\n".utf8)
        let newest = try folder.read("a.vault")
        try folder.write("a.vault", stale)
        #expect(code { _ = try two.open() } == .rolledBack)
        try folder.write("a.vault", newest)
        #expect(try two.open().text == "1")
        #expect(two.said.all == [])
        #expect(try folder.names("two/anchors") == [".lock", "\(now.id).owner", RecordingFileSystem.name(other)].sorted())
    }

    @Test("a first sight is said once, and a folder that cannot be written is a warning")
    func notices() throws {
        for _ in 0..<2 { _ = try two.open() }
        #expect(two.said.all.count == 1 && two.said.all[0].text.hasPrefix("first sight"))
        try folder.write("three", "no folder".utf8)
        let three = Owner(folder, "three")
        let vault = try three.open()
        for _ in 0..<3 { try vault.set(Keys.item, secret: Secret(text: "x")) }
        #expect(three.said.all.count == 1 && three.said.warnings.count == 1)
    }
}
