import CVaultShim

/// The words that this process was started with. Swift's own `CommandLine` is empty where a preloaded library has moved
/// the environment.
enum ProcessArguments {
    /// The program's name and its arguments; what is not UTF-8 is repaired.
    static var all: [String] {
        (0..<vault_argument_count()).map { vault_argument($0).map { String(cString: $0) } ?? "" }
    }

    /// Whether all of them are UTF-8: of a repaired one, an item of another name would be meant.
    static var areText: Bool {
        (0..<vault_argument_count()).allSatisfy { vault_argument($0).flatMap { String(validatingCString: $0) } != nil }
    }
}
