import VaultArguments
import VaultConsole

/// Two options take optional values: `--generate[=LENGTH]` and `--clip[=SECONDS]`. The argument parser would use the
/// next word as the value even if it is an item's name, so the values are made explicit before parsing.
enum ArgumentSpelling {
    /// The options whose values may be omitted.
    static let withOptionalValue = ["--generate", "--clip"]

    /// Returns the arguments with both options in the form `--option=value`, a leading vault option moved behind the
    /// command, and other programs' words replaced by ours.
    /// - Throws: `ExitStatus.usage` for a number after one of the two options, because the number may be the option's
    ///   value or an item's name.
    static func normalized(_ all: [String]) throws -> [String] {
        if let driver = mergeDriver(all) { return driver }
        let arguments = CommandNames.withoutSynonym(CommandNames.vaultAfterCommand(all))
        let names = withOptionalValue + ["-c", "--help-all"]
        guard arguments.contains(where: { word in names.contains { word == $0 || word.hasPrefix($0 + "=") } }) else {
            return arguments
        }
        var result: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            let isValue = result.last.map(takesValue) ?? false
            switch argument {
            case "--generate" where !isValue:
                guard rest.first.flatMap({ UInt32($0) }) == nil else { throw numberAfterGenerate(arguments) }
                result.append("--generate=\(PasswordGenerator.standardLength)")
            // If the argument parser cannot read the value, it treats the option as an option without a value.
            case _ where !isValue && argument.hasPrefix("--generate=") && UInt32(argument.dropFirst(11)) == nil:
                throw CommandFailure(.usage, "invalid value for '--generate'; specify a length, as in --generate=24")
            case _ where !isValue && argument.hasPrefix("--clip=") && UInt32(argument.dropFirst(7)) == nil:
                throw CommandFailure(.usage, "invalid value for '--clip'; specify the seconds, as in --clip=45")
            // The argument parser's name for the option.
            case "--help-all" where !isValue: result.append("--help-hidden")
            case "--clip" where !isValue, "-c" where !isValue:
                guard rest.first.flatMap({ UInt32($0) }) == nil else {
                    throw CommandFailure(
                        .usage,
                        "a number after --clip may be a time or a name; write --clip=SECONDS, or put the name first")
                }
                result.append("--clip=\(Clipboard.standardSeconds)")
            default: result.append(argument)
            }
        }
        return result
    }

    /// Git's call of the merge driver: its last four words are names, which may begin with a dash. Configurations
    /// written by earlier versions do not precede them with `--`.
    private static func mergeDriver(_ all: [String]) -> [String]? {
        guard all.count >= 6, all.starts(with: ["git", "merge-driver"]) else { return nil }
        return all.dropLast(all.dropLast(4).last == "--" ? 5 : 4) + ["--"] + all.suffix(4)
    }

    private static func numberAfterGenerate(_ arguments: [String]) -> CommandFailure {
        CommandFailure(
            .usage,
            arguments.first == "generate"
                ? "unknown option '--generate'; to set the length, write 'vaultfmt generate --length 24'"
                : "a number after --generate may be a length or a name; write --generate=LENGTH, or put the name first")
    }

    /// The flags of all commands, except `--version`, which takes a value in some commands. They are listed because
    /// describing a command takes longer than parsing its arguments; a test compares them with the descriptions.
    static let flags: Set<String> = [
        "--accept", "--accept-dropped", "--accept-old-keys", "--address", "--all", "--allow-empty", "--allow-weak-kdf",
        "--aws", "--confirm", "--conflicts", "--create-group", "--daemon", "--dry-run", "--exact", "--force", "--fresh",
        "--generate-identity", "--git", "--group-from-folder", "--help", "--history", "--include-unproven", "--json",
        "--keys", "--later", "--list-locked", "--lock-with-session", "--mask", "--mix-recipients", "--multiline",
        "--no-ambiguous", "--no-digits", "--no-input", "--no-lowercase", "--no-recovery", "--no-symbols",
        "--no-synchronizable", "--no-uppercase", "--notes", "--on-demand", "--on-terminal", "--open-typed", "--openssh",
        "--otp", "--pem", "--pq", "--recycle-bin", "--remove-key-file", "--remove-passphrase", "--replace", "--reveal",
        "--reverse", "--rotate", "--second-factor", "--synchronizable", "--verbose", "--when-unlocked", "--wide",
        "--with-vault", "--yes", "-h", "-y",
    ]

    /// Returns whether the next word is the option's value: true for all options except flags and those with `=`.
    static func takesValue(_ word: String) -> Bool {
        word.hasPrefix("-") && !word.contains("=") && !flags.contains(word)
    }
}
