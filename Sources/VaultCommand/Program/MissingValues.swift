import VaultConsole

/// Throws an error if another option is written in place of an option's value: the argument parser would use it as the
/// value, because names and paths may begin with a dash (`NextWord.swift`).
enum MissingValues {
    /// - `arguments`: Normalized arguments, without the program's name.
    /// - Throws: `ExitStatus.usage`, naming both options.
    static func refuse(in arguments: [String]) throws {
        let words = arguments.prefix { $0 != "--" }
        let isEnded = words.count < arguments.count
        // Describing a command takes longer than parsing its arguments.
        let isSuspect = zip(words, words.dropFirst()).contains { word, next in
            next.hasPrefix("-") && ArgumentSpelling.takesValue(word)
        }
        let isSuspectEnd = isEnded && (words.last.map(ArgumentSpelling.takesValue) ?? false)
        guard isSuspect || isSuspectEnd else { return }
        let options = try CommandDescription(of: CommandNames.command(in: arguments)).arguments ?? []
        let names = Set(options.flatMap { $0.names ?? [] }.map(\.text))
        var rest = words
        while let word = rest.popFirst() {
            let option = options.first { option in
                option.kind == "option" && option.parsingStrategy == "unconditional"
                    && (option.names ?? []).contains { $0.text == word }
            }
            guard let option else { continue }
            guard let next = rest.popFirst() else {
                guard isEnded else { return }
                throw CommandFailure(
                    .usage,
                    "missing value for '\(option.shortSpelling)': the next word, '--', ends the options; "
                        + "if it is meant as the value, write \(option.shortSpelling)=--")
            }
            let name = String(next.prefix { $0 != "=" })
            guard names.contains(name) else { continue }
            throw CommandFailure(
                .usage,
                "missing value for '\(option.shortSpelling)': the next word, '\(name)', is an option; "
                    + "if it is meant as the value, write \(option.shortSpelling)=\(name)")
        }
    }
}
