import ArgumentParser

/// The page of `vaultfmt --help`: describes the commands for daily use, and names all others.
enum CommandList {
    /// The commands that are described, in this order; names of commands that do not exist yet are omitted.
    private static let everyday = [
        "create",
        "set",
        "get",
        "show",
        "list",
        "edit",
        "move",
        "remove",
        "undo",
        "history",
        "otp",
        "generate",
        "unlock",
        "status",
        "check",
        "import",
        "export",
        "sync",
        "run",
    ]

    /// Returns the subcommands that a command's help lists.
    static func commands(of command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }

    static func page(isWhole: Bool, layout: HelpLayout) throws -> [String] {
        let (text, examples) = HelpPage.parts(of: Vaultfmt.configuration.discussion)
        var lines = layout.paragraph(Vaultfmt.configuration.abstract)
        lines += ["", "USAGE: vaultfmt <command> [options]"]
        for paragraph in text { lines += [""] + layout.paragraph(paragraph) }
        lines += ["", "Examples:"] + examples.flatMap(layout.commandLine)
        let all = commands(of: Vaultfmt.self)
        guard !isWhole else { return lines + described(layout) }
        let listed = everyday.compactMap { name in all.first { $0._commandName == name } }
        lines += ["", "Commands:"]
        for command in listed { lines += layout.definition(names(command), command.configuration.abstract) }
        let others = all.map { $0._commandName }.filter { name in !everyday.contains(name) }
        lines += ["", "Others (see 'vaultfmt help commands'):"] + layout.names(others)
        return lines
    }

    /// Returns descriptions of all commands, in their groups.
    static func described(_ layout: HelpLayout) -> [String] {
        var lines: [String] = []
        for group in Vaultfmt.configuration.groupedSubcommands {
            lines += ["", "\(group.name) commands:"]
            for command in group.subcommands where command.configuration.shouldDisplay {
                lines += layout.definition(names(command), command.configuration.abstract)
            }
        }
        return lines
    }

    private static func names(_ command: any ParsableCommand.Type) -> String {
        ([command._commandName] + command.configuration.aliases).joined(separator: ", ")
    }
}
