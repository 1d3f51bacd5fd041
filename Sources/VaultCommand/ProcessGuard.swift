import CVaultShim
import Glibc

/// Keeps secrets in this process's memory from leaving it by way of the system.
enum ProcessGuard {
    /// Turns off core dumps and inspection by other processes, and gives crash signals back to the kernel, for Swift's backtracer would
    /// print memory. SIGPIPE ends the process, also where a parent had it ignored: a closed pipe ends it quietly.
    static func start() {
        let result = vault_harden_process()
        if result < 0 {
            Terminal.warning("core dumps could not be turned off: \(Descriptor.message(-result))")
        }
        for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT, SIGFPE, SIGPIPE] {
            Glibc.signal(signal, SIG_DFL)
        }
    }
}
