import ArgumentParser
import VaultFmt
import VaultLocal

/// `verify`: authenticates every byte.
struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Authenticate every byte of every object of a vault.",
        discussion: """
            What is wrong is written to standard output, one line each, and ends with exit 65. Objects whose key is on another device \
            cannot be checked: that is not success either, but exit 69.

            Examples:
              vaultfmt verify
              vaultfmt verify backup.vault --anchor "$(vaultfmt anchor work.vault)"
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("Check too that the vault is at this anchor, or continues it.")
    var anchor: String?

    func run() throws {
        let expected = try expectedAnchor()
        let opened = try vault.openVault()
        let progress = Progress("verifying")
        defer { progress.finish() }
        let report = try opened.verify { done, total in progress.update(done, of: total) }
        progress.finish()
        let output = Output.standard()
        // What an interrupted change left was said when the vault was opened, and the next change removes it.
        let problems = report.problems.filter { !$0.isInterruption }
        let count = report.problemCount - (report.problems.count - problems.count)
        for problem in problems { try output.line(TerminalText.singleLine(problem.description)) }
        if count > problems.count { try output.line("… and \(count - problems.count) more") }
        try output.flush()
        guard count == 0 else {
            throw CommandFailure(
                .damaged,
                "\(count == 1 ? "1 problem" : "\(count) problems") in \(TerminalText.quoted(opened.path)); restore a backup, or recover what is whole with 'vaultfmt salvage'"
            )
        }
        if let expected { try compare(opened, with: expected) }
        guard report.unopened == 0 else {
            throw CommandFailure(
                .unavailable,
                "\(report.unopened) \(report.unopened == 1 ? "object" : "objects") could not be checked for want of keys; verify on the device that has them"
            )
        }
        try output.line(
            "sound: generation \(opened.anchor.generation), \(report.items) items, \(report.earlierValues) earlier values, every object authenticates"
        )
        try output.flush()
    }

    private func expectedAnchor() throws -> Anchor? {
        guard let anchor else { return nil }
        guard let expected = Anchor(anchor) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(anchor)) is not an anchor; give what 'vaultfmt anchor' wrote")
        }
        return expected
    }

    private func compare(_ opened: Vault, with expected: Anchor) throws {
        guard expected.vault == opened.id else {
            throw CommandFailure(
                .damaged,
                "the anchor is of vault \(expected.vault), this is \(opened.id); give the anchor of this vault")
        }
        let now = opened.anchor.generation
        let problem: String? =
            switch try opened.verdict(on: expected) {
            case .same, .descends: nil
            case .foreign:
                "belongs to other owners than the anchor's, and nothing shows that they handed it over; restore the right copy"
            case .older:
                "is at generation \(now), older than the anchor's \(expected.generation); restore the newest copy"
            case .forked:
                "is forked: it does not continue the anchor's generation \(expected.generation); restore the right copy"
            case .unprovable:
                "no longer proves that it continues generation \(expected.generation), which was compacted away; take a newer anchor"
            }
        if let problem { throw CommandFailure(.damaged, "the vault \(problem)") }
    }
}
