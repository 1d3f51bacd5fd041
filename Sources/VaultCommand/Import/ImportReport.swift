import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Asks for the confirmations that an import needs, and reports the imported and omitted items.
struct ImportReport {
    /// The participle that describes the items, such as "imported" or "copied".
    let participle: String
    /// `isConfirmed`: the user has confirmed everything in advance. `mayAsk`: the user can be asked.
    let isConfirmed: Bool
    let mayAsk: Bool

    /// Checks the changes that `session` has made in a transaction, and throws an error or asks for confirmation.
    func accept(_ session: borrowing ImportSession) throws {
        try refuseDuplicates(of: session)
        guard try warnOfExposed(in: session) else { return }
        guard try Prompt.confirm("Continue?", instead: "use --yes") else {
            throw CommandFailure.declined("nothing was \(participle)")
        }
    }

    /// Reports the values that holders of scoped slots would be able to read; returns false if no confirmation is
    /// needed. Fails if the user cannot be asked.
    @discardableResult
    func warnOfExposed(in session: borrowing ImportSession) throws -> Bool {
        let exposed = session.exposed
        guard exposed.count > 0, !isConfirmed else { return false }
        let names = exposed.items.map { ItemText.summary($0) }.joined(separator: ", ")
        let more = exposed.count > exposed.items.count ? " and \(exposed.count - exposed.items.count) more" : ""
        Terminal.warning(
            "these items would get new values in groups that scoped slots can read, although the source does not name those groups: \(names)\(more)"
        )
        guard mayAsk, Prompt.isPossible else {
            throw CommandFailure(
                .usage,
                "nothing was \(participle): there is no terminal to prompt on; use --yes, or move these items first")
        }
        return true
    }

    /// Fails if the policy is to fail and there were duplicates; names the first few.
    func refuseDuplicates(of session: borrowing ImportSession) throws {
        let tally = session.tally
        guard tally.duplicates > 0 else { return }
        let more = tally.duplicates > 5 ? " and \(tally.duplicates - 5) more" : ""
        throw CommandFailure(
            .noSuchItem,
            "items that already exist, in the vault or earlier in the source: \(tally.duplicateNames.joined(separator: ", "))\(more); nothing was \(participle); "
                + "choose --on-duplicate skip, replace, keep-both or update-newer, or put these into access groups of their own "
                + "with --group or --group-from-folder")
    }

    /// Writes a line that describes the effect of an import on an item.
    func write(_ rehearsed: ImportSession.Rehearsed, to output: Output) throws {
        let names = rehearsed.attributes.joined(separator: ", ")
        let remarks = rehearsed.remarks
        let decision = rehearsed.decision
        try output.line(
            "\(decision.action.rawValue)\t\(ItemText.summary(decision.target, label: rehearsed.label))"
                + (names.isEmpty && remarks.isEmpty ? "" : "\t\(TerminalText.escaped(names))")
                + (remarks.isEmpty ? "" : "\t\(remarks)"))
    }

    /// Reports the items lost, skipped or replaced, and the number of items imported. `verb`: "imported" or "would import".
    func write(_ session: borrowing ImportSession, verb: String) {
        for omission in session.omissions { Terminal.warning("not \(participle): \(Self.text(omission))") }
        for line in session.tally.withoutCodes { Terminal.warning(line) }
        let unnamed = session.tally.withoutCodesCount - session.tally.withoutCodes.count
        if unnamed > 0 { Terminal.warning("\(unnamed) more one-time seeds give no codes") }
        write(session.tally, verb, omitted: session.omitted)
    }

