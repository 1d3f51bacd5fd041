internal import CTestSupport
internal import Glibc
internal import VaultFmt

// Forks with a vault open, as a host program may: `ForkingProgram CASE PATH`, in an empty folder. It has one thread, as
// what forks must. It exits with 0 and writes `CASE: right`, or with 1 and a line that says what is wrong.

/// What a case found wrong.
struct Wrong: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

func expect(_ isTrue: Bool, _ what: String) throws {
    guard isTrue else { throw Wrong("not so: \(what)") }
}

func expectBusy(_ body: () throws -> Void) throws {
    do { try body() } catch let error as VaultError where error.code == .busy { return }
    throw Wrong("not so: the vault is busy")
}

/// The exit code of a child that runs `body`; 99 for an error, 128 and more for a signal.
func inChild(_ body: () throws -> Int32) -> Int32 {
    let pid = test_fork()
    if pid == 0 {
        // Dispatch's threads block signals.
        var alarms = sigset_t()
        sigemptyset(&alarms)
        sigaddset(&alarms, SIGALRM)
        pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
        alarm(UInt32(test_patience))
        do { _exit(try body()) } catch { _exit(99) }
    }
    return pid < 0 ? -1 : test_wait(pid)
}

func factors() throws -> Factors { try Factors(rawKey: Secret(bytes: [UInt8](repeating: 0x2B, count: 32))) }

func opened(_ path: String, wait: Double = 600) throws -> Vault {
    var options = OpenOptions()
    options.writable = true
    options.lockWait = .seconds(wait)
    return try Vault.open(path, factors: try factors(), options: options)
}

extension Vault {
    func put(_ key: ItemKey, _ secret: String) throws { try set(key, secret: Secret(text: secret)) }

    func text(_ key: ItemKey) throws -> String? {
        guard let item = try get(key) else { return nil }
        return item.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// A child gets `otherProcess` for all that reads the file or changes it.
func handles(_ vault: Vault, _ key: ItemKey) throws {
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
        guard vault.state.generation == 2, !vault.isLocked else { return 50 }
        vault.lock()
        guard vault.isLocked else { return 51 }
        let own = try opened(vault.path)
        guard try own.text(key) == "1" else { return 52 }
        try own.put(key, "child's own")
        return refused
    }
    try expect(code == 6, "the child is refused six times (\(code))")
    try expect(!vault.isLocked, "the parent's vault is unlocked")
    try expect(try vault.text(key) == "1", "the parent's vault shows what it did")
    try vault.refresh()
    try expect(try vault.text(key) == "child's own", "the child's own vault changed the file")
}

/// A child neither commits an open transaction nor releases its lock.
func transaction(_ vault: Vault, _ key: ItemKey) throws {
    let other = try opened(vault.path, wait: 0.02)
    let inherited = try vault.begin()
    _ = try inherited.perform { (transaction) throws(VaultError) in
        try transaction.set(key, secret: Secret(text: "parent"))
    }
    let code = inChild {
        do throws(VaultError) { try inherited.commit() } catch { return error.code == .otherProcess ? 0 : 1 }
        return 2
    }
    try expect(code == 0, "the child is refused (\(code))")
    try expectBusy { try other.put(key, "other") }
    try inherited.commit()
    try expect(try vault.text(key) == "parent", "the parent's change is there")
    try other.put(key, "other")
    try expect(try other.verify().isSound, "the vault is sound")
}

/// A child changes nothing from within its parent's closure.
func closure(_ vault: Vault, _ key: ItemKey) throws {
    let other = try opened(vault.path, wait: 0.02)
    var code: Int32 = -1
    var isBusy = false
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
        do throws(VaultError) {
            try other.set(key, secret: Secret(text: "other"))
        } catch {
            isBusy = error.code == .busy
        }
    }
    try expect(code == 0, "the child is refused (\(code))")
    try expect(isBusy, "the vault is busy")
    try expect(try vault.text(key) == "1", "the parent's change is there")
}

do {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { throw Wrong("ForkingProgram takes a case and a path") }
    let vault = try Vault.create(at: arguments[2], factors: try factors())
    let key = try ItemKey.genericPassword(service: "s", account: "a")
    switch arguments[1] {
    case "handles": try handles(vault, key)
    case "transaction": try transaction(vault, key)
    case "closure": try closure(vault, key)
    case "workers": try workers(vault)
    case "forksAndWorkers": try forksAndWorkers()
    case "waiting": try waiting()
    default: throw Wrong("no such case: \(arguments[1])")
    }
    print("\(arguments[1]): right")
} catch {
    print("\(error)")
    exit(1)
}
