/// The names under which other programs start this one. A link is enough: the name determines the command.
enum ProgramNames {
    private static let commands = [
        "git-credential-vaultfmt": "git-credential", "docker-credential-vaultfmt": "docker-credential",
        "vaultfmt-askpass": "askpass", "age-plugin-vaultfmt": "age-plugin",
    ]

    /// Returns the arguments, preceded by the command for the program's name.
    static func arguments(_ all: [String]) -> [String] {
        guard let program = all.first else { return [] }
        let name = program.split(separator: "/").last.map(String.init) ?? program
        let rest = all.dropFirst()
        // The only argument is a question, which a server may have worded.
        if commands[name] == "askpass" { return ["askpass", "--"] + rest }
        // rage and pyrage resolve the link and start its target; a plugin is started with this option as its only
        // argument.
        let isPlugin = rest.count == 1 && rest.first?.hasPrefix("--age-plugin=") == true
        return ((commands[name] ?? (isPlugin ? "age-plugin" : nil)).map { [$0] } ?? []) + rest
    }
}
