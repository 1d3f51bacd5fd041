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
        #expect(try two.remembered()?.anchor.state == vault.state)
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
        #expect(copy.state.generation > vault.state.generation, "it was compacted")
        #expect(try one.remembered()?.anchor.state == vault.state)
        #expect(try one.open().item(.genericPassword(service: "other")) != nil)
        // The copy has an anchor of its own: two copies on one machine do not accuse each other.
        #expect(try one.machine.open(folder.file("copy.vault"), factors: Keys.raw(1)).state == copy.state)
        #expect(one.said.warnings == [])
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
        #expect(try three.open().state.generation > first.state.generation)
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

    @Test("a rotation of a copy, made with a key that was rotated away, is refused where a later state was seen")
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
        // The key that two remembers did hand over to the new one, but not what two has seen.
        for (owner, refusal) in [(one, VaultError.Code.foreignOwner), (two, .forked), (three, .foreignOwner)] {
            #expect(code { _ = try owner.open() } == refusal)
            #expect(code { try owner.machine.check(try plain()) } == refusal)
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
        let before = try ci.remembered(asOwner: false)
        #expect(try ci.open(key: 7, writable: false).text == "0")
        let after = try ci.remembered(asOwner: false)
        #expect(before != after && before?.anchor.owners == after?.anchor.owners)
        try folder.write("a.vault", old)
        #expect(code { _ = try ci.open(key: 7, writable: false) } == .rolledBack)
        // It knows nothing of an owner's: first sight, whatever the scoped slot has seen.
        #expect(try ci.remembered() == nil)
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
        #expect(try ci.remembered() == nil)
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

    @Test("G9: a copy that fell behind by any number of commits and compactions is followed, also by an open handle")
    func farBehind() throws {
        let reader = try two.open(writable: false)
        let other = try one.open()
        for round in 0..<3 {
            for number in 0..<150 { try other.keepVersions(1 + number % 2) }
            try other.set(Keys.item, secret: Secret(text: "\(round)"))
            try other.compact()
        }
        try reader.refresh()
        #expect(try reader.text == "2")
        #expect(try two.open().text == "2")
        #expect(two.said.warnings == [])
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
        #expect(try one.remembered()?.anchor.state == now.state)
    }

    @Test(
        "M5: a state that another process remembered meanwhile is not replaced by an older one, and another branch is refused"
    )
    func compareAndReplace() throws {
        let vault = try one.open(writable: false)
        let memory = one.machine.memory
        let admit = try vault.withStore { (store) throws(VaultError) in
            try memory.watch.recall(store.vault, store.path)
        }
        let old = try folder.read("a.vault")
        try two.set("theirs")
        let theirs = try folder.read("a.vault")
        try folder.write("a.vault", old)
        // The machine remembers one branch after this opening has asked what is remembered, and sees the other.
        try plain(writable: true).set(Keys.item, secret: Secret(text: "ours"))
        let ours = try plain()
        _ = try ours.anchor
        let remembered = try one.remembered()
        try folder.write("a.vault", theirs)
        _ = try one.open()
        #expect(
            code {
                try ours.withStore { (store) throws(VaultError) in _ = try admit(store.watched) }
            } == .forked)
        #expect(try one.remembered()?.anchor.state == plain().state)
        #expect(try one.remembered() != remembered)
    }

    /// The place of a machine that asks what is remembered only after `change`, the first time.
    private func late(_ asked: Asked, _ change: @escaping @Sendable () throws -> Void) -> Store.Place {
        let watch = one.machine.memory.watch
        var place = one.machine.place
        place.watch = StateWatch(
            recall: { (vault, path) throws(VaultError) in
                if asked.count() == 1 {
                    do { try change() } catch { throw VaultError(.invalidArgument, "the change failed: \(error)") }
                }
                return try watch.recall(vault, path)
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

    /// The place of a machine on which another process goes on after the file has been read and before it is compared,
    /// the first time.
    private func overtaken(_ machine: Machine, _ change: @escaping @Sendable () throws -> Void) -> Store.Place {
        let (watch, asked) = (machine.memory.watch, Asked())
        var place = machine.place
        place.watch = StateWatch(
            recall: { (vault, path) throws(VaultError) in
                let admit = try watch.recall(vault, path)
                return { (watched) throws(VaultError) in
                    if asked.count() == 1 {
                        do { try change() } catch { throw VaultError(.invalidArgument, "the change failed: \(error)") }
                    }
                    return try admit(watched)
                }
            }, committed: watch.committed)
        return place
    }

    @Test(
        "M5: a vault that a machine has not seen before is opened, although another process sees it and goes on meanwhile",
        arguments: ["change", "changes", "compaction", "rotation"])
    func firstSightAtOnce(_ change: String) throws {
        let other = two
        let place = overtaken(other.machine) {
            let vault = try other.open()
            switch change {
            case "changes": for round in 0..<40 { try vault.set(Keys.item, secret: Secret(text: "\(round)")) }
            case "compaction": try vault.compact()
            case "rotation": try vault.rotate(keeping: 1)
            default: break
            }
            try vault.set(Keys.item, secret: Secret(text: change))
        }
        let vault = try Vault.open(path, factors: Keys.raw(1), options: OpenOptions(), place: place)
        try vault.refresh()
        #expect(try vault.text == change)
        #expect(try two.remembered()?.anchor.state == vault.state)
        #expect(two.said.warnings == [])
        // A vault that is only compared is compared as it is then.
        let seen = try plain()
        try two.set("once more")
        try two.machine.check(seen)
        #expect(try seen.text == "once more")
        // What is really older is still refused, at this place and at another.
        let old = try folder.read("a.vault")
        try one.set("later")
        #expect(try two.open().text == "later")
        try folder.write("older.vault", old)
        #expect(code { _ = try two.machine.open(folder.file("older.vault"), factors: Keys.raw(1)) } == .rolledBack)
        try folder.write("a.vault", old)
        #expect(code { _ = try two.open() } == .rolledBack)
    }

    @Test("M5: the folder of what is remembered can appear while a process finds that there is none")
    func firstFolderAtOnce() throws {
        let files = RecordingFileSystem()
        files.makeListedFolders()
        #expect(mkdir(folder.file("two"), 0o700) == 0)
        let machine = Machine(two.machine.places, place: Store.Place(fileSystem: files), notices: two.said.hear)
        #expect(try machine.open(path, factors: Keys.raw(1)).text == "0")
        #expect(try two.remembered() != nil)
        #expect(two.said.warnings == [])
    }

    @Test(
        "a file that another program puts in the vault's place during a change is not overwritten, and the change is not said to be made",
        arguments: ["set", "large", "compact", "rotate"])
    func putInPlace(_ change: String) throws {
        try folder.write("copy.vault", try folder.read("a.vault"))
        func writable() -> OpenOptions {
            var options = OpenOptions()
            options.writable = true
            return options
        }
        let other = try Vault.open(folder.file("copy.vault"), factors: Keys.raw(1), options: writable())
        try other.set(Keys.item, secret: Secret(text: "theirs"))
        let theirs = try folder.read("copy.vault")
        let files = RecordingFileSystem()
        let machine = Machine(two.machine.places, place: Store.Place(fileSystem: files), notices: two.said.hear)
        let vault = try machine.open(path, factors: Keys.raw(1), options: writable())
        try vault.set(try .genericPassword(service: "before"), secret: Secret(text: "before"))
        let (from, to) = (folder.file("copy.vault"), path)
        let real = try RealFileSystem().resolve(path)
        files.interfere(before: change == "set" ? "sync \(real)" : "sync \(folder.path)") { _ = rename(from, to) }
        #expect(
            code {
                switch change {
                case "compact": try vault.compact()
                case "rotate": try vault.rotate(keeping: 1)
                case "large": try vault.set(Keys.item, secret: Secret(count: 9 << 20))
                default: try vault.set(Keys.item, secret: Secret(text: "ours"))
                }
            } == .busy)
        #expect(try folder.read("a.vault") == theirs)
        #expect(try plain().text == "theirs")
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
        "E10, H12: what is remembered and damaged is refused with its own error: every byte, too long, a link, a FIFO, a folder"
    )
    func damaged() throws {
        _ = try one.open()
        let entry = try one.entry()
        let name = "one/anchors/\(RecordingFileSystem.name(entry))"
        let sound = try folder.read(name)
        for index in sound.indices {
            for bit in [0, 7] {
                var bytes = sound
                bytes[index] ^= 1 << bit
                #expect(AnchorFile.decode(bytes) == nil, "byte \(index)")
            }
        }
        var turned = sound
        turned[20] ^= 1
        for bytes in [[], Array(sound.dropLast()), sound + [0], turned, [UInt8](repeating: 0, count: (1 << 24) + 1)] {
            try folder.write(name, bytes)
            #expect(code { _ = try one.open() } == .memoryDamaged, "\(bytes.count) bytes")
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
        try folder.write(name, [])
        try one.machine.accept(try plain())
        #expect(try one.open().text == "0")
    }

    @Test("E8, H12: temporaries have random names, and what killed writers left is swept; others' files stay")
    func sweeping() throws {
        let id = try plain().id
        let own = RecordingFileSystem.name(try one.entry())
        let hex = String(repeating: "ab", count: 16)
        let left = [".\(own).vaultfmt-01234567", ".other.owner.vaultfmt-89abcdef"]
        let others = ["notes.txt", "\(hex)-\(hex)", "\(hex).1"]
        for name in left + others { try folder.write("one/anchors/\(name)", "x".utf8) }
        try one.set("1")
        #expect(try folder.names("one/anchors") == ([".lock", "\(id).made", own] + others).sorted())
        let files = RecordingFileSystem()
        let machine = Machine(one.machine.places, place: Store.Place(fileSystem: files), notices: one.said.hear)
        var options = OpenOptions()
        options.writable = true
        let vault = try machine.open(path, factors: Keys.raw(1), options: options)
        for _ in 0..<2 { try vault.set(Keys.item, secret: Secret(text: "2")) }
        let names = files.calls.filter { $0.hasPrefix("create .\(own).vaultfmt-") }
        #expect(Set(names).count == 2 && files.calls.filter { $0.hasPrefix("create") }.count == 2)
    }

    @Test(
        "M7: the vault and its folder are synced before a newer state is remembered, by a reader too; what cannot be synced is not remembered"
    )
    func durability() throws {
        let files = RecordingFileSystem()
        let machine = Machine(two.machine.places, place: Store.Place(fileSystem: files), notices: two.said.hear)
        files.failSyncs(of: "a.vault")
        #expect(try machine.open(path, factors: Keys.raw(1)).text == "0")
        #expect(try two.remembered() == nil)
        #expect(two.said.warnings.count == 1 && two.said.warnings[0].contains("could not be remembered"))
        files.failSyncs(of: nil)
        for _ in 0..<2 {
            files.forget()
            _ = try machine.open(path, factors: Keys.raw(1))
            let calls = files.calls
            let vault = try #require(calls.firstIndex(of: "sync a.vault"))
            let parent = try #require(calls.firstIndex(of: "sync folder of a.vault"))
            let own = RecordingFileSystem.name(try two.entry())
            let stored = try #require(calls.firstIndex(of: "rename \(own)"))
            #expect(vault < stored && parent < stored)
            let file = try #require(calls.firstIndex { $0.hasPrefix("sync .\(own).vaultfmt-") })
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
        let name = "one/anchors/\(RecordingFileSystem.name(try one.entry()))"
        let before = try folder.read(name)
        let vault = try one.open()
        try vault.rotate(keeping: 1)
        // The entry as it was when the new file got its name.
        try folder.write(name, before)
        #expect(try one.open().text == "0")
        #expect(try one.remembered()?.anchor.state == vault.state)
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
        files.failFolderSyncs(of: RecordingFileSystem.name(try one.entry()))
        try vault.rotate(keeping: 1)
        #expect(vault.owners != owners)
        #expect(one.said.warnings.count == 1 && one.said.warnings[0].contains("could not be remembered"))
        files.failFolderSyncs(of: nil)
        #expect(try one.open().text == "0")
        #expect(try one.remembered()?.anchor.state == vault.state)
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
        #expect(try one.remembered()?.anchor.state == vault.state)
    }

    @Test("what earlier releases remembered is neither read nor changed")
    func earlierRelease() throws {
        let vault = try plain()
        let old = folder.file("two/anchors")
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        let zeros = String(repeating: "0", count: 32)
        let names = ["\(vault.id)-\(zeros)", "\(vault.id).owner", "\(vault.id).scoped"]
        for name in names { try folder.write("two/anchors/\(name)", "\(vault.id):99:\(zeros)\(zeros)\n".utf8) }
        #expect(try two.open().text == "0")
        let own = RecordingFileSystem.name(try two.entry())
        #expect(try folder.names("two/anchors") == ([".lock", own] + names).sorted())
    }

    @Test("a first sight is said once, and a folder that cannot be written is a warning")
    func notices() throws {
        for _ in 0..<2 { _ = try two.open() }
        #expect(two.said.all.count == 1 && two.said.all[0].text.hasPrefix("this machine has not seen"))
        try folder.write("three", "no folder".utf8)
        let three = Owner(folder, "three")
        let vault = try three.open()
        for _ in 0..<3 { try vault.set(Keys.item, secret: Secret(text: "x")) }
        #expect(three.said.all.count == 2 && three.said.warnings.count == 2, "its state and its ids")
    }

    // MARK: places

    /// The machine's handle to another file.
    private func copy(_ name: String, _ owner: Owner, writable: Bool = true) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        return try owner.machine.open(folder.file(name), factors: Keys.raw(1), options: options)
    }

    @Test("M-36: a second copy is accepted once, and then both copies go on without accusing each other")
    func secondCopy() throws {
        try folder.write("copy.vault", try folder.read("a.vault"))
        try one.set("1")
        #expect(code { _ = try copy("copy.vault", one) } == .rolledBack)
        #expect(code { _ = try copy("copy.vault", one) } == .rolledBack, "it is asked until it is accepted")
        try one.machine.accept(try Vault.open(folder.file("copy.vault"), factors: Keys.raw(1)))
        for number in 0..<3 {
            try copy("copy.vault", one).set(Keys.item, secret: Secret(text: "copy \(number)"))
            try one.set("vault \(number)")
        }
        #expect(try one.open().text == "vault 2" && copy("copy.vault", one).text == "copy 2")
        #expect(one.said.warnings == [])
        // Each place notices when its own file is put back.
        let old = try folder.read("copy.vault")
        try copy("copy.vault", one).set(Keys.item, secret: Secret(text: "later"))
        try folder.write("copy.vault", old)
        #expect(code { _ = try copy("copy.vault", one) } == .rolledBack)
        #expect(try one.open().text == "vault 2")
    }

    @Test("M-36: a vault that was moved is known at its new place, and an older copy at a new place is not")
    func moved() throws {
        let old = try folder.read("a.vault")
        try one.set("1")
        let now = try folder.read("a.vault")
        try folder.write("moved.vault", now)
        unlink(path)
        #expect(try copy("moved.vault", one).text == "1")
        #expect(one.said.all.isEmpty)
        try folder.write("elsewhere.vault", old)
        #expect(code { _ = try copy("elsewhere.vault", one) } == .rolledBack)
    }

    @Test("M-36: a link to a vault is no place of its own")
    func linked() throws {
        symlink(path, folder.file("link.vault"))
        try copy("link.vault", one).set(Keys.item, secret: Secret(text: "1"))
        let old = try folder.read("a.vault")
        try copy("link.vault", one).set(Keys.item, secret: Secret(text: "2"))
        try folder.write("a.vault", old)
        #expect(code { _ = try one.open() } == .rolledBack)
    }

    @Test("N2: the first opening as an owner is compared with the key that a scoped slot has shown at another place")
    func scopedElsewhere() throws {
        _ = try one.open().addSlot(Keys.raw(7), grantedGroups: [""])
        let ci = Owner(folder, "ci")
        #expect(try ci.open(key: 7, writable: false).text == "0")
        try folder.write("b.vault", try folder.read("a.vault"))
        var options = OpenOptions()
        options.writable = true
        try Vault.open(folder.file("b.vault"), factors: Keys.raw(1), options: options).rotate(keeping: 1)
        let forged = try StrangersVault.withoutHandOvers(try folder.read("b.vault"), rawKey: 1)
        try folder.write("b.vault", forged)
        #expect(code { _ = try copy("b.vault", ci) } == .foreignOwner)
        #expect(try ci.machine.remembered(plain().id) == nil)
    }

    @Test(
        "another vault that the same key opens is refused in a vault's place until it is accepted, also by a scoped slot"
    )
    func anotherVault() throws {
        let first = try plain().id
        try one.set("1")
        let old = try folder.read("a.vault")
        try one.set("2")
        let newest = try folder.read("a.vault")
        let made = try one.machine.create(at: folder.file("b.vault"), factors: Keys.raw(1))
        try made.set(Keys.item, secret: Secret(text: "team"))
        _ = try made.addSlot(Keys.raw(7), grantedGroups: [""])
        let other = try folder.read("b.vault")
        try folder.write("a.vault", other)
        #expect(code { _ = try one.open() } == .foreignOwner)
        #expect(code { _ = try one.open(key: 7, writable: false) } == .foreignOwner)
        #expect(code { try one.machine.check(try plain()) } == .foreignOwner)
        try folder.write("a.vault", newest)
        #expect(try one.open().text == "2", "the vault that belongs there opens as before")

        try folder.write("a.vault", other)
        try one.machine.accept(try plain())
        #expect(try one.open().text == "team")
        #expect(try one.open(key: 7, writable: false).text == "team")
        // Now the first vault is the other one there, and what was seen of it is not forgotten.
        try folder.write("a.vault", newest)
        #expect(code { _ = try one.open() } == .foreignOwner)
        try folder.write("moved.vault", old)
        #expect(code { _ = try copy("moved.vault", one) } == .rolledBack)
        try folder.write("moved.vault", newest)
        #expect(try copy("moved.vault", one).text == "2")
        #expect(try one.machine.remembered(first)?.anchor.vault == first)
        #expect(one.said.warnings == [])
    }

    @Test("a vault made where another one was is known from then on, and the one that was moved away stays known")
    func madeAnew() throws {
        let old = try folder.read("a.vault")
        try one.set("1")
        rename(path, folder.file("moved.vault"))
        try one.create().set(Keys.item, secret: Secret(text: "new"))
        #expect(try one.open().text == "new")
        #expect(try copy("moved.vault", one).text == "1")
        try folder.write("moved.vault", old)
        #expect(code { _ = try copy("moved.vault", one) } == .rolledBack)
    }

    @Test("Of very many places, those whose files are gone are forgotten, and never the newest state")
    func manyPlaces() throws {
        let id = try plain().id
        for number in 0..<36 {
            try folder.write("\(number).vault", try folder.read("a.vault"))
            _ = try copy("\(number).vault", one, writable: false)
            unlink(folder.file("\(number).vault"))
        }
        let names = try folder.names("one/anchors").filter { $0.hasSuffix(".owner") }
        #expect(names.count < 10)
        #expect(try one.machine.remembered(id) != nil)
        #expect(try one.open().text == "0")
    }

    // MARK: what was dropped

    /// Makes a fork: returns the files of both sides.
    private func fork() throws -> (dropped: [UInt8], taken: [UInt8]) {
        let base = try folder.read("a.vault")
        _ = try two.open()
        try one.set("dropped")
        let dropped = try folder.read("a.vault")
        try folder.write("a.vault", base)
        try two.set("taken")
        return (dropped, try folder.read("a.vault"))
    }

    @Test("M-37: what a user dropped returns neither in the vault's place nor by a merge until it is asked for")
    func dropped() throws {
        let sides = try fork()
        #expect(code { _ = try one.open() } == .forked)
        try one.machine.accept(try plain())
        #expect(try one.open().text == "taken")
        #expect(try one.remembered()?.dropped.count == 1)
        // The fork itself, and a state that somebody merged it into.
        try folder.write("fork.vault", sides.dropped)
        let fork = try Vault.open(folder.file("fork.vault"), factors: Keys.raw(1))
        let vault = try one.open()
        #expect(code { try one.machine.checkMerge(of: fork, into: vault) } == .forked)
        let other = try two.open()
        _ = try other.merge(fork)
        #expect(code { _ = try one.open() } == .forked, "it includes what was dropped")
        #expect(code { try one.machine.checkMerge(of: try plain(), into: vault) } == .forked)
        // Others' changes are taken as ever.
        try folder.write("a.vault", sides.taken)
        try two.machine.accept(try plain())
        try two.set("later")
        #expect(try one.open().text == "later")
        try one.machine.checkMerge(of: fork, into: try one.open(), takesDropped: true)
        #expect(try one.remembered()?.dropped == [])
        _ = try one.open().merge(fork)
        #expect(try one.open().text == "later")
    }

    @Test("M-37: of what was dropped, a part that was asked for is no longer dropped, and the rest is")
    func droppedInPart() {
        let vector = Vector(floor: 0, rows: [Vector.Row(1, 10), Vector.Row(2, 5)]) ?? Vector()
        let point = AnchorPoint(ownersPublicKey: .zero, generation: 3, chain: .zero, vector: vector)
        var state = RememberedState(
            vault: VaultID(.zero), point: point, path: "/v", dropped: [DroppedChanges(id: 3, taken: 4, dropped: 9)])
        func seen(_ revision: UInt64) -> SeenRows {
            SeenRows([Vector(floor: 0, rows: [Vector.Row(3, revision)]) ?? Vector()])
        }
        #expect(state.returned(in: seen(4)) == [])
        #expect(state.returned(in: seen(5)) == [3])
        #expect(state.stillDropped(after: seen(6)) == [DroppedChanges(id: 3, taken: 6, dropped: 9)])
        #expect(state.stillDropped(after: seen(9)) == [])
        let older = AnchorPoint(
            ownersPublicKey: .zero, generation: 2, chain: .zero,
            vector: Vector(floor: 0, rows: [Vector.Row(1, 7)]) ?? Vector())
        state = RememberedState(vault: VaultID(.zero), point: point, path: "/v")
        #expect(
            state.newlyDropped(by: older) == [
                DroppedChanges(id: 1, taken: 7, dropped: 10), DroppedChanges(id: 2, taken: 0, dropped: 5),
            ])
        let rotated = AnchorPoint(
            ownersPublicKey: Bytes32(hashing: [1]), generation: 2, chain: .zero, vector: older.vector)
        #expect(state.newlyDropped(by: rotated) == [], "across keys, taking a branch in is asked for anyway")
    }

    // MARK: replica ids

    @Test("M-32: a machine goes on under one id, in every handle and process, and each machine has its own")
    func oneIDEach() throws {
        for number in 0..<3 {
            try one.set("\(number)")
            try two.set("\(number)")
        }
        #expect(try plain().anchor.replicas.count == 2)
        // A handle without a memory draws an id of its own.
        try plain(writable: true).set(Keys.item, secret: Secret(text: "x"))
        #expect(try plain().anchor.replicas.count == 3)
    }

    @Test("M-32: a state that was put back and accepted is continued under another id")
    func putBack() throws {
        let old = try folder.read("a.vault")
        try one.set("1")
        try folder.write("a.vault", old)
        try one.machine.accept(try plain())
        try one.set("2")
        #expect(try plain().anchor.replicas.count == 2)
    }

    @Test("M-33: a clone that goes on under this machine's id is named, and the next change marks the id in the vault")
    func clone() throws {
        try one.set("1")
        let base = try folder.read("a.vault")
        try one.set("mine")
        let mine = try folder.read("a.vault")
        // The clone has the same memory, in the same run: it writes under the same id.
        let id = try plain().anchor.replicas
        try folder.write("a.vault", base)
        let replicas = ClonedReplicas(id: try #require(id.first))
        var place = one.machine.place
        place.replicas = replicas
        func writable() -> OpenOptions {
            var options = OpenOptions()
            options.writable = true
            return options
        }
        let clone = try Vault.open(path, factors: Keys.raw(1), options: writable(), place: place)
        for text in ["theirs", "later"] { try clone.set(Keys.item, secret: Secret(text: text)) }
        let theirs = try folder.read("a.vault")
        try folder.write("theirs.vault", theirs)
        try folder.write("a.vault", mine)
        let vault = try one.open()
        let other = try Vault.open(folder.file("theirs.vault"), factors: Keys.raw(1))
        #expect(try vault.merge(other).outcome == .merged, "it is not put in place of ours, though its row is greater")
        #expect(try vault.earlierValues(of: Keys.item).count + vault.conflicts().count > 0)
        #expect(try vault.anchor.description.contains("!"), "the id is split")
        // The other machine takes the result, and then nobody has anything to merge.
        let far = try Vault.open(folder.file("theirs.vault"), factors: Keys.raw(1), options: writable())
        #expect(try far.merge(vault).outcome == .theirs)
        #expect(try vault.merge(far).outcome == .same)
        #expect(try far.merge(vault).outcome == .same)
        try one.set("2")
        #expect(try plain().anchor.replicas.count == 2)
    }
}

/// A writer that uses another one's id, as a clone of its machine does.
private final class ClonedReplicas: ReplicaMemory {
    private let id: ReplicaID

    init(id: ReplicaID) { self.id = id }

    func claim(_ vault: Bytes16, _ vector: Vector) -> ReplicaClaim { ReplicaClaim(vault: vault, id: id, greatest: 0) }
    func note(_ claim: ReplicaClaim, revision: UInt64) {}
    func release(_ claim: ReplicaClaim) {}
    func splitIDs(_ vault: Bytes16, _ vector: Vector) -> [ReplicaID] { [] }
}

extension Anchor {
    /// The ids of the rows.
    fileprivate var replicas: [ReplicaID] { point.vector.rows.map(\.id) }
}