    /// Writes the number of the source's entries, the number of items for each outcome, and the losses.
    static func writeJSON(_ session: borrowing ImportSession) throws {
        let (tally, omissions, omitted) = (session.tally, session.omissions, session.omitted)
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("entries", tally.seen + omitted)
            for (name, count) in members(of: tally) { try writer.member(name, count) }
            try writer.member("omitted", omitted)
            try writer.array("notImported") { writer in
                for omission in omissions { try writer.value(text(omission)) }
            }
            try writer.array("withoutCodes") { writer in
                for line in tally.withoutCodes { try writer.value(line) }
            }
        }
        try writer.finish()
    }

    /// Fails if a part of the source was lost although the rest was imported. Items omitted because of an option do not
    /// count as lost.
    func refuseLosses(in session: borrowing ImportSession, verb: String) throws {
        let (isLost, isDropped) = (
            session.omissions.contains { !$0.isIntended }, session.tally.droppedEarlierValues > 0
        )
        guard isLost || isDropped else { return }
        let advice =
            !isDropped
            ? "no option can keep it"
            : isLost
                ? "no option can keep it, except for the earlier values"
                : "a vault keeps as many earlier values as 'vaultfmt rekey --keep' sets"
        throw CommandFailure(.incomplete, "\(verb), but something in the source was lost (see above); \(advice)")
    }

    private static func text(_ omission: Omission) -> String {
        omission.text + (omission.isInRecycleBin ? "; --recycle-bin imports them too" : "")
    }

    // MARK: counts

    /// The counts by their names in JSON.
    private static func members(of tally: ImportTally) -> [(String, Int)] {
        let actions: [(String, ImportSession.Action)] = [
            ("added", .add), ("keptBoth", .keepBoth), ("replaced", .replace), ("updated", .update), ("skipped", .skip),
            ("copies", .copy), ("unchanged", .unchanged), ("left", .keep),
        ]
        return actions.map { ($0, tally.count($1)) } + [
            ("earlierValues", tally.earlierValues), ("droppedEarlierValues", tally.droppedEarlierValues),
            ("displacedEarlierValues", tally.displacedEarlierValues),
        ]
    }

    private func write(_ tally: ImportTally, _ verb: String, omitted: Int) {
        for line in tally.named { Terminal.note(line) }
        let (added, replaced) = (tally.count(.add) + tally.count(.keepBoth), tally.count(.replace))
        let (updated, skipped, copies) = (tally.count(.update), tally.count(.skip), tally.count(.copy))
        let unnamed =
            tally.count(.keepBoth) + replaced + skipped + copies + updated + tally.count(.keep) - tally.named.count
        if unnamed > 0 { Terminal.note("… and \(unnamed) more") }
        warn(of: tally)
        let imported = added + replaced + updated
        var text = "\(verb) \(Self.items(imported))"
        if replaced > 0 { text += ", \(replaced) of them replacing others" }
        if updated > 0 { text += ", \(updated) of them changed since" }
        if tally.earlierValues > 0 {
            text += ", with \(tally.earlierValues) earlier \(tally.earlierValues == 1 ? "value" : "values")"
        }
        let withoutCodes = tally.withoutCodesCount
        if withoutCodes > 0 { text += ", \(withoutCodes) of them with a one-time seed that gives no codes" }
        if skipped > 0 { text += "; skipped \(skipped) that already existed" }
        if copies > 0 { text += "; skipped \(copies) exact \(copies == 1 ? "copy" : "copies")" }
        if tally.count(.unchanged) > 0 { text += "; \(tally.count(.unchanged)) unchanged" }
        if tally.count(.keep) > 0 { text += "; kept the vault's version of \(Self.items(tally.count(.keep)))" }
        if tally.duplicates > 0 { text += "; \(tally.duplicates) already exist" }
        if omitted > 0 { text += "; \(omitted) not \(participle), for the reasons above" }
        let entries = tally.seen + omitted
        if entries != imported { text += "; \(entries) \(entries == 1 ? "entry" : "entries") in the source" }
        Terminal.note(text)
    }

    /// Reports the earlier values that the vault does not keep.
    private func warn(of tally: ImportTally) {
        if tally.droppedEarlierValues > 0 {
            Terminal.warning(
                "not \(participle): \(tally.droppedEarlierValues) earlier values, because the vault keeps fewer ('vaultfmt rekey --keep')"
            )
        }
        if tally.displacedEarlierValues > 0 {
            let count =
                tally.displacedEarlierValues == 1
                ? "1 earlier value" : "\(tally.displacedEarlierValues) earlier values"
            Terminal.warning(
                "replaced \(count) of the vault with the source's, because the vault keeps fewer ('vaultfmt rekey --keep')"
            )
        }
    }

    private static func items(_ count: Int) -> String { "\(count) \(count == 1 ? "item" : "items")" }
}
