internal import Glibc
internal import TestSupport

/// What is secret is not in a process's memory once it need not be.
extension Part {
    static let memory = Part(
        name: "memory", about: "passphrases, keys and secrets in memory after lock, close and the end of each command"
    ) { run in
        var numbers = run.numbers()
        try LibraryMemory.check(run, &numbers)
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY") else {
            return run.skip(
                "the commands: VAULTFMT_RELEASE_BINARY does not say where the command is (Tools/harness does)")
        }
        guard geteuid() == 0, Privilege.readsHardened else {
            return run.skip("the commands: a hardened process shows its memory to root with CAP_SYS_PTRACE alone")
        }
        try CommandMemory(run, String(cString: binary), &numbers).check()
    }
}
