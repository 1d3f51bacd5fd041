import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `verify`: authenticates every byte.
struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Authenticate every byte of every object in a vault.",
        discussion: """
            Problems are written to standard output, one per line, and the exit code is then 65. If some objects \
            cannot be checked because their key is on another device, the exit code is 69.

            Examples:
              vaultfmt verify
              vaultfmt verify backup.vault --anchor "$(vaultfmt anchor work.vault)"
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("Also check that the vault is at this anchor or continues from it.")
    var anchor: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() throws {
        let expected = try expectedAnchor()
        let opened = try vault.openVault()
        let progress = Progress("verifying")
        defer { progress.finish() }
        let report = try opened.verify { done, total in progress.update(done, of: total) }
        progress.finish()
        let output = Output.standard()
        // The remains of an interrupted change were reported when the vault was opened, and the next change removes
        // them.
        let problems = report.problems.filter { !$0.isInterruption }
        let count = report.problemCount - (report.problems.count - problems.count)
        if json {
            try writeJSON(opened, report, problems, count)
        } else {
            for problem in problems { try output.line(TerminalText.singleLine(problem.description)) }
            if count > problems.count { try output.line("… and \(count - problems.count) more") }
        }
        try output.flush()
        guard count == 0 else {
            throw CommandFailure(
                .damaged,
                "\(count == 1 ? "1 problem" : "\(count) problems") in \(TerminalText.path(opened.path)); restore a backup, or recover intact data with 'vaultfmt salvage'"
            )
        }
        if let expected { try compare(opened, with: expected) }
        guard report.unopened == 0 else {
            let place = opened.access == .owner ? "on the device that has them" : "with a full slot, which has them"
            throw CommandFailure(
                .unavailable,
                "\(report.unopened) \(report.unopened == 1 ? "object" : "objects") could not be checked without their keys; verify the vault \(place)"
            )
        }
        guard !json else { return }
        let contents =
            "\(report.items) items, \(report.itemsWithPast) with earlier values or conflicts, every object authenticates"
        if case .torn(let bytes) = opened.tail {
            try output.line(
                "sound up to generation \(opened.state.generation): \(contents); the \(bytes) bytes after it are not part of any change: "
                    + "they were left by an interrupted change, or the file was cut off")
        } else {
            try output.line("sound: generation \(opened.state.generation), \(contents)")
        }
        try output.flush()
    }

    private func writeJSON(
        _ opened: Vault, _ report: VerifyReport, _ problems: [VerifyReport.Problem], _ count: Int
    ) throws {
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("file", opened.path)
            try writer.member("sound", count == 0 && report.unopened == 0)
            try writer.member("generation", opened.state.generation)
            try writer.member("items", report.items)
            try writer.member("itemsWithPast", report.itemsWithPast)
            try writer.member("forgottenValues", report.forgottenValues)
            try writer.member("problemCount", count)
            try writer.array("problems") { writer in for problem in problems { try writer.value(problem.description) } }
            try writer.member("notChecked", report.unopened)
            if case .torn(let bytes) = opened.tail { try writer.member("unreadableTail", bytes) }
        }
        try writer.finish()
    }

    private func expectedAnchor() throws -> Anchor? {
        guard let anchor else { return nil }
        guard let expected = Anchor(anchor) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(anchor)) is not an anchor; use the output of 'vaultfmt anchor'")
        }
        return expected
    }

    private func compare(_ opened: Vault, with expected: Anchor) throws {
        guard expected.vault == opened.id else {
            throw CommandFailure(
                .damaged,
                "the anchor belongs to vault \(expected.vault), but this is \(opened.id); use the anchor of this vault"
            )
        }
        let now = opened.state.generation
        let problem: String? =
            switch try opened.verdict(on: expected) {
            case .same, .descends: nil
            case .foreign:
                "belongs to different owners than the anchor, and there is no proof of a handover; restore the right copy"
            case .older:
                "is at generation \(now), older than the anchor's \(expected.generation); restore the newest copy"
            case .forked:
                "is forked: it does not continue the anchor's generation \(expected.generation); restore the right copy"
            }
        if let problem { throw CommandFailure(.damaged, "the vault \(problem)") }
    }
}
