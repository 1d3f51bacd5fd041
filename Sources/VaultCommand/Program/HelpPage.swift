import ArgumentParser

/// The help of a command. It fits in 40 lines of 80 columns: options shared by many commands are only listed here and
/// described in a topic; if the rest is still too long, descriptions are shortened. `--help-all` describes everything.
struct HelpPage {
    static let mostLines = 40
    /// A section with this many further options is only named, unless everything is requested.
    private static let largeSection = 6
    /// The sections that are described in a topic.
    private static let topics = [
        "Item": "items", "Filters": "items", "Access": "factors", "New factors": "factors",
        "Recipients": "factors", "Key derivation": "factors",
    ]

    /// How much of the description a page contains, from most to least.
    private enum Detail: Int, CaseIterable {
        case whole, largeSectionsNamed, sectionsNamed, shortMeanings, shortDiscussion, gathered
    }

    private let path: String
    private let description: CommandDescription
    private let subcommands: [(name: String, abstract: String)]
    /// True if the command runs a default subcommand, whose options it has.
    private let hasDefault: Bool
    private let layout: HelpLayout

    /// Returns the lines of a command's help.
    /// - `path`: The command as typed, beginning with "vaultfmt".
    /// - `isWhole`: Whether to describe every option, however many lines that takes.
    static func lines(
        of command: any ParsableCommand.Type, path: [String], isWhole: Bool, layout: HelpLayout
    ) throws -> [String] {
        if command == Vaultfmt.self { return try CommandList.page(isWhole: isWhole, layout: layout) }
        let page = HelpPage(
            path: path.joined(separator: " "), description: try CommandDescription(of: command),
            subcommands: CommandList.commands(of: command).map { ($0._commandName, $0.configuration.abstract) },
            hasDefault: command.configuration.defaultSubcommand != nil, layout: layout)
        if isWhole { return page.lines(.whole) }
        let details = Detail.allCases.dropFirst()
        for detail in details {
            let lines = page.lines(detail)
            if lines.count <= mostLines || detail == details.last { return lines }
        }
        return page.lines(.gathered)
    }

    private func lines(_ detail: Detail) -> [String] {
        var lines = layout.paragraph(description.abstract ?? "") + [""] + usage
        let (text, examples) = Self.parts(of: description.discussion ?? "")
        let isBrief = detail == .shortDiscussion || detail == .gathered
        let paragraphs = isBrief ? text.prefix(1).map(Self.firstSentence) : text
        for paragraph in paragraphs { lines += [""] + layout.paragraph(paragraph) }
        if !examples.isEmpty { lines += ["", "Examples:"] + examples.flatMap(layout.commandLine) }
        if !subcommands.isEmpty { lines += ["", "Commands:"] }
        for subcommand in subcommands { lines += layout.definition(subcommand.name, subcommand.abstract) }
        guard detail == .gathered else {
            for (title, entries) in sections { lines += section(title, entries, detail) }
            return lines + ending(detail)
        }
        for (title, entries) in sections where Self.isOwn(title) { lines += section(title, entries, detail) }
        return lines + gatheredSections + ending(detail)
    }

    private static func isOwn(_ title: String) -> Bool { title == "Options" || title == "Arguments" }

    /// The options shared with other commands, named by topic if they have one and otherwise by name.
    private var gatheredSections: [String] {
        let others = sections.filter { !Self.isOwn($0.title) }
        guard !others.isEmpty else { return [] }
        var lines = ["", "More options:"]
        for (title, entries) in others where Self.topics[title] == nil {
            let names = entries.map(\.shortSpelling).joined(separator: " ")
            lines += layout.paragraph("\(title): \(names)", indent: 2, hanging: 2)
        }
        var titles: [(topic: String, titles: [String])] = []
        for title in others.map(\.title) {
            guard let topic = Self.topics[title] else { continue }
            if let index = titles.firstIndex(where: { $0.topic == topic }) {
                titles[index].titles.append(title)
            } else {
                titles.append((topic, [title]))
            }
        }
        return lines
            + titles.map { "  \($0.titles.joined(separator: ", ")): see 'vaultfmt help \($0.topic)'" }
    }

