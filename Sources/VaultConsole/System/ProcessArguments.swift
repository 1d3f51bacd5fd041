import CVaultShim

/// The arguments this process was started with. Swift's own `CommandLine` is empty if a preloaded library has moved the
/// environment.
package enum ProcessArguments {
    /// The program's name and its arguments, with invalid UTF-8 repaired.
    package static var all: [String] {
        (0..<vault_argument_count()).map { vault_argument($0).map { String(cString: $0) } ?? "" }
    }

    /// True if all arguments are valid UTF-8. A repaired argument would refer to an item with a different name.
    package static var areText: Bool {
        (0..<vault_argument_count()).allSatisfy { vault_argument($0).flatMap { String(validatingCString: $0) } != nil }
    }
}
