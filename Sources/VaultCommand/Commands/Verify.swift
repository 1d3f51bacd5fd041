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
            cannot be checked because their key is on another device, the exit code is 69; with a scoped slot, it is 77.

            The file is verified whatever this machine remembers of the vault; the result is compared with that \
            afterwards. A sound copy that is older than the vault, such as a backup, is reported as sound up to its \
            generation, and the exit code is 0. A file that was cut off, was rolled back in its own place, has \
            diverged, or belongs to other owners is reported after its problems, and the exit code is 65.

            Examples:
              vaultfmt verify
              vaultfmt verify backup.vault --anchor "$(vaultfmt anchor work.vault)"
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("Also check that the vault is at this anchor or continues from it.")
    var anchor: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    /// How a file that was verified compares with what this machine remembers.
    private enum Standing {
        /// The file includes everything that this machine has seen.
        case current
        /// The file is a sound copy from before the generation that this machine has seen.
        case olderCopy(seen: UInt64)
        case refused(CommandFailure)
    }

    func run() throws {
        let expected = try expectedAnchor()
        let path = try vault.path
        let opened = try vault.access.open(path, anchors: .ignore)
        let progress = Progress("verifying")
        defer { progress.finish() }
        let report = try opened.verify { done, total in progress.update(done, of: total) }
        progress.finish()
        let standing = try standing(of: opened, at: path)
        let output = Output.standard()
        // The remains of an interrupted change were reported when the vault was opened, and the next change removes
        // them.
        let problems = report.problems.filter { !$0.isInterruption }
        let count = report.problemCount - (report.problems.count - problems.count)
        if json {
            try writeJSON(opened, standing, report, problems, count)
        } else {
            for problem in problems { try output.line(TerminalText.singleLine(problem.description)) }
            if count > problems.count { try output.line("… and \(count - problems.count) more") }
        }
        try output.flush()
        if case .refused(let failure) = standing {
            if count > 0 { Terminal.warning("\(Self.problems(count)) in \(TerminalText.path(opened.path))") }
            throw failure
        }
        guard count == 0 else {
            throw CommandFailure(
                .damaged,
                "\(Self.problems(count)) in \(TerminalText.path(opened.path)); restore a backup, or recover intact data with 'vaultfmt salvage'"
            )
        }
        if let expected { try compare(opened, with: expected) }
        guard report.unopened == 0 else {
            let place = opened.access == .owner ? "on the device that has them" : "with a full slot, which has them"
            throw CommandFailure(
                opened.access == .owner ? .unavailable : .noAccess,
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
        } else if case .olderCopy(let seen) = standing {
            try output.line(
                "sound up to generation \(opened.state.generation): \(contents); this machine has seen generation \(seen): "
                    + "the file is an older copy")
        } else {
            try output.line("sound: generation \(opened.state.generation), \(contents)")
        }
        try output.flush()
    }

    private static func problems(_ count: Int) -> String { count == 1 ? "1 problem" : "\(count) problems" }

    /// Compares the file with what this machine remembers, which then remembers the file's state unless it is older.
    private func standing(of opened: Vault, at path: String) throws -> Standing {
        let machine = try ThisMachine.current()
        do throws(VaultError) { try machine.check(opened) } catch {
            guard [.rolledBack, .forked, .foreignOwner, .memoryDamaged].contains(error.code) else { throw error }
            return try standing(of: opened, at: path, machine, refusedBecause: error)
        }
        return .current
    }

    private func standing(
        of opened: Vault, at path: String, _ machine: Machine, refusedBecause error: VaultError
    ) throws -> Standing {
        guard error.code == .rolledBack, try machine.remembered(opened.id, at: path) == nil,
            try machine.remembered(opened.id, at: path, asOwner: false) == nil,
            let seen = try machine.remembered(opened.id, asOwner: opened.access == .owner)?.anchor.generation
        else { return .refused(try SecondCopy.failure(error, path)) }
        switch opened.tail {
        case .clean, .writeInProgress: return .olderCopy(seen: seen)
        case .torn, .damaged, .incomplete:
            return .refused(
                CommandFailure(
                    .damaged,
                    "\(TerminalText.path(path)) is damaged or cut off: it opens at generation \(opened.state.generation), but this "
                        + "machine has seen generation \(seen); an older copy with other bytes appended would look the same; "
                        + "restore a backup, or recover intact data with 'vaultfmt salvage'",
                    code: error.code))
        }
    }

    private func writeJSON(
        _ opened: Vault, _ standing: Standing, _ report: VerifyReport, _ problems: [VerifyReport.Problem], _ count: Int
    ) throws {
        var lines = problems.map(\.description)
        var count = count
        // What this machine remembers is a reason, too.
        if case .refused(let failure) = standing {
            lines.append(failure.message)
            count += 1
        }
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("file", opened.path)
            try writer.member("sound", count == 0 && report.unopened == 0)
            try writer.member("generation", opened.state.generation)
            try writer.member("items", report.items)
            try writer.member("itemsWithPast", report.itemsWithPast)
            try writer.member("forgottenValues", report.forgottenValues)
            try writer.member("problemCount", count)
            try writer.array("problems") { writer in for line in lines { try writer.value(line) } }
            try writer.member("notChecked", report.unopened)
            if case .torn(let bytes) = opened.tail { try writer.member("unreadableTail", bytes) }
            if case .olderCopy(let seen) = standing { try writer.member("generationSeen", seen) }
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
