internal import CSodium

/// Initializes libsodium, which must happen before any other use of it.
enum Sodium {
    /// True once libsodium is initialized. Initialization fails only if the system has no random number generator; the
    /// program must then not continue.
    static let isReady: Bool = {
        precondition(sodium_init() >= 0, "libsodium could not be initialised")
        return true
    }()
}
