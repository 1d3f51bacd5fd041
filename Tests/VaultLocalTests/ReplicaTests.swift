import Foundation
import Synchronization
import TestSupport
import Testing
import VaultBytes
import VaultStore

@testable import VaultLocal

@Suite("Replica ids of a machine")
struct ReplicaTests {
    private let folder: Folder
    private let vault = Bytes16(high: 1, low: 2)
    private let run = MachineRun(system: Bytes32(hashing: [1]), difference: 1_000_000)

    init() throws { folder = try Folder() }

    private func replicas(
        _ run: MachineRun?, in state: String = "state", _ fileSystem: any FileSystem = RealFileSystem(),
        witness: String? = nil
    ) -> ReplicaFiles {
        let files = PrivateFiles(place: Store.Place(fileSystem: fileSystem), announcer: Announcer { _ in })
        return ReplicaFiles(
            files: files, folder: folder.file("\(state)/replicas"), witness: witness.map { folder.file($0) }
        ) { run }
    }

    private var path: String { "state/replicas/\(Hex.encode(vault.bytes))" }

    /// A state's vector.
    private final class Rows: Sendable {
        private let rows: Mutex<[UInt64: UInt64]>
        init(_ rows: [UInt64: UInt64] = [:]) { self.rows = Mutex(rows) }
        subscript(_ id: UInt64) -> UInt64? {
            get { rows.withLock { $0[id] ?? 0 } }
            set { rows.withLock { $0[id] = newValue } }
        }
        var copy: Rows { Rows(rows.withLock { $0 }) }
    }

    /// Makes a change with this last revision, and returns its id.
    @discardableResult
    private func change(_ replicas: ReplicaFiles, _ state: Rows, _ revision: UInt64) throws -> UInt64 {
        let claim = try #require(try replicas.claim(vault) { state[$0] })
        try replicas.note(vault, claim.id, revision: revision)
        state[claim.id] = revision
        return claim.id
    }

    @Test("M-32: an id is continued by every process of the run, on the state that has exactly its last own revision")
    func continued() throws {
        let state = Rows()
        let first = try change(replicas(run), state, 10)
        #expect(first != 0)
        #expect(try change(replicas(run), state, 20) == first)
        let copy = state.copy
        #expect(try change(replicas(run), state, 30) == first)
        let second = try change(replicas(run), copy, 31)
        #expect(second != first, "a copy that lacks the last revision is a branch")
        #expect(try change(replicas(run), state, 40) == first)
        #expect(try change(replicas(run), copy, 41) == second, "each branch goes on with its own id")
    }

