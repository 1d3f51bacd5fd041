import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `compact`: rewrites a vault without dead objects.
struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite a vault without its replaced and removed data.",
        discussion: """
            Older copies of the file still contain the dropped data. Anyone with an older copy and its passphrase can \
            also open later states, until 'vaultfmt rekey --rotate' is run. Earlier values are kept; 'vaultfmt forget' removes them.

            Examples:
              vaultfmt compact
              vaultfmt compact work.vault --wait 60
            """)

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.openVault(writable: true)
        let progress = Progress("compacting", of: "items")
        defer { progress.finish() }
        let report = try opened.compact { done, total in progress.update(done, of: total) }
        progress.finish()
        Terminal.note(
            "compacted \(TerminalText.path(opened.path)): \(MemorySize.text(bytes: report.bytesBefore)) before, "
                + "\(MemorySize.text(bytes: report.bytesAfter)) now; 'vaultfmt undo' cannot go back past this point; older copies still contain the removed data"
        )
        let kept = try EarlierValues.itemCounts(in: opened)
        guard kept.all > 0 else { return }
        let hidden =
            kept.unlisted == 0
            ? "" : " (in \(kept.unlisted) of them, more than the vault keeps now; 'vaultfmt history' counts these)"
        Terminal.note(
            "\(kept.all == 1 ? "1 item has" : "\(kept.all) items have") earlier values\(hidden); 'vaultfmt forget' removes those of an item"
        )
    }
}
