import CTestSupport
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultBytes
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

    @Test("M1: after a rotation on one machine the other follows without asking, and refuses the file from before it")
    func rotationIsNotUndone() throws {
        #expect(try two.open().text == "0")
        let old = try folder.read("a.vault")
        let vault = try one.open()
        try vault.rotate(keeping: 1)
        #expect(try one.open().text == "0", "the machine that rotates knows the new key")
        #expect(try two.open().text == "0", "the old key handed over to the new one")
        #expect(try two.machine.remembered(vault.id)?.anchor == vault.anchor)
        #expect(two.said.warnings == [])
        try folder.write("a.vault", old)
        #expect(code { _ = try two.open() } == .foreignOwner)
        #expect(code { _ = try one.open() } == .foreignOwner)
        #expect(code { try one.machine.check(try plain()) } == .foreignOwner)
        #expect(code { try vault.refresh() } != nil)
    }

    @Test(
        "M5: a commit to a copy, and its compaction, do not replace what another process has remembered of the vault meanwhile"
    )
    func otherBranch() throws {
        let vault = try one.open()
        try vault.keepVersions(0)
        try vault.set(Keys.item, secret: Secret(count: 6 << 20))
        try folder.write("copy.vault", try folder.read("a.vault"))
        var options = OpenOptions()
        options.writable = true
        let copy = try one.machine.open(folder.file("copy.vault"), factors: Keys.raw(1), options: options)
        try copy.transaction { (transaction) throws(VaultError) in
            // Compared and found the same: then the vault itself goes on.
            try vault.set(try .genericPassword(service: "other"), secret: Secret(text: "acknowledged"))
            try transaction.set(try Keys.known, secret: Secret(text: "other"))
        }
        #expect(copy.anchor.generation > vault.anchor.generation, "it was compacted")
        #expect(try one.machine.remembered(vault.id)?.anchor == vault.anchor)
        #expect(try one.open().item(.genericPassword(service: "other")) != nil)
        #expect(code { _ = try one.machine.open(folder.file("copy.vault"), factors: Keys.raw(1)) } == .forked)
    }

    @Test("M1: one rotation after another is followed, also by a machine that saw none of them, and generations go on")
    func rotations() throws {
        _ = try two.open()
        let three = Owner(folder, "three")
        let first = try three.open()
        for round in 0..<3 {
            try one.open().rotate(keeping: 1)
            try two.set("\(round)")
            #expect(try one.open().text == "\(round)")
        }
        #expect(try three.open().text == "2")
        #expect(try three.open().anchor.generation > first.anchor.generation)
        for owner in [one, two, three] { #expect(owner.said.warnings == []) }
    }

    @Test(
        "a machine that saw none of 17 rotations is told that another owner has the vault, until it accepts that: 16 hand-overs are kept"
    )
    func manyRotations() throws {
        _ = try two.open()
        let three = Owner(folder, "three")
        try one.open().rotate(keeping: 1)
        _ = try three.open()
        for _ in 0..<16 { try one.open().rotate(keeping: 1) }
        #expect(try three.open().text == "0")
        #expect(code { _ = try two.open() } == .foreignOwner)
        try two.machine.accept(try plain())
        #expect(try two.open().text == "0")
    }

    @Test("a rotation of a copy, made with a key that was rotated away, is foreign where a later state was seen")
    func leakedKey() throws {
        let leaked = try folder.read("a.vault")
        try one.set("1")
        #expect(try two.open().text == "1")
        let three = Owner(folder, "three")
        try one.open().rotate(keeping: 1)
        let sound = try folder.read("a.vault")
        _ = try three.open()
        try folder.write("a.vault", leaked)
        try plain(writable: true).rotate(keeping: 1)
        for owner in [one, two, three] {
            #expect(code { _ = try owner.open() } == .foreignOwner)
            #expect(code { try owner.machine.check(try plain()) } == .foreignOwner)
        }
        try folder.write("a.vault", sound)
        for owner in [one, two, three] { #expect(try owner.open().text == "1") }
    }

    @Test("a stranger's vault with the same id is foreign, also at the same or a later generation")
    func stranger() throws {
        let vault = try one.open()
        let sound = try folder.read("a.vault")
        _ = try folder.write("b.vault", sound)
        // What the owners' programs make, without the hand-over that only they can sign.
        var options = OpenOptions()
        options.writable = true
        let copy = try Vault.open(folder.file("b.vault"), factors: Keys.raw(1), options: options)
        try copy.rotate(keeping: 1)
        let forged = try StrangersVault.withoutHandOvers(try folder.read("b.vault"), rawKey: 1)
        try folder.write("a.vault", forged)
        #expect(try plain().id == vault.id)
        #expect(code { _ = try one.open() } == .foreignOwner)
        #expect(code { try vault.refresh() } != nil)
        try folder.write("a.vault", sound)
        #expect(try one.open().text == "0")
    }

    @Test("M2: a scoped slot's memory refuses an older file, goes on across epochs, and never binds an owner")
    func scoped() throws {
        let owner = try one.open()
        _ = try owner.addSlot(Keys.raw(7), grantedGroups: [""])
        let ci = Owner(folder, "ci")
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let old = try folder.read("a.vault")
        // Removing a scoped slot is a new epoch, under which the index key is another.
        let gone = try owner.addSlot(Keys.raw(8), grantedGroups: [""]).id
        try owner.removeSlot(gone)
        let before = try ci.machine.remembered(owner.id, asOwner: false)
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let after = try ci.machine.remembered(owner.id, asOwner: false)
        #expect(before != after && before?.anchor.owners == after?.anchor.owners)
        try folder.write("a.vault", old)
        #expect(code { _ = try ci.open(key: 7, writable: false) } == .rolledBack)
        // It knows nothing of an owner's: first sight, whatever the scoped slot has seen.
        #expect(try ci.machine.remembered(owner.id) == nil)
        #expect(try ci.open().text == "0")
    }

    @Test("M2: what a scoped slot has seen shows an owner that the vault belongs to others, and nothing else")
    func scopedKnowsOwners() throws {
        _ = try one.open().addSlot(Keys.raw(7), grantedGroups: [""])
        let ci = Owner(folder, "ci")
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let sound = try folder.read("a.vault")
        try plain(writable: true).rotate(keeping: 1)
        let rotated = try folder.read("a.vault")
        try folder.write("a.vault", try StrangersVault.withoutHandOvers(rotated, rawKey: 1))
        #expect(code { _ = try ci.open() } == .foreignOwner)
        #expect(try ci.machine.remembered(plain().id) == nil)
        try folder.write("a.vault", rotated)
        #expect(try ci.open().text == "0", "the old key handed over to the new one")
        try folder.write("a.vault", sound)
        #expect(code { _ = try ci.open() } == .foreignOwner, "it is known to be another's now")
    }

    @Test(
        "N2: a stranger's vault with the same id is foreign, whichever kind of slot the same key opens in the two, and the honest one is not",
        arguments: [true, false])
    func strangerInOtherSlot(knownAsScoped: Bool) throws {
        let vault = try one.open()
        // The key of the person on the other machine, and the slots that the stranger gives it.
        let grant = { (isScoped: Bool, vault: Vault) in
            _ = try vault.addSlot(try Keys.raw(7), grantedGroups: isScoped ? [""] : nil)
        }
        let empty = try folder.read("a.vault")
        try grant(knownAsScoped, vault)
        let honest = try folder.read("a.vault")
        let ci = Owner(folder, "ci")
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let known = try [true, false].map { try ci.machine.remembered(vault.id, asOwner: $0) }
        #expect((known[0] == nil) == knownAsScoped && (known[1] == nil) != knownAsScoped)
        for strangersIsScoped in [true, false] {
            try folder.write("a.vault", empty)
            let copy = try plain(writable: true)
            try copy.rotate(keeping: 1)
            try copy.set(Keys.item, secret: Secret(text: "forged"))
            try grant(strangersIsScoped, copy)
            let forged = try StrangersVault.withoutHandOvers(try folder.read("a.vault"), rawKey: 1)
            try folder.write("a.vault", forged)
            #expect(try plain(7).text == "forged", "the key opens it")
            #expect(code { _ = try ci.open(key: 7, writable: false) } == .foreignOwner)
            #expect(code { _ = try ci.open(key: 7) } != nil)
            try folder.write("a.vault", honest)
            #expect(try ci.open(key: 7, writable: false).text == "0", "the honest vault opens as before")
        }
        #expect(ci.said.warnings == [])
        #expect(try [true, false].map { try ci.machine.remembered(vault.id, asOwner: $0) } == known)
        // The owner's first opening on that machine is checked too.
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
        try forget(other)
        #expect(code { _ = try two.open() } == .ancestryUnprovable)
        #expect(code { try reader.refresh() } == .ancestryUnprovable)
        #expect(try reader.text == "0", "it stays where it was")
        try two.machine.accept(try plain())
        #expect(try two.open().text == "last")
        // The machine followed the vault there: what it remembers vouches for what the handle cannot prove.
        try reader.refresh()
        #expect(try reader.text == "last")
    }

    /// So many commits that a history no longer holds the first ones.
    private func forget(_ vault: Vault) throws {
        for number in 0..<Format.Limit.ancestors { try vault.keepVersions(1 + number % 2) }
        try vault.set(Keys.item, secret: Secret(text: "last"))
        try vault.compact()
    }

    @Test("M3: without a memory, a handle that cannot prove the way to the newest state says so")
    func unprovableWithout() throws {
        let reader = try plain()
        let other = try one.open()
        try forget(other)
        #expect(code { try reader.refresh() } == .ancestryUnprovable)
    }

    @Test(
        "M4: a handle that is open compares when the file is put back to the very state that it reads, before it shows or writes anything"
    )
    func openHandles() throws {
        let (reader, writer) = (try one.open(writable: false), try one.open())
        let old = try folder.read("a.vault")
        try one.set("1")
        try folder.write("a.vault", old)
        #expect(code { try reader.refresh() } == .rolledBack)
        #expect(code { try writer.set(Keys.item, secret: Secret(text: "2")) } == .rolledBack)
        #expect(try folder.read("a.vault") == old)
    }

    @Test(
        "M5: many handles of one machine write, open and refresh at once: none is refused, and the newest state is remembered"
    )
    func atOnce() throws {
        let machine = one.machine
        let failures = Mutex<[String]>([])
        let threads = (0..<4).map { number in
            let thread = Thread {
                do {
                    var options = OpenOptions()
                    options.writable = true
                    options.lockWait = .seconds(60)
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

    @Test(
        "M5: a state that another process remembered meanwhile is not replaced by an older one, and another branch is refused"
    )
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

    /// The place of a machine that asks what is remembered only after `change`, the first time.
    private func late(_ asked: Asked, _ change: @escaping @Sendable () throws -> Void) -> Store.Place {
        let watch = one.machine.memory.watch
        var place = one.machine.place
        place.watch = StateWatch(
            recall: { (vault) throws(VaultError) in
                if asked.count() == 1 {
                    do { try change() } catch { throw VaultError(.invalidArgument, "the change failed: \(error)") }
                }
                return try watch.recall(vault)
            }, committed: watch.committed)
        return place
    }

    /// How often it was asked what is remembered.
    private final class Asked: Sendable {
        private let times = Mutex(0)
        var all: Int { times.withLock { $0 } }
        func count() -> Int {
            times.withLock { times in
                times += 1
                return times
            }
        }
    }

    @Test(
        "M5: a vault that another program changes, compacts or rotates while this one opens it is opened as it is then",
        arguments: ["change", "compaction", "rotation"])
    func changedWhileOpened(_ change: String) throws {
        let (asked, other) = (Asked(), one)
        let place = late(asked) {
            let vault = try other.open()
            switch change {
            case "compaction": try vault.compact()
            case "rotation": try vault.rotate(keeping: 1)
            default: break
            }
            try vault.set(Keys.item, secret: Secret(text: change))
        }
        _ = try one.open()
        let vault = try Vault.open(path, factors: Keys.raw(1), options: OpenOptions(), place: place)
        #expect(try vault.text == change)
        #expect(one.said.warnings == [])
    }

    @Test("a file that was really put back is looked at once: key derivation is paid for once")
    func lookedAtOnce() throws {
        let old = try folder.read("a.vault")
        try one.open().rotate(keeping: 1)
        let rotated = try folder.read("a.vault")
        try one.set("later")
        for (file, refusal) in [(old, VaultError.Code.foreignOwner), (rotated, .rolledBack)] {
            try folder.write("a.vault", file)
            let asked = Asked()
            let place = late(asked) {}
            #expect(
                code { _ = try Vault.open(path, factors: Keys.raw(1), options: OpenOptions(), place: place) } == refusal
            )
            #expect(asked.all == 1)
        }
    }

    @Test(
        "E10, H12: what is remembered and damaged is refused with its own error: too long, a link, a FIFO, a folder, other words"
    )
    func damaged() throws {
        let id = try plain().id
        let entry = folder.file("one/anchors/\(id).owner")
        let sound = try folder.read("one/anchors/\(id).owner")
        let line = String(decoding: sound, as: UTF8.self)
        for bytes in [
            [], Array(line.dropLast().utf8), Array((line + "x").utf8), Array(line.uppercased().utf8),
            [UInt8](repeating: 0x30, count: 5000),
            [0xFF] + sound, Array(line.replacing(":", with: "::").utf8),
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

    @Test("E8, H12: temporaries have random names, and what killed writers left is swept; others' files stay")
    func sweeping() throws {
        let id = try plain().id
        let hex = String(repeating: "ab", count: 16)
        let left = [".\(id).owner.vaultfmt-01234567", ".other.owner.vaultfmt-89abcdef"]
        let others = ["notes.txt", "\(hex)-\(hex)", "\(hex).1"]
        for name in left + others { try folder.write("one/anchors/\(name)", "x".utf8) }
        try one.set("1")
        #expect(try folder.names("one/anchors") == ([".lock", "\(id).made", "\(id).owner"] + others).sorted())
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

    @Test("M7: a rotation that is killed before it is remembered leaves a machine that follows it")
    func crashedRotation() throws {
        let id = try plain().id
        let before = try folder.read("one/anchors/\(id).owner")
        let vault = try one.open()
        try vault.rotate(keeping: 1)
        // The entry as it was when the new file got its name.
        try folder.write("one/anchors/\(id).owner", before)
        #expect(try one.open().text == "0")
        #expect(try one.machine.remembered(id)?.anchor == vault.anchor)
        #expect(one.said.warnings == [])
    }

    @Test("M7: a rotation that cannot be remembered is made and said, and followed later")
    func rotationNotRemembered() throws {
        let files = RecordingFileSystem()
        let machine = Machine(one.machine.places, place: Store.Place(fileSystem: files), notices: one.said.hear)
        var options = OpenOptions()
        options.writable = true
        let vault = try machine.open(path, factors: Keys.raw(1), options: options)
        let owners = vault.owners
        files.failFolderSyncs(of: "\(vault.id).owner")
        try vault.rotate(keeping: 1)
        #expect(vault.owners != owners)
        #expect(one.said.warnings.count == 1 && one.said.warnings[0].contains("could not be remembered"))
        files.failFolderSyncs(of: nil)
        #expect(try one.open().text == "0")
        #expect(try one.machine.remembered(vault.id)?.anchor == vault.anchor)
    }

    @Test(
        "D14: a rotation while another process holds the machine's memory succeeds; the machine follows it afterwards")
    func heldMemory() throws {
        let vault = try one.open()
        let lock = test_lock(folder.file("one/anchors/.lock"))
        #expect(lock >= 0)
        try vault.rotate(keeping: 1)
        #expect(one.said.warnings.count == 1 && one.said.warnings[0].contains("could not be remembered"))
        close(lock)
        #expect(try one.open().text == "0")
        #expect(try one.machine.remembered(vault.id)?.anchor == vault.anchor)
    }

    @Test("what 0.1.0 remembered is neither read nor changed")
    func earlierRelease() throws {
        let vault = try plain()
        let old = folder.file("two/anchors")
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        let name = "\(vault.id)-\(String(repeating: "0", count: 32))"
        try folder.write("two/anchors/\(name)", "\(vault.id):99:\(String(repeating: "0", count: 64))\n".utf8)
        #expect(try two.open().text == "0")
        #expect(try folder.names("two/anchors") == [".lock", "\(vault.id).owner", name].sorted())
    }

    @Test("a first sight is said once, and a folder that cannot be written is a warning")
    func notices() throws {
        for _ in 0..<2 { _ = try two.open() }
        #expect(two.said.all.count == 1 && two.said.all[0].text.hasPrefix("this machine has not seen"))
        try folder.write("three", "no folder".utf8)
        let three = Owner(folder, "three")
        let vault = try three.open()
        for _ in 0..<3 { try vault.set(Keys.item, secret: Secret(text: "x")) }
        #expect(three.said.all.count == 1 && three.said.warnings.count == 1)
    }
}
