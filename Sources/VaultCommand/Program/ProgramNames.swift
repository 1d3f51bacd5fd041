/// The names under which other programs start this one. A link is enough: the name says which command is meant.
enum ProgramNames {
    private static let commands = [
        "git-credential-vaultfmt": "git-credential", "docker-credential-vaultfmt": "docker-credential",
        "vaultfmt-askpass": "askpass",
    ]

    /// The arguments with the command that the program's name stands for.
    static func arguments(_ all: [String]) -> [String] {
        guard let program = all.first else { return [] }
        let name = program.split(separator: "/").last.map(String.init) ?? program
        let rest = all.dropFirst()
        return (commands[name].map { [$0] } ?? []) + rest
    }
}
