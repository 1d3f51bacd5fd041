internal import Glibc
internal import TestSupport
internal import VaultFmt

/// The library, in a process that does one thing after the other and waits to be looked at in between.
enum LibraryMemory {
    static let role = "memory-library"

    /// What the threat model says of a locked vault: it keeps what reads metadata and checks newer states, and the keys
    /// of items that survive locking.
    private static let keptLocked: Set<String> = [
        "the index key", "the owner key", "the key of items after-first-unlock", "the key of items always",
    ]

    static func check(_ run: PartRun, _ numbers: inout Numbers) throws {
        let folder = try Folder()
        let known = try KnownSecrets(folder.file("a.vault"), &numbers)
        let process = try Conversation([role, known.path])
        let before = try known.needles()
        for state in ["open", "locked", "unlocked", "closed"] {
            if state == "open" || state == "unlocked" { process.say(known.passphrase) }
            let heard = process.hear()
            guard heard == state else { return run.fail("the process says '\(heard ?? "nothing")', not '\(state)'") }
            let needles = try before + known.needles().filter { now in !before.contains { $0.bytes == now.bytes } }
            let found = try ProcessMemory(pid: process.pid).find(needles)
            run.count(needles.count)
            switch state {
            case "open", "unlocked":
                // The scanner finds what is there; and what opening needed is gone.
                for name in ["the vault key", "the index key", "the key of items when-unlocked"] {
                    run.check(found[name] != nil, "\(state): \(name) is not found")
                }
                for needle in needles where needle.name.hasPrefix("the secret") || needle.name == "the passphrase" {
                    run.check(found[needle.name] == nil, "\(state): \(needle.name) is in memory")
                }
            default:
                let allowed = state == "locked" ? keptLocked : []
                for (name, hit) in found where !allowed.contains(name) {
                    run.fail("\(state): \(name) is in memory, \(hit.count) times, first in \(hit.place)")
                }
                for name in allowed { run.check(found[name] != nil, "locked: \(name) is gone, which reading needs") }
            }
            process.say("")
        }
        run.check(process.wait() == 0, "the process failed")
    }

    /// `PATH`, and twice the passphrase on standard input.
    static func run(_ arguments: [String]) -> Int32 {
        guard let path = arguments.first else { return 2 }
        do {
            var vault: Vault? = try opened(path)
            try use(vault)
            show("open")
            vault?.lock()
            show("locked")
            try vault?.unlock(try Factors(passphrase: readLine()))
            try use(vault)
            show("unlocked")
            vault = nil
            show("closed")
            return 0
        } catch {
            report("\(error)")
            return 1
        }
    }

    private static func opened(_ path: String) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        return try Vault.open(path, factors: try Factors(passphrase: readLine()), options: options)
    }

    /// Reads, writes, compacts, verifies; and changes what the vault is opened with to a new slot and back.
    private static func use(_ vault: Vault?) throws {
        guard let vault else { return }
        try vault.forEachSecret { _, _ throws(VaultError) in }
        for name in ["when-unlocked", "after-first-unlock", "always"] { _ = try vault.get(try KnownSecrets.key(name)) }
        try vault.transaction { (transaction) throws(VaultError) in
            guard let opened = try transaction.get(try KnownSecrets.key("when-unlocked")) else { return }
            try transaction.set(try KnownSecrets.key("copy"), secret: opened.secret)
            _ = try transaction.get(try KnownSecrets.key("copy"))
            try transaction.update(try KnownSecrets.key("copy"), attributes: AttributeChanges(set: ["sealed:x": "y"]))
            _ = try transaction.remove(try KnownSecrets.key("copy"))
        }
        let slot = try vault.addSlot(try Keys.factors(1), grantedGroups: [""]).id
        try vault.removeSlot(slot)
        try vault.compact()
        _ = try vault.verify()
        _ = try vault.slots()
    }

    private static func show(_ state: String) {
        report(state)
        _ = readLine()
    }

    private static func readLine() -> Secret {
        var line = Secret(count: 200)
        var count = 0
        line.withUnsafeMutableBytes { bytes in
            while count < bytes.count, read(STDIN_FILENO, bytes.baseAddress?.advanced(by: count), 1) == 1,
                bytes[count] != 0x0A
            {
                count += 1
            }
        }
        return line.prefix(count)
    }
}
