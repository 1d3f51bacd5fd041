import ArgumentParser

/// `vaultfmt help`: the argument parser's own knows commands only; this one knows topics too, and names the nearest
/// where a word is neither.
enum Help {
    /// The help that the arguments ask for, or nil where they ask for something else.
    static func answer(to arguments: [String]) throws -> String? {
        guard arguments.first == "help" else { return nil }
        let words = arguments.dropFirst().filter { !$0.hasPrefix("-") }
        switch words {
        case ["exit-codes"]: return HelpTopics.exitCodes
        case ["environment"]: return HelpTopics.environment
        default: break
        }
        if words == ["help"] { return Vaultfmt.helpMessage() }
        if let message = CommandNames.misspelling(in: words) { throw CommandFailure(.usage, message) }
        return Vaultfmt.helpMessage(for: CommandNames.command(in: words))
    }
}
