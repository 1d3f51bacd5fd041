import ArgumentParser

/// Adds the topics of `help` to the argument parser's completion scripts, which complete the command but not its
/// topics.
enum CompletionScript {
    /// Whether the arguments ask for a script.
    static func isAsked(_ arguments: [String]) -> Bool {
        arguments.first?.hasPrefix("--generate-completion-script") ?? false
    }

    /// Returns a script that also completes topics and commands after `vaultfmt help`.
    /// - `script`: The argument parser's script, for bash, zsh or fish.
    static func withTopics(_ script: String) -> String {
        let commands = CommandList.commands(of: Vaultfmt.self).map { $0._commandName }
        let words = (HelpTopics.names + commands).joined(separator: " ")
        if script.hasPrefix("#compdef") {
            return script.replacing("'*:subcommands:'", with: "'*:topic:(\(words))'")
        }
        let inBash = "_vaultfmt_help() {\n"
        guard !script.contains(inBash) else {
            return script.replacing(
                inBash, with: inBash + "    COMPREPLY+=($(compgen -W '\(words)' -- \"${cur}\"))\n")
        }
        let inFish = "complete -c 'vaultfmt' -n '__vaultfmt_should_offer_completions_for_positional"
        guard script.contains(inFish) else { return script }
        return script + "\n\(inFish) \"vaultfmt help\" -eq 1' -fa '\(words)'"
    }
}
