import ArgumentParser
import VaultArguments
import VaultLocal

/// The message for invalid arguments: one line with the option and the next step, but never the value, which may be a
/// secret meant for a prompt.
enum UsageMessage {
    /// Returns the line for an error from the argument parser.
    static func text(_ error: any Error, _ arguments: [String]) -> String {
        if let message = CommandNames.misspelling(in: arguments) { return message }
        let lines = Vaultfmt.message(for: error).split(separator: "\n").map { $0.drop { $0 == " " } }
        let command = CommandNames.path(in: arguments).joined(separator: " ")
        let message = withoutValue(lines, arguments)
        return message.contains("'vaultfmt ") ? message : "\(message); see '\(command) --help'"
    }

    private static func withoutValue(_ lines: [Substring], _ arguments: [String]) -> String {
        let whole = lines.joined(separator: " ")
        let known = [invalidValue, unexpectedArguments, valueOfFlag, unknownOption]
        return known.lazy.compactMap { $0(lines, arguments) }.first ?? sentencePart(whole)
    }

    /// "The value 'V' is invalid for '--port <port>'. Please provide one of 'a' and 'b'."
    private static func invalidValue(_ lines: [Substring], _ arguments: [String]) -> String? {
        let text = lines.joined(separator: " ")
        // The value comes first, and can contain any text.
        guard text.hasPrefix("The value '"), let before = text.ranges(of: "' is invalid for '").last else { return nil }
        let rest = text[before.upperBound...]
        guard let quote = rest.firstIndex(of: "'") else { return nil }
        let option = rest[..<quote]
        let message = "invalid value for '\(option)'"
        guard let choices = rest.firstRange(of: "Please provide one of ") else {
            return ValueForms.form(of: option).map { "\(message): expected \($0)" } ?? message
        }
        let names = rest[choices.upperBound...].replacing("the following:", with: "").replacing("'", with: "")
            .replacing(" - ", with: ", ")
        let list = names.drop { ", ".contains($0) }.drop { $0 == "-" }.trimmingEnd(" .")
        let value = String(text[..<before.lowerBound].dropFirst("The value '".count))
        let all = list.replacing(" and ", with: ", ").replacing(" or ", with: ", ").split(separator: ", ").map(
            String.init)
        guard all.count > 1 else { return "\(message): expected \(list)" }
        guard let nearest = Spelling.nearest(to: value, among: all) else { return "\(message); choose from \(list)" }
        return "\(message); did you mean \(TerminalText.quoted(nearest))? The choices are \(list)"
    }

    /// "Unexpected argument 'V'", "2 unexpected arguments: 'V', 'W'".
    private static func unexpectedArguments(_ lines: [Substring], _ arguments: [String]) -> String? {
        guard let first = lines.first else { return nil }
        guard first.hasPrefix("Unexpected argument ") || first.contains(" unexpected arguments:") else { return nil }
        let path = CommandNames.path(in: arguments)
        if path == ["vaultfmt", "generate"] {
            if arguments.dropFirst().allSatisfy({ UInt32($0) != nil }) {
                return "unexpected argument; to set the length, write 'vaultfmt generate --length 24'"
            }
            return "'generate' takes no name, because it stores nothing; to store a new password, "
                + "see 'vaultfmt set --help'"
        }
        let takes: [String]
        do {
            takes = try CommandDescription(of: CommandNames.command(in: arguments)).entries.filter(\.isPositional)
                .map { ($0.valueName ?? "").uppercased() }
        } catch {
            return "unexpected argument"
        }
        guard !takes.isEmpty else { return "unexpected argument: '\(path.joined(separator: " "))' takes none" }
        return "unexpected argument: '\(path.joined(separator: " "))' takes \(takes.joined(separator: " ")) only"
            + (takes.contains("SERVICE") ? ", and never a secret" : "")
    }

    /// "The option '--json' does not take any value, but 'V' was specified."
    private static func valueOfFlag(_ lines: [Substring], _ arguments: [String]) -> String? {
        let text = lines.joined(separator: " ")
        guard text.hasPrefix("The option '"), let end = text.firstRange(of: "' does not take any value") else {
            return nil
        }
        return "\(text[..<end.lowerBound])' takes no value".replacing("The option", with: "the option")
    }

    /// "Unknown option '--lable'. Did you mean '--label'?"; only the option's own name is shown.
    private static func unknownOption(_ lines: [Substring], _ arguments: [String]) -> String? {
        guard let first = lines.first, first.hasPrefix("Unknown option '") else { return nil }
        var option = String(first.dropFirst("Unknown option '".count).prefix { $0 != "'" })
        // After a single dash, the value follows the letter.
        if !option.hasPrefix("--") { option = String(option.prefix(2)) }
        let shown = TerminalText.quoted(option)
        let command = CommandNames.path(in: arguments).dropFirst().joined(separator: " ")
        if let advice = Synonyms.commandOptionAdvice["\(command) \(option)"] {
            return "there is no option \(shown): \(advice)"
        }
        if Synonyms.secretOptions.contains(option) {
            return "there is no option \(shown): other users can read arguments, so secrets are asked for or piped in"
        }
        if let advice = Synonyms.optionAdvice[option], known(as: option, arguments) == nil {
            return "there is no option \(shown): \(advice)"
        }
        guard let nearest = meant(by: option, arguments) else { return "unknown option \(shown)" }
        return "unknown option \(shown); did you mean '\(nearest)'?"
    }

    /// Returns the option of this command that was probably meant.
    private static func meant(by option: String, _ arguments: [String]) -> String? {
        if let known = known(as: option, arguments) { return known }
        guard option.hasPrefix("--") else { return nil }
        let long = options(arguments).filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
        return Spelling.nearest(to: String(option.dropFirst(2)), among: long).map { "--" + $0 }
    }

    /// Returns the option of this command that corresponds to another program's option.
    private static func known(as option: String, _ arguments: [String]) -> String? {
        Synonyms.options[option].flatMap { options(arguments).contains($0) ? $0 : nil }
    }

    private static func options(_ arguments: [String]) -> [String] {
        do {
            return try CommandDescription(of: CommandNames.command(in: arguments)).entries
                .flatMap { ($0.names ?? []).map(\.text) }
        } catch { return [] }
    }

    /// Converts a sentence for use within a message, without its capital letter and full stop.
    private static func sentencePart(_ text: String) -> String {
        var text = text
        if let first = text.first, first.isUppercase, text.dropFirst().first?.isLowercase == true {
            text = first.lowercased() + text.dropFirst()
        }
        return String(text[...].trimmingEnd("."))
    }
}

extension Substring {
    /// Returns the text without the given characters at its end.
    fileprivate func trimmingEnd(_ characters: String) -> Substring {
        var text = self
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return text
    }
}
