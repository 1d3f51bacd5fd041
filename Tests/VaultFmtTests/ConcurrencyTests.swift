import Foundation
import Synchronization
import Testing

@testable import VaultFmt

@Suite("Many users of one vault")
struct ConcurrencyTests {
    /// Runs `body` on so many threads at once; the errors they end with.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) -> [String] {
        let failures = Mutex<[String]>([])
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            let thread = Thread {
                do { try body(number) } catch { failures.withLock { $0.append("\(error)") } }
                group.leave()
            }
            thread.stackSize = 4 << 20
            thread.start()
        }
        group.wait()
        return failures.withLock { $0 }
    }

    @Test("write one after the other, each with a handle of its own, and lose nothing")
    func writers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try Fast.create(path)
        let failures = onThreads(8) { thread in
            var options = OpenOptions()
            options.writable = true
            options.lockWait = .seconds(60)
            let vault = try Vault.open(path, factors: try Fast.rawKey(), options: options)
            for round in 0..<50 { try vault.put(try password("thread \(thread)", "\(round)"), "\(thread) \(round)") }
            #expect(try vault.allItems().count { $0.key.service == "thread \(thread)" } == 50)
        }
        #expect(failures.isEmpty, "\(failures)")
        let vault = try Fast.open(path)
        #expect(vault.state.generation == 401)
        #expect(try vault.allItems().count == 400)
        #expect(try vault.text(try password("thread 7", "49")) == "7 49")
        #expect(try vault.verify().isSound)
    }

    @Test("share one handle, and read while one writes, compacts, locks and unlocks")
    func oneHandle() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        for number in 0..<50 {
            try vault.set(try password("s", "\(number)"), secret: Secret(text: "0"), accessibility: .always)
        }
        let failures = onThreads(6) { thread in
            for round in 0..<60 {
                switch thread {
                case 0:
                    try vault.set(
                        try password("s", "\(round % 50)"), secret: Secret(text: "\(round)"), accessibility: .always)
                case 1 where round % 20 == 0: try vault.compact()
                case 2: #expect(try vault.allItems().count == 50)
                case 3: #expect(try vault.text(try password("s", "\(round % 50)")) != nil)
                case 4:
                    try vault.transaction { (transaction) throws(VaultError) in
                        try transaction.update(try password("s", "7"), attributes: setting(["label": "\(round)"]))
                    }
                default: #expect(try vault.verdict(on: vault.anchor) != .forked)
                }
            }
        }
        #expect(failures.isEmpty, "\(failures)")
        #expect(try vault.verify().isSound)
        #expect(try vault.item(try password("s", "7"))?.attributes.label == "59")
    }

    @Test("read complete states while others write")
    func readers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let writer = try Fast.create(path)
        // In each state all items have the same secret.
        @Sendable func fill(_ value: String) throws {
            try writer.transaction { (transaction) throws(VaultError) in
                for number in 0..<30 {
                    try transaction.set(try password("s", "\(number)"), secret: Secret(text: value))
                }
            }
        }
        try fill("0")
        let isDone = Atomic(false)
        let failures = onThreads(3) { thread in
            if thread == 0 {
                defer { isDone.store(true, ordering: .relaxed) }
                for round in 1...60 {
                    try fill("\(round)")
                    if round % 25 == 0 { try writer.compact() }
                }
                return
            }
            var reader = try Fast.open(path, writable: false)
            while !isDone.load(ordering: .relaxed) {
                if thread == 1 { try reader.refresh() } else { reader = try Fast.open(path, writable: false) }
                #expect(try Set(reader.dump().values.map(\.secret)).count == 1)
            }
        }
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("wait for a writer for as long as they were told, and are told who it is")
    func busy() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for wait in [.zero, .milliseconds(30), .seconds(-1), .seconds(Int64.min)] as [Duration] {
            var options = OpenOptions()
            options.writable = true
            options.lockWait = wait
            let other = try Vault.open(path, factors: try Fast.rawKey(), options: options)
            try vault.transaction { (transaction) throws(VaultError) in
                try transaction.set(try password("s"), secret: Secret(text: "x"))
                let error = fails(.busy) { try other.put(try password("s"), "y") }
                #expect(error?.detail.contains("(\(getpid()))") == true, "\(String(describing: error))")
                fails(.busy) { try other.compact() }
            }
            try other.put(try password("s"), "y")
        }
        #expect(try vault.text(try password("s")) == "x")
        try vault.refresh()
        #expect(try vault.text(try password("s")) == "y")
    }

    @Test("see a write in progress as that, and not as damage (R-7.2)")
    func inProgress() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(try password("s"), "x")
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(try password("big"), secret: Secret(count: 2 << 20))
            do {
                let reader = try Fast.open(path, writable: false)
                #expect(reader.tail == .writeInProgress)
                #expect(try reader.text(try password("s")) == "x")
                #expect(try reader.verify().isSound)
                #expect(try Vault.inspect(path).tail == .writeInProgress)
            } catch { Issue.record("\(error)") }
        }
    }

    @Test("go on after another handle changed the passphrase, added slots or compacted")
    func replacedByOthers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let first = try Fast.create(path)
        let second = try Fast.open(path)
        let reader = try Fast.open(path, writable: false)
        let key = try password("s")
        try first.put(key, "1")
        try second.changeFactors(to: try Fast.rawKey(7))
        try first.put(key, "2")
        #expect(try second.text(key) == "1")
        try second.refresh()
        #expect(try second.text(key) == "2")
        fails(.noSlotOpens) { _ = try Fast.open(path) }
        _ = try first.addSlot(try Fast.rawKey(8), name: "another")
        try second.compact()
        try first.put(key, "3")
        try reader.refresh()
        #expect(try reader.text(key) == "3")
        #expect(try reader.slots().map(\.name) == ["", "another"])
        #expect(try first.verify().isSound)
    }

    @Test("are told to open the vault again after another handle rotated it")
    func rotatedByOthers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let first = try Fast.create(path)
        let second = try Fast.open(path)
        let key = try password("s")
        try first.put(key, "1")
        try second.refresh()
        let owners = first.owners
        var rotation = try first.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
        #expect(first.owners != owners)
        for _ in 0..<2 {
            fails(.noSlotOpens, "open it again") { try second.refresh() }
            fails(.noSlotOpens) { try second.put(key, "2") }
            #expect(try second.text(key) == "1")
        }
        try second.unlock(try Fast.rawKey())
        #expect(second.owners == first.owners)
        try second.put(key, "2")
        try first.refresh()
        #expect(try first.text(key) == "2")
    }
}
