import VaultLocal

/// Help that belongs to no single command.
enum HelpTopics {
    static let exitCodes = """
        Exit codes of vaultfmt:

          0    done
          1    no such item, nothing found, or a duplicate on 'add'
          2    ambiguous: several items match
          3    done, but something is missing, not proven or left to settle; standard error names it
          64   usage: a command, option or value that does not exist or does not fit
          65   damaged, tampered, rolled back, or not a vault
          66   no such file
          69   a later version, an unknown critical extension, a secret bound to another device, or no kernel keyring
          70   a bug in vaultfmt
          73   the output exists; vaultfmt overwrites nothing
          74   input or output failed (disk full, no permission)
          75   busy: another process writes (see --wait)
          77   no slot opens, or no factor is given with --no-input
          78   over the reader's limit on key derivation (see --max-kdf-memory)
          126, 127  'run' cannot start the program; there is no such program
          130  interrupted at a prompt (Ctrl-C)
        """

    static let environment = """
        Environment of vaultfmt. Options come first, then these, then what 'unlock' keeps, then a prompt:

          VAULTFMT_VAULT                 the vault, where no option or argument names it
          VAULTFMT_PASSPHRASE            the passphrase
          VAULTFMT_PASSPHRASE_FILE       a file with the passphrase; one newline at its end is not part of it
          VAULTFMT_KEY_FILE              the key file
          VAULTFMT_NEW_PASSPHRASE, VAULTFMT_NEW_PASSPHRASE_FILE, VAULTFMT_NEW_KEY_FILE
                                         the same for what 'rekey', 'slot add' and 'salvage' set
          XDG_DATA_HOME                  the default vault is vaultfmt/default.vault in it (else in ~/.local/share)
          XDG_STATE_HOME                 vaultfmt/ in it (else in ~/.local/state) holds what this machine remembers of
                                         each vault, and the device file
          VAULTFMT_ASKPASS               what 'askpass' may answer with: a reference, 'ssh' for OpenSSH's own questions, '-' for standard input
          EDITOR, VISUAL                 the editor of 'edit'
          NO_COLOR                       if set and not empty, no colour

        A passphrase in the environment can be read by every process of the same user; a file (0600) or a descriptor is better.
        """
}
