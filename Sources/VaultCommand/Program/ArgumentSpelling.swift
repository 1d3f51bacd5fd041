/// Two options take a value that may be left out: `--generate[=LENGTH]` and `--clip [SECONDS]`. The argument parser
/// would take the next word as their value, which may be an item's name; so the value that is meant is spelled out
/// first.
enum ArgumentSpelling {
    /// The arguments with both options in the form `--option=value`, and a vault that is named before the command
    /// behind it.
    static func normalized(_ all: [String]) -> [String] {
        let arguments = CommandNames.vaultAfterCommand(all)
        guard arguments.contains("--generate") || arguments.contains("--clip") else { return arguments }
        var result: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            let isValue = result.last.map(takesValue) ?? false
            switch argument {
            case "--generate" where !isValue: result.append("--generate=\(PasswordGenerator.standardLength)")
            case "--clip" where !isValue:
                let seconds = rest.first.flatMap { UInt32($0) }
                if seconds != nil { rest = rest.dropFirst() }
                result.append("--clip=\(seconds.map(Int.init) ?? Clipboard.standardSeconds)")
            default: result.append(argument)
            }
        }
        return result
    }

    /// Whether the word is an option whose value is the next word: all are, but for those with `=` and the flags of
    /// these commands.
    private static func takesValue(_ word: String) -> Bool {
        guard word.hasPrefix("-"), !word.contains("=") else { return false }
        return ![
            "--exact", "--no-input", "--json", "--force", "--allow-empty", "--synchronizable", "--no-synchronizable",
            "--yes", "--help",
            "-h",
        ].contains(
            word)
    }
}
