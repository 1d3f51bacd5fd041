import CVaultShim
import Glibc
import VaultConsole
import VaultExchange

/// Prepares the process before it does anything else: it makes sure that the standard descriptors are open, and that
/// the system does not leak secrets from memory.
enum ProcessGuard {
    /// Opens any closed standard descriptors first, so that no other file gets their numbers, then turns off core dumps
    /// and inspection and sets signal actions.
    static func start() {
        let filled = vault_fill_standard_descriptors()
        // No descriptor is left on which to report the failure.
        if filled < 0 { exit(ExitStatus.io.rawValue) }
        harden()
    }

    /// Turns off core dumps and inspection by other processes, and restores the default action of crash signals,
    /// because Swift's backtracer would print memory. SIGPIPE terminates the process even if its parent ignored the
    /// signal, so that the process exits quietly when a pipe is closed.
    private static func harden() {
        let result = vault_harden_process()
        if result < 0 {
            Terminal.warning("core dumps could not be turned off: \(Descriptor.message(-result))")
        }
        for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT, SIGFPE, SIGPIPE] {
            Glibc.signal(signal, SIG_DFL)
        }
        // With a handler, a write beyond the file size limit fails with an error. Unlike SIG_IGN, a handler is not
        // inherited by the programs that this one starts.
        Glibc.signal(SIGXFSZ) { _ in }
    }
}
