import ArgumentParser
import VaultFmt
import VaultLocal

/// `compact`: rewrites a vault without what is dead.
struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Rewrite a vault without what was replaced or removed.",
        discussion: """
            Older copies of the file keep what this one drops; with an older copy and its passphrase later states open too, until \
            'vaultfmt rekey --rotate'.

            Examples:
              vaultfmt compact
              vaultfmt compact work.vault --wait 60
            """)

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.openVault(writable: true)
        let report = try Progress.during("compacting") { try opened.compact() }
        Terminal.note(
            "compacted \(TerminalText.quoted(opened.path)): \(MemorySize.text(bytes: report.bytesBefore)) before, "
                + "\(MemorySize.text(bytes: report.bytesAfter)) now; older copies still hold what was removed")
    }
}
