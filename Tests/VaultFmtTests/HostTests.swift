import Foundation
import Synchronization
import Testing
import VaultStore

@testable import VaultFmt

@Suite("Programs that fork and have threads", .serialized)
struct HostTests {
    private func writable(_ path: String, wait: Double) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.lockWait = .seconds(wait)
        return try Vault.open(path, factors: try Fast.rawKey(), options: options)
    }

    private func onThread(_ body: @escaping @Sendable () throws -> Void) throws {
        let failure = Mutex<(any Error)?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            do { try body() } catch { failure.withLock { $0 = error } }
            done.signal()
        }
        thread.start()
        done.wait()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    @Test(
        "find a transaction with its object and not with a thread: others wait for a limited time, and any of them may end it (C7, H9)"
    )
    func openTransactions() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try Fast.create(path)
        let vault = try writable(path, wait: 0.05)
        let (a, b) = (try password("s", "a"), try password("s", "b"))
        let open = Mutex<OpenTransaction?>(nil)
        try onThread {
            let begun = try vault.begin()
            _ = try begun.perform { (transaction) throws(VaultError) in
                try transaction.set(a, secret: Secret(text: "1"))
            }
            open.withLock { $0 = begun }
        }
        // A new thread may be given what the old one's was called by.
        try onThread {
            #expect(open.withLock { $0?.isOfThisThread } == false)
            fails(.busy) { try vault.put(b, "lost") }
            fails(.busy) { _ = try vault.begin() }
            fails(.busy) { _ = try vault.stateSnapshot() }
        }
        try open.withLock { try $0?.commit() }
        fails(.invalidArgument) { try open.withLock { try $0?.commit() } }
        fails(.invalidArgument) { try open.withLock { try $0?.rollBack() } }
        #expect(try vault.text(a) == "1")
        // Its last user has gone: it is rolled back.
        try onThread {
            let begun = try vault.begin()
            _ = try begun.perform { (transaction) throws(VaultError) in try transaction.remove(a) }
        }
        try vault.put(b, "2")
        #expect(try vault.allItems().count == 2)
        #expect(try vault.verify().isSound)
    }

    @Test("wait for another thread's closure no longer than for another process, and not at all for their own (C7)")
    func closures() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try Fast.create(path)
        let vault = try writable(path, wait: 0.05)
        let key = try password("s", "a")
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(key, secret: Secret(text: "1"))
            fails(.invalidArgument) { try vault.put(key, "own") }
            do {
                try onThread { fails(.busy) { try vault.put(key, "other") } }
            } catch { Issue.record(error) }
        }
        #expect(try vault.text(key) == "1")
    }

    /// A process with one thread forks, which this one, with those of all tests, must not.
    @Test(
        "leave a vault to the process that opened it: a child gets otherProcess, writes nothing and releases no lock (C2, C3)",
        arguments: ["handles", "transaction", "closure"])
    func forks(_ name: String) throws {
        let folder = try Folder()
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("ForkingProgram")
        process.arguments = [name, folder.file("a.vault")]
        process.standardOutput = output
        try process.run()
        let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(said == "\(name): right\n" && process.terminationStatus == 0, "\(process.terminationStatus)")
    }

    /// As for `forks`; what the library's threads are for is in Tests/Programs/ForkingProgram/Workers.swift.
    @Test(
        "divide work between threads in a child too, and fork while others do (C2, C4)",
        arguments: ["workers", "forksAndWorkers", "waiting"])
    func forkedWorkers(_ name: String) throws { try forks(name) }

    @Test("have memory that was promised: what is too much is outOfMemory before anything is allocated (C9, H12)")
    func memory() throws {
        let tooMuch = 1 << 46
        fails(.outOfMemory) { _ = try Memory.bytes(tooMuch) }
        fails(.outOfMemory) { _ = try Secret(allocating: tooMuch) }
        #expect(try Memory.bytes(1 << 20).count == 1 << 20)
    }
}
