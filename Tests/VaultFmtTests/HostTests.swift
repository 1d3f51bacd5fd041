import CTestSupport
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

    /// The exit code of a child that runs `body`; 99 for an error, 128 and more for a signal.
    private func inChild(_ body: () throws -> Int32) -> Int32 {
        let pid = test_fork()
        if pid == 0 {
            // Dispatch's threads block signals.
            var alarms = sigset_t()
            sigemptyset(&alarms)
            sigaddset(&alarms, SIGALRM)
            pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
            alarm(60)
            do { _exit(try body()) } catch { _exit(99) }
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return test_exit_status(status)
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

    @Test(
        "leave a vault to the process that opened it: a child gets otherProcess, writes nothing and releases no lock (C2, C3)"
    )
    func forks() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try password("s", "a")
        try vault.put(key, "1")
        let cursor = try vault.items()
        let code = inChild {
            var refused: Int32 = 0
            func check(_ body: () throws(VaultError) -> Void) {
                do throws(VaultError) { try body() } catch { if error.code == .otherProcess { refused += 1 } }
            }
            check { () throws(VaultError) in _ = try vault.item(key) }
            check { () throws(VaultError) in _ = try vault.get(key) }
            check { () throws(VaultError) in try vault.set(key, secret: Secret(text: "child")) }
            check { () throws(VaultError) in try vault.refresh() }
            check { () throws(VaultError) in _ = try vault.begin() }
            check { () throws(VaultError) in
                var cursor = cursor
                _ = try cursor.next()
            }
            // What is only in memory can be asked for, and wiped.
            guard vault.anchor.generation == 2, !vault.isLocked else { return 50 }
            vault.lock()
            guard vault.isLocked else { return 51 }
            let own = try Fast.open(path)
            guard try own.text(key) == "1" else { return 52 }
            try own.put(key, "child's own")
            return refused
        }
        #expect(code == 6)
        #expect(!vault.isLocked)
        let other = try writable(path, wait: 0.02)
        let inherited = try vault.begin()
        _ = try inherited.perform { (transaction) throws(VaultError) in
            try transaction.set(key, secret: Secret(text: "parent"))
        }
        let second = inChild {
            do throws(VaultError) { try inherited.commit() } catch { return error.code == .otherProcess ? 0 : 1 }
            return 2
        }
        #expect(second == 0)
        fails(.busy) { try other.put(key, "other") }
        try inherited.commit()
        #expect(try vault.text(key) == "parent")
        try other.put(key, "other")
        #expect(try other.verify().isSound)
    }

    @Test("give a child its parent's closure, which changes nothing there (C2)")
    func forkedClosures() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let other = try writable(path, wait: 0.02)
        let key = try password("s", "a")
        var code: Int32 = -1
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(key, secret: Secret(text: "1"))
            code = inChild {
                do throws(VaultError) {
                    try transaction.set(key, secret: Secret(bytes: [UInt8](repeating: 1, count: 2 << 20)))
                } catch {
                    return error.code == .otherProcess ? 0 : 1
                }
                return 2
            }
            fails(.busy) { try other.put(key, "other") }
        }
        #expect(code == 0)
        #expect(try vault.text(key) == "1")
    }

    @Test("divide work between threads in a child too, also with what the parent has used (C2)")
    func forkedWorkers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Fast.create(path).transaction { (transaction) throws(VaultError) in
            for number in 0..<1000 { try transaction.add(try password("s", "\(number)"), secret: Secret(text: "x")) }
        }
        let workers = Workers(4)
        func sum() -> Int { workers.map(100) { part, _ in part }.reduce(0, +) }
        #expect(sum() == 4950)
        let code = inChild {
            guard sum() == 4950, sum() == 4950 else { return 50 }
            var options = OpenOptions()
            options.threads = 8
            var count: Int32 = 0
            let own = try Vault.open(path, factors: try Fast.rawKey(), options: options)
            try own.forEachSecret { (_, _) throws(VaultError) in count += 1 }
            return count == 1000 ? 0 : 51
        }
        #expect(code == 0)
        #expect(sum() == 4950)
    }

    @Test("fork while calls start, use and end threads of the library: neither waits for the other for ever (C4)")
    func forksAndWorkers() throws {
        let code = inChild {
            let left = Shared()
            for _ in 0..<3 {
                Thread.detachNewThread {
                    for _ in 0..<150 { ForkGate.inside { _ = Workers(3).map(2) { part, _ in part } } }
                    left.number.withLock { $0 += 1 }
                }
            }
            while left.number.withLock({ $0 }) < 3 {
                let pid = test_fork()
                if pid == 0 { _exit(0) }
                while waitpid(pid, nil, 0) < 0, errno == EINTR {}
            }
            return 0
        }
        #expect(code == 0)
    }

    @Test("let a child's threads wait for each other, for what its parent has used (C2)")
    func forkedWaiting() throws {
        let guarded = Shared()
        guarded.number.withLock { $0 += 1 }
        let code = inChild {
            let done = DispatchSemaphore(value: 0)
            guarded.number.withLock { number in
                Thread.detachNewThread {
                    guarded.number.withLock { $0 += 1 }
                    done.signal()
                }
                // The other thread has begun to wait.
                usleep(100_000)
                number += 1
            }
            done.wait()
            return guarded.number.withLock { Int32($0) }
        }
        #expect(code == 3)
    }

    @Test("have memory that was promised: what is too much is outOfMemory before anything is allocated (C9, H12)")
    func memory() throws {
        let tooMuch = 1 << 46
        fails(.outOfMemory) { _ = try Memory.bytes(tooMuch) }
        fails(.outOfMemory) { _ = try Secret(allocating: tooMuch) }
        #expect(try Memory.bytes(1 << 20).count == 1 << 20)
    }
}

private final class Shared: Sendable {
    let number = Guarded(0)
}
