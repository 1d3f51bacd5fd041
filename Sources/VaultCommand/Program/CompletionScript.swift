import ArgumentParser

/// Extends the argument parser's completion scripts with the topics of `help`, aliases and synonyms of commands, and a
/// vault that is named before the command.
///
/// Everything is taken from the commands' configurations and from `Synonyms`.
enum CompletionScript {
    /// Returns whether the arguments request a script.
    static func isAsked(_ arguments: [String]) -> Bool {
        arguments.first?.hasPrefix("--generate-completion-script") ?? false
    }

    /// Returns a script with these additions.
    /// - `script`: The argument parser's script, for bash, zsh or fish.
    static func completed(_ script: String) -> String {
        if script.hasPrefix("#compdef") { return zsh(script) }
        return script.hasPrefix("#!/bin/bash") ? bash(script) : fish(script)
    }

    private static let vaultMeaning = "The vault."

    private static var helpWords: String {
        (HelpTopics.names + CommandList.commands(of: Vaultfmt.self).map { $0._commandName }).joined(separator: " ")
    }

    private static func bash(_ script: String) -> String {
        let inHelp = "_vaultfmt_help() {\n"
        let noOptions = "non_repeating_options=()\n"
        let inGroup = """
                __vaultfmt_offer_flags_options 0

                # Offer subcommand / subcommand argument completions

            """
        let vaultInGroup = """
                __vaultfmt_offer_flags_options 0

                # Offer option value completions
                case "${prev}" in
                '-f'|'--vault')
                    __vaultfmt_add_completions -f
                    return
                    ;;
                esac

                # Offer subcommand / subcommand argument completions

            """
        // bash treats the sign in --option=value as a separate word.
        let inValue = "        if \"${is_parsing_option_value}\"; then\n"
        let signInValue = """
                        if [[ "${unparsed_words[${word_index}]}" = '=' ]]; then
                            unset "unparsed_words[${word_index}]"
                            continue
                        fi

            """
        let previous = "    local -r prev=\"${3}\"\n"
        let previousOption = """
                local prev="${3}"
                if [[ "${prev}" = '=' && "${COMP_CWORD}" -ge 2 ]]; then
                    prev="${COMP_WORDS[COMP_CWORD - 2]}"
                fi
                local -r prev

            """
        let text =
            script
            .replacing(
                inHelp, with: inHelp + "    COMPREPLY+=($(compgen -W '\(helpWords)' -- \"${cur}\"))\n"
            )
            .replacing(
                noOptions + inGroup, with: "non_repeating_options=(-f --vault)\n" + vaultInGroup
            )
            .replacing(inValue, with: inValue + signInValue)
            .replacing(previous, with: previousOption)
        return withOtherNames(text) { function in
            "\n        # Offer subcommand argument completions\n        \"\(function)_${subcommand}\"\n"
        }
    }

    private static func zsh(_ script: String) -> String {
        let inGroup = "        '(-): :->command'\n"
        // The signs indicate that a value may follow in the same word.
        let vault = "{-f+,--vault=}'"
        let text =
            script
            .replacing("'*:subcommands:'", with: "'*:topic:(\(helpWords))'")
            .replacing("{-f,--vault}'", with: vault)
            .replacing(inGroup, with: "        '(-f --vault)'\(vault)[\(vaultMeaning)]:file:_files'\n" + inGroup)
        return withOtherNames(text) { function in "\n            \"\(function)_${words[1]}\" && ret=0\n" }
    }

    /// Adds other names of commands to a script for bash or zsh, each with a function that calls the command's.
    /// - `call`: The lines that call the functions of a group's commands, after the pattern of their names.
    private static func withOtherNames(_ script: String, call: (String) -> String) -> String {
        var text = script
        var functions = ""
        for group in CommandNames.groups() {
            let others = CommandNames.otherNames(in: group)
            guard !others.isEmpty else { continue }
            let lines = ")" + call(function(group))
            text = text.replacing(lines, with: "|" + others.map(\.name).joined(separator: "|") + lines)
            for other in others {
                functions += "\(function(group + [other.name]))() {\n    \(function(other.path)) \"${@}\"\n}\n\n"
            }
        }
        let root = "_vaultfmt() {\n"
        return text.replacing("\n" + root, with: "\n" + functions + root)
    }

    /// Returns the function that completes a command.
    private static func function(_ path: [String]) -> String { (["_vaultfmt"] + path).joined(separator: "_") }

    private static func fish(_ script: String) -> String {
        let endOfParsing = "\"$positional_count\" \\) && break\n    end\n"
        var names = ""
        var options = ""
        var text = script
        for group in CommandNames.groups() {
            let path = (["vaultfmt"] + group).joined(separator: " ")
            for other in CommandNames.otherNames(in: group) {
                let command = other.path.dropFirst(group.count).joined(separator: " ")
                names += "    case '\(path) \(other.name)'\n"
                names += "        set unparsed_tokens \(command) $unparsed_tokens[2..]\n"
            }
            options += """

                complete -c 'vaultfmt' -n '__vaultfmt_should_offer_completions_for_flags_or_options "\(path)" f vault' \
                -s 'f' -l 'vault' -d '\(vaultMeaning)' -rF
                """
            let before = "__vaultfmt_parse_subcommand 0 'version' 'h/help'"
            let after = "\n" + String(repeating: " ", count: 4 * (group.count + 2)) + "switch $unparsed_tokens[1]\n"
            text = text.replacing(before + after, with: before + " 'f/vault=+'" + after)
        }
        text = text.replacing(
            endOfParsing, with: endOfParsing + "    switch \"$commands $unparsed_tokens[1]\"\n\(names)    end\n")
        let isInHelp = "__vaultfmt_should_offer_completions_for_positional \"vaultfmt help\" -eq 1"
        return text + options + "\ncomplete -c 'vaultfmt' -n '\(isInHelp)' -fa '\(helpWords)'"
    }
}
