import ArgumentParser
import FoundationEssentials

/// The argument parser's description of a command, as printed by `--experimental-dump-help`.
struct CommandDescription: Decodable {
    /// One option, flag or argument.
    struct Entry: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String

            var text: String { (kind == "long" ? "--" : "-") + name }
        }

        let kind: String
        let shouldDisplay: Bool
        let sectionTitle: String?
        let isOptional: Bool
        let isRepeating: Bool
        let parsingStrategy: String
        let names: [Name]?
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let allValueStrings: [String]?
        let abstract: String?

        var isPositional: Bool { kind == "positional" }
    }

    let abstract: String?
    let discussion: String?
    let arguments: [Entry]?

    /// The options and arguments that help shows; `--help` and `--version` are omitted.
    var entries: [Entry] {
        (arguments ?? []).filter { $0.shouldDisplay && !["help", "version"].contains($0.preferredName?.name) }
    }

    /// Reads the description of a command, or of options that commands share. A command that runs a default subcommand
    /// has that subcommand's options.
    init(of type: any ParsableArguments.Type) throws {
        struct Dump: Decodable { let command: CommandDescription }
        let own = try JSONDecoder().decode(Dump.self, from: Data(type._dumpHelp().utf8)).command
        abstract = own.abstract
        discussion = own.discussion
        let meant = (type as? any ParsableCommand.Type)?.configuration.defaultSubcommand
        arguments = try (own.arguments ?? []) + (meant.map { try CommandDescription(of: $0).arguments ?? [] } ?? [])
    }
}

extension CommandDescription.Entry {
    /// The spelling in help, such as "--port <port>", "-f, --vault <file>", "--clip[=<seconds>]",
    /// "[--no-]synchronizable" or "<service>".
    var spelling: String {
        guard !isPositional else { return "<\(valueName ?? "")>" + (isRepeating ? " …" : "") }
        let names = (self.names ?? []).filter { $0.kind != "long" } + (self.names ?? []).filter { $0.kind == "long" }
        let all = names.map(\.text).joined(separator: ", ")
        guard kind != "flag" else { return all }
        let value = "<\(valueName ?? "")>"
        return isValueOptional ? "\(all)[=\(value)]" : "\(all) \(value)"
    }

    /// True if the value may be omitted; if given, it follows an equals sign.
    private var isValueOptional: Bool {
        guard let preferredName else { return false }
        return ArgumentSpelling.withOptionalValue.contains(preferredName.text)
    }

    /// The name without its value.
    var shortSpelling: String { preferredName?.text ?? spelling }

    /// The abstract, the default value, and the allowed values.
    var meaning: String {
        var text = abstract ?? ""
        if let defaultValue, !defaultValue.isEmpty, kind != "flag" { text += " (default: \(defaultValue))" }
        if let allValueStrings, !allValueStrings.isEmpty, !allValueStrings.allSatisfy({ text.contains($0) }) {
            text += " One of: \(allValueStrings.joined(separator: ", "))."
        }
        return text
    }

    /// The form used in a usage line.
    var inUsage: String {
        let text = (parsingStrategy == "postTerminator" ? "-- " : "") + spelling
        return isOptional ? "[\(text)]" : text
    }
}
