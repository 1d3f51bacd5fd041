internal import CTestSupport
internal import Dispatch
internal import Foundation
internal import VaultFmt
internal import VaultStore

// Forks next to the library's own threads.

private final class Shared: Sendable {
    let number = Guarded(0)
}

/// A child divides work between threads too, also with what its parent has used.
func workers(_ vault: Vault) throws {
    try vault.transaction { (transaction) throws(VaultError) in
        for number in 0..<1000 {
            let key = try ItemKey.genericPassword(service: "s", account: "\(number)")
            try transaction.add(key, secret: Secret(text: "x"))
        }
    }
    let path = vault.path
    let workers = Workers(4)
    func sum() -> Int { workers.map(100) { part, _ in part }.reduce(0, +) }
    try expect(sum() == 4950, "the parent's threads do all parts")
    let code = inChild {
        guard sum() == 4950, sum() == 4950 else { return 50 }
        var options = OpenOptions()
        options.threads = 8
        var count: Int32 = 0
        let own = try Vault.open(path, factors: try factors(), options: options)
        try own.forEachSecret { (_, _) throws(VaultError) in count += 1 }
        return count == 1000 ? 0 : 51
    }
    try expect(code == 0, "the child's threads do all parts (\(code))")
    try expect(sum() == 4950, "the parent's threads still do all parts")
}

/// Calls start, use and end threads of the library while another thread forks: neither waits for the other for ever.
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
            _ = test_wait(pid)
        }
        return 0
    }
    try expect(code == 0, "threads and forks end (\(code))")
}

/// A child's threads wait for each other, for what its parent has used.
func waiting() throws {
    let guarded = Shared()
    guarded.number.withLock { $0 += 1 }
    let code = inChild {
        let done = DispatchSemaphore(value: 0)
        guarded.number.withLock { number in
            Thread.detachNewThread {
                guarded.number.withLock { $0 += 1 }
                done.signal()
            }
            // Most often the other thread has begun to wait; what is checked holds in either order.
            usleep(100_000)
            number += 1
        }
        done.wait()
        return guarded.number.withLock { Int32($0) }
    }
    try expect(code == 3, "both threads count (\(code))")
}
