import ArgumentParser
import VaultArguments
import VaultLocal

/// Help pages that do not belong to a single command.
enum HelpTopics {
    /// The topics of `vaultfmt help`, apart from commands.
    static let names = [
        "commands",
        "environment",
        "exit-codes",
        "factors",
        "items",
    ]

    /// Returns the lines of a topic; nil if there is no such topic.
    static func lines(_ name: String, columns: Int?) throws -> [String]? {
        let layout = HelpLayout(terminalColumns: columns)
        switch name {
        case "commands": return layout.folded("Commands of vaultfmt; each has --help:") + CommandList.described(layout)
        case "environment": return layout.folded(environment)
        case "exit-codes": return layout.folded(exitCodes)
        case "factors":
            return try layout.folded(factors)
                + options("To open a vault", AccessOptions.self, layout)
                + options("For a new slot, or a slot's new factors", NewFactorOptions.self, layout)
                + options("For a new slot that age identities open", RecipientOptions.self, layout)
                + options("The cost of guessing a passphrase", CostOptions.self, layout)
        case "items":
            return try layout.folded(items)
                + options("Which item", ItemName.self, layout)
                + options("Filters other than the name", ItemFilters.self, layout)
                + options("Its attributes", AttributeOptions.self, layout)
        default: return nil
        }
    }

    private static func options(
        _ title: String, _ type: any ParsableArguments.Type, _ layout: HelpLayout
    ) throws -> [String] {
        ["", "\(title):"]
            + (try CommandDescription(of: type).entries.flatMap { layout.definition($0.spelling, $0.meaning) })
    }

    private static let items = """
        Items in a vault:

        An item is a secret with a name. The name of a generic password is a service and an account; that of an internet \
        password is a server, an account, a protocol, a port and a path. Certificates, keys and identities are named by \
        their label.

        SERVICE alone is enough if only one item has that service. Options narrow the choice further; their values must match \
        exactly.
        """

    private static let factors = """
        Factors that open a vault:

        A vault has one or more slots, each of which opens with a passphrase, a key file, both together, a raw key, or \
        an age identity, alone or with a passphrase. 'vaultfmt slot list' shows them. Factors that are not given are \
        prompted for on the terminal; 'vaultfmt unlock' prompts once and keeps the vault unlocked for a limited time.
        """

    static let exitCodes = """
        Exit codes of vaultfmt:

          0    done
          1    no such item or slot, nothing found, or an item that already exists
          2    ambiguous: several items match
          3    done, but something is missing, not proven or left to settle; standard error names it;
               'check' found something
          64   usage: a command, option or value that does not exist or is not allowed
          65   damaged, tampered, rolled back, or not a vault
          66   no such file
          69   a later version, an unknown critical extension, a secret bound to another device, a value of no use
               for the purpose (a seed without codes, a newline for git), an unsupported format to import, or
               a kernel keyring, program, library, age plugin or agent that is missing, fails or does not answer
          70   a bug in vaultfmt
          73   the output already exists, and is not overwritten
          74   input or output failed (disk full, no permission)
          75   busy: another process is writing (see --wait), or another SSH agent is running
          77   no slot opens, no factor is given with --no-input, the slot does not grant what is asked for,
               or a question was answered with no
          78   the key derivation exceeds the reader's limit (see --max-kdf-memory)
          126, 127  'run' cannot start the program; there is no such program
          130  interrupted at a prompt (Ctrl-C)
        """

    static let environment = """
        Environment of vaultfmt. Options come first, then these variables, then the key kept by 'unlock', then a prompt:

          VAULTFMT_VAULT                 the vault, if no option or argument names one
          VAULTFMT_PASSPHRASE            the passphrase
          VAULTFMT_PASSPHRASE_FILE       a file with the passphrase; one newline at its end is ignored
          VAULTFMT_KEY_FILE              the key file
          VAULTFMT_IDENTITY              a file of age identities, or an OpenSSH private key
          VAULTFMT_NEW_PASSPHRASE, VAULTFMT_NEW_PASSPHRASE_FILE, VAULTFMT_NEW_KEY_FILE
                                         the same for the new factors of 'rekey', 'slot add', 'salvage' and KDBX files
          XDG_DATA_HOME                  the default vault is vaultfmt/default.vault in it (or in ~/.local/share)
          XDG_STATE_HOME                 vaultfmt/ in it (or in ~/.local/state) holds the last known state
                                         of each vault, and the device file
          VAULTFMT_ASKPASS               the source of answers for 'askpass': a reference, 'ssh' for OpenSSH's own questions, '-' for standard input
          XDG_RUNTIME_DIR                vaultfmt/ in it (or in /run/user/UID) holds the sockets of 'agent'
          SSH_AUTH_SOCK                  the agent to which 'ssh add' adds keys
          SSH_ASKPASS                    the program that asks before 'agent' uses a key that needs confirmation
          DISPLAY, WAYLAND_DISPLAY       without SSH_ASKPASS, 'agent' asks with a pinentry if one of them is set
          XDG_SESSION_ID                 a session with which 'agent --lock-with-session' locks the vault
          NOTIFY_SOCKET                  where 'agent' tells systemd that it is ready
          EDITOR, VISUAL                 the editor of 'edit'
          NO_COLOR                       if set and not empty, turns off colour

        If an option gives a factor, a slot is tried only if it needs the factors of all such options. A variable can
        complete them, for example with the key file that goes with the passphrase, but opens no slot without them.

        Any process running as the same user can read a passphrase in the environment; a file (0600) or a descriptor is safer.
        """
}
