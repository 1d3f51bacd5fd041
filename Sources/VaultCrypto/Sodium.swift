internal import CSodium

/// libsodium must be initialised before anything else of it is used.
enum Sodium {
    /// True once it is; initialising never fails but where the system has no random source, and then nothing must go
    /// on.
    static let isReady: Bool = {
        precondition(sodium_init() >= 0, "libsodium could not be initialised")
        return true
    }()
}