    @Test("M-32: two copies that are changed at the same time never get one id")
    func claimed() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let copy = state.copy
        let one = try #require(try replicas(run).claim(vault) { state[$0] })
        let other = try #require(try replicas(run).claim(vault) { copy[$0] })
        #expect(one.id == id && other.id != id)
        // A change that is given up gives its id back; one that was killed does not.
        replicas(run).release(vault, one.id)
        #expect(try change(replicas(run), state, 20) == id)
        let killed = try #require(try replicas(run).claim(vault) { state[$0] })
        #expect(killed.id == id)
        #expect(try change(replicas(run), state, 30) != id)
    }

    @Test("M-32: a change that was noted and never committed costs its id, which nobody else continues either")
    func notCommitted() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let claim = try #require(try replicas(run).claim(vault) { state[$0] })
        try replicas(run).note(vault, claim.id, revision: 20)
        #expect(claim.id == id)
        #expect(try change(replicas(run), state, 30) != id)
    }

    @Test("M-2: revisions go on from the greatest one that the machine has made, across runs")
    func greatest() throws {
        let state = Rows()
        try change(replicas(run), state, 500)
        #expect(try #require(try replicas(run).claim(vault) { _ in 0 }).greatest == 500)
        let later = MachineRun(system: Bytes32(hashing: [2]), difference: run.difference)
        #expect(try #require(try replicas(later).claim(vault) { _ in 0 }).greatest == 500)
    }

    @Test(
        "M-32: the run ends with another system and with a set clock, and no id goes on",
        arguments: [
            MachineRun(system: Bytes32(hashing: [2]), difference: 1_000_000),
            MachineRun(system: Bytes32(hashing: [1]), difference: 1_005_001),
            MachineRun(system: Bytes32(hashing: [1]), difference: 994_999),
        ])
    func otherRun(_ other: MachineRun) throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let near = MachineRun(system: run.system, difference: run.difference + 5000)
        #expect(try change(replicas(near), state, 20) == id, "a clock is not exact")
        #expect(try change(replicas(other), state, 30) != id)
    }

    @Test("M-32: a memory that was copied or put back belongs to no run")
    func copiedMemory() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let bytes = try folder.read(path)
        // Two files exist at once, so the second has an inode of its own.
        try FileManager.default.createDirectory(
            atPath: folder.file("other/replicas"), withIntermediateDirectories: true)
        try folder.write("other/replicas/\(Hex.encode(vault.bytes))", bytes)
        #expect(try change(replicas(run, in: "other"), state.copy, 20) != id)
        #expect(try change(replicas(run), state, 20) == id)
    }

    @Test("M-32: a memory in which older contents were put back belongs to no run, though it is the same file")
    func restoredInPlace() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let (contents, before) = (try folder.read(path), state.copy)
        let times = try FileManager.default.attributesOfItem(atPath: folder.file(path))
        #expect(try change(replicas(run), state, 20) == id)
        try folder.write(path, contents)
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(times[.modificationDate])], ofItemAtPath: folder.file(path))
        #expect(try change(replicas(run), before, 20) != id)
        // The file of the new id is as good as any.
        let next = try change(replicas(run), before, 30)
        #expect(try change(replicas(run), before, 40) == next)
    }

    @Test("M-32: a file system that was put back under a running machine is noticed by what is in memory only")
    func putBack() throws {
        // A snapshot has the file's inode and all of its times: a file system without times tells as little.
        let system = RecordingFileSystem()
        func replicas() -> ReplicaFiles { self.replicas(run, system, witness: "witness") }
        let state = Rows()
        let id = try change(replicas(), state, 10)
        let (contents, before) = (try folder.read(path), state.copy)
        #expect(try change(replicas(), state, 20) == id)
        try overwrite(contents)
        let next = try #require(try replicas().claim(vault) { before[$0] })
        #expect(next.id != id && next.greatest == 20, "revisions go on too")
        try replicas().note(vault, next.id, revision: 30)
        before[next.id] = 30
        #expect(try change(replicas(), before, 40) == next.id, "the file of the new id is as good as any")
        // Another file in its place, or none.
        try FileManager.default.removeItem(atPath: folder.file(path))
        let last = try change(replicas(), before, 50)
        #expect(last != next.id)
        #expect(try change(replicas(), before, 60) == last)
        let witness = try FileManager.default.attributesOfItem(atPath: folder.file("witness"))
        #expect(witness[.posixPermissions] as? Int == 0o600)
    }

    @Test(
        "A witness that is damaged, too short, full of others or cannot be written to costs no id",
        arguments: ["damaged", "short", "link", "folder"])
    func poorWitness(_ kind: String) throws {
        let (state, path) = (Rows(), folder.file("witness"))
        func replicas() -> ReplicaFiles { self.replicas(run, witness: "witness") }
        let id = try change(replicas(), state, 10)
        #expect(try folder.read("witness").count == 256 * 64)
        switch kind {
        case "damaged":
            try folder.write("witness", try folder.read("witness").map { $0 ^ 1 })
        case "short": try folder.write("witness", [1, 2, 3])
        default:
            try FileManager.default.removeItem(atPath: path)
            if kind == "link" {
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.file("other"))
            } else {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
        }
        for revision in [UInt64(20), 30, 40] { #expect(try change(replicas(), state, revision) == id) }
        #expect(!FileManager.default.fileExists(atPath: folder.file("other")))
    }

    @Test("M-32: a machine that cannot tell its run has no ids")
    func noRun() throws {
        #expect(try replicas(nil).claim(vault) { _ in 0 } == nil)
        #expect(try replicas(nil).splitIDs(vault) { _ in 7 } == [])
        #expect(!FileManager.default.fileExists(atPath: folder.file("state")))
    }

    @Test("The present run can be told, and goes on while a program runs")
    func current() throws {
        let now = try #require(try MachineRun.current())
        #expect(now.isContinued(by: try #require(try MachineRun.current())))
    }

    @Test("A run that cannot be told now is an error, and not another run")
    func noDescriptors() throws {
        let (state, memory) = (Rows(), replicas(run))
        let id = try change(memory, state, 1)
        let failing = ReplicaFiles(
            files: PrivateFiles(
                place: Store.Place(fileSystem: RealFileSystem()), announcer: Announcer { _ in }),
            folder: folder.file("state/replicas")
        ) { () throws(VaultError) in throw VaultError(.io, "too many open files") }
        for body in [
            { try #require(try failing.claim(vault) { state[$0] }).id },
            {
                try failing.note(vault, id, revision: 2)
                return id
            },
        ] {
            #expect { _ = try body() } throws: { ($0 as? VaultError)?.code == .io }
        }
        #expect(try change(memory, state, 2) == id)
    }

    @Test("M-32: after 4,096 revisions an id ends, and a file of memory stays small")
    func manyRevisions() throws {
        let (state, memory) = (Rows(), replicas(run))
        let first = try change(memory, state, 1)
        for revision in 2...UInt64(ReplicaLog.mostRevisions) {
            #expect(try change(memory, state, revision) == first)
        }
        let second = try change(memory, state, 5000)
        #expect(second != first)
        #expect(try change(memory, state, 5001) == second)
        #expect(try folder.read(path).count == 128 + 2 * 32 * 4098)
    }

    @Test("M-33: a revision that the machine never made shows that its id has two writers")
    func split() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        try change(replicas(run), state, 20)
        #expect(try replicas(run).splitIDs(vault) { state[$0] } == [])
        let older = Rows([id: 10])
        #expect(try replicas(run).splitIDs(vault) { older[$0] } == [], "an older state of one's own")
        let clone = Rows([id: 15])
        #expect(try replicas(run).splitIDs(vault) { clone[$0] } == [id])
        #expect(try replicas(run).splitIDs(vault) { state[$0] } == [id], "it stays split")
        #expect(try replicas(run).splitIDs(vault) { _ in nil } == [], "the state says so already")
        #expect(try change(replicas(run), state, 30) != id)
    }

    @Test("A damaged memory is an error that says what to do, for every byte and length")
    func damaged() throws {
        let state = Rows()
        try change(replicas(run), state, 10)
        let bytes = try folder.read(path)
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= 1
            try overwrite(altered)
            #expect(code { _ = try replicas(run).claim(vault) { state[$0] } } == .memoryDamaged, "byte \(index)")
        }
        for count in [0, 1, 127, 129, 159, 191] {
            try overwrite(Array(bytes[..<count]))
            #expect(code { _ = try replicas(run).claim(vault) { state[$0] } } == .memoryDamaged, "\(count) bytes")
        }
        try overwrite(bytes + [UInt8](repeating: 0, count: 32))
        #expect(code { _ = try replicas(run).claim(vault) { state[$0] } } == .memoryDamaged)
        let error = #expect(throws: VaultError.self) { _ = try replicas(run).claim(vault) { state[$0] } }
        #expect(error?.detail.contains("move it away") == true)
        unlink(folder.file(path))
        #expect(try replicas(run).claim(vault) { state[$0] } != nil)
    }

    @Test("Entries that a power failure has lost are no damage: the run has ended")
    func torn() throws {
        let state = Rows()
        let id = try change(replicas(run), state, 10)
        let bytes = try folder.read(path)
        let later = MachineRun(system: Bytes32(hashing: [2]), difference: run.difference)
        for count in [128, 129, 160, 191] {
            try overwrite(Array(bytes[..<count]))
            #expect(try #require(try replicas(later).claim(vault) { state[$0] }).id != id)
        }
        try overwrite(Array(bytes[..<160]) + [UInt8](repeating: 0, count: 32))
        #expect(try replicas(later).claim(vault) { state[$0] } != nil)
    }

    /// Changes the file in place: its inode is part of the run.
    private func overwrite(_ bytes: [UInt8]) throws {
        let file = try RealFileSystem().openOwn(folder.file(path), writable: true)
        try file.truncate(to: 0)
        try file.write(bytes, at: 0)
    }

    @Test("The memory is the owner's alone, and a link in its place is refused")
    func permissions() throws {
        try change(replicas(run), Rows(), 10)
        #expect(try RealFileSystem().openOwn(folder.file(path), writable: false).permissions() == 0o600)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("state/replicas"))[.posixPermissions]
        #expect(mode as? Int == 0o700)
        try FileManager.default.moveItem(atPath: folder.file(path), toPath: folder.file("elsewhere"))
        symlink(folder.file("elsewhere"), folder.file(path))
        #expect(code { _ = try replicas(run).claim(vault) { _ in 0 } } == .memoryDamaged)
    }

    @Test("Nothing is synced for a change after the run's first one")
    func syncs() throws {
        let files = RecordingFileSystem()
        let (memory, state) = (replicas(run, files), Rows())
        try change(memory, state, 10)
        #expect(files.calls.contains { $0.hasPrefix("sync .") } && files.calls.contains { $0.hasPrefix("rename ") })
        files.forget()
        try change(memory, state, 20)
        #expect(files.calls == [])
    }

    @Test("Many threads and handles claim ids of one memory: no id is claimed twice, and no entry is lost")
    func atOnce() throws {
        let claimed = Mutex<[UInt64]>([])
        let failures = Mutex<[String]>([])
        let shared = replicas(run)
        let threads = (0..<8).map { number in
            let memory = number % 2 == 0 ? shared : replicas(run)
            let thread = Thread { [vault] in
                for round in 0..<10 {
                    do {
                        guard let claim = try memory.claim(vault, row: { _ in 0 }) else { continue }
                        claimed.withLock { $0.append(claim.id) }
                        try memory.note(vault, claim.id, revision: UInt64(1 + number * 10 + round))
                    } catch { failures.withLock { $0.append("\(error)") } }
                }
            }
            thread.start()
            return thread
        }
        while threads.contains(where: { !$0.isFinished }) { usleep(10_000) }
        #expect(failures.withLock { $0 } == [])
        let all = claimed.withLock { $0 }
        #expect(all.count == 80 && Set(all).count == 80)
        #expect(try #require(try shared.claim(vault) { _ in 0 }).greatest == 80)
    }
}
