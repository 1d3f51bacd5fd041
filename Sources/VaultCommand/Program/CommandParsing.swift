import ArgumentParser

/// Parses a command line without setting up the commands that it does not name.
enum CommandParsing {
    /// Returns the command that the arguments name, with its options parsed.
    ///
    /// The argument parser sets up every command of a tree before it reads a word, which takes longer than everything
    /// else `get` does before it opens the vault. A command that comes first is therefore parsed on its own. The whole
    /// tree is parsed only if that fails or help is requested, because the tree's messages name the command by its full
    /// path.
    static func command(in arguments: [String]) throws -> any ParsableCommand {
        if let (command, rest) = CommandNames.leaf(in: arguments) {
            do {
                let parsed = try command.parseAsRoot(rest)
                if type(of: parsed) == command { return parsed }
            } catch {}
        }
        return try Vaultfmt.parseAsRoot(arguments)
    }
}
