import CVaultShim
import Glibc

/// What this process needs before it does anything: standard descriptors, and secrets in memory that do not leave it by
/// way of the system.
enum ProcessGuard {
    /// Fills closed standard descriptors first, so that no file gets their numbers. Then turns off core dumps and
    /// inspection, and sets signals.
    static func start() {
        let filled = vault_fill_standard_descriptors()
        // No descriptor is left to report it on.
        if filled < 0 { exit(ExitStatus.io.rawValue) }
        harden()
    }

    /// Turns off core dumps and inspection by other processes, and gives crash signals back to the kernel, for Swift's
    /// backtracer would print memory. SIGPIPE ends the process, also where a parent had it ignored: a closed pipe ends
    /// it quietly.
    private static func harden() {
        let result = vault_harden_process()
        if result < 0 {
            Terminal.warning("core dumps could not be turned off: \(Descriptor.message(-result))")
        }
        for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT, SIGFPE, SIGPIPE] {
            Glibc.signal(signal, SIG_DFL)
        }
        // A write beyond the limit for files is then an error. A handler, for the programs that this one starts do not
        // inherit it.
        Glibc.signal(SIGXFSZ) { _ in }
    }
}
