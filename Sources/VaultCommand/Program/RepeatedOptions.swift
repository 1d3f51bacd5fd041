import VaultConsole

/// Throws an error if an option that takes one value is given twice: the argument parser would use the last value and
/// silently ignore the others.
enum RepeatedOptions {
    /// The short forms of options that take a value.
    private static let short = ["-f": "--vault", "-o": "--output"]

    /// - `arguments`: Normalized arguments, without the program's name.
    /// - Throws: `ExitStatus.usage`, naming the option.
    static func refuse(in arguments: [String]) throws {
        let names = arguments.prefix { $0 != "--" }.map { short[$0] ?? $0 }.filter { $0.hasPrefix("--") }
            .map { String($0.prefix { $0 != "=" }) }
        let repeated = names.filter { name in names.count { $0 == name } > 1 }
        // Describing a command takes longer than parsing its arguments.
        guard !repeated.isEmpty else { return }
        let options = try CommandDescription(of: CommandNames.command(in: arguments)).arguments ?? []
        for option in options where option.kind == "option" && !option.isRepeating {
            guard let name = (option.names ?? []).map(\.text).first(where: repeated.contains) else { continue }
            throw CommandFailure(.usage, "\(name) is given twice, but takes only one value; leave one out")
        }
    }
}