    /// Arguments and options under their titles; this command's own come first.
    private var sections: [(title: String, entries: [CommandDescription.Entry])] {
        var sections: [(title: String, entries: [CommandDescription.Entry])] = [("Arguments", []), ("Options", [])]
        for entry in description.entries {
            let title = entry.sectionTitle ?? (entry.isPositional ? "Arguments" : "Options")
            if let index = sections.firstIndex(where: { $0.title == title }) {
                sections[index].entries.append(entry)
            } else {
                sections.append((title, [entry]))
            }
        }
        return sections.filter { !$0.entries.isEmpty }
    }

    private func section(_ title: String, _ entries: [CommandDescription.Entry], _ detail: Detail) -> [String] {
        let isOwn = Self.isOwn(title)
        let isNamed: Bool
        switch detail {
        case .whole: isNamed = false
        case .largeSectionsNamed: isNamed = !isOwn && (entries.count > Self.largeSection || Self.topics[title] != nil)
        case .sectionsNamed, .shortMeanings, .shortDiscussion, .gathered: isNamed = !isOwn
        }
        guard isNamed else {
            return ["", "\(title):"]
                + entries.flatMap { layout.definition($0.spelling, Self.meaning($0, detail)) }
        }
        let topic = Self.topics[title].map { " (see 'vaultfmt help \($0)')" } ?? ""
        return ["", "\(title)\(topic):"] + layout.names(entries.map(\.shortSpelling))
    }

    private var usage: [String] {
        let words = description.entries.filter(\.isPositional).map(\.inUsage)
        let hasOptions = description.entries.contains { !$0.isPositional }
        // Arguments after "--" come last.
        let (before, after) = (words.filter { !$0.contains("-- ") }, words.filter { $0.contains("-- ") })
        let all =
            subcommands.isEmpty
            ? before + (hasOptions ? ["[options]"] : []) + after
            : [hasDefault ? "[<command>]" : "<command>", "[options]"]
        return layout.paragraph("USAGE: " + ([path] + all).joined(separator: " "), hanging: 7)
    }

    private func ending(_ detail: Detail) -> [String] {
        guard detail != .whole, subcommands.isEmpty || hasDefault else { return [] }
        return ["", "'\(path) --help-all' describes every option."]
    }

    /// The paragraphs of a discussion, and its examples.
    static func parts(of discussion: String) -> (text: [String], examples: [String]) {
        guard let heading = discussion.firstRange(of: "Examples:\n") else {
            return (paragraphs(discussion), [])
        }
        let examples = discussion[heading.upperBound...].split(separator: "\n").map { String($0.drop { $0 == " " }) }
        return (paragraphs(String(discussion[..<heading.lowerBound])), examples.filter { !$0.isEmpty })
    }

    private static func paragraphs(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .split { $0.allSatisfy { $0 == " " } }
            .map { $0.joined(separator: " ") }
    }

    private static func meaning(_ entry: CommandDescription.Entry, _ detail: Detail) -> String {
        switch detail {
        case .whole, .largeSectionsNamed, .sectionsNamed: return entry.meaning
        case .shortMeanings, .shortDiscussion: return firstSentence(entry.meaning)
        case .gathered:
            let sentence = firstSentence(entry.meaning)
            guard let end = sentence.firstRange(of: "; ") else { return sentence }
            return String(sentence[..<end.lowerBound]) + "."
        }
    }

    /// Returns a text up to the end of its first sentence.
    private static func firstSentence(_ text: String) -> String {
        guard let end = text.firstRange(of: ". ") else { return text }
        return String(text[..<end.lowerBound]) + "."
    }
}
