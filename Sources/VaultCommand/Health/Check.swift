import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `check`: reports weaknesses in a vault that should be fixed.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Find weak, reused, leaked and old passwords.",
        discussion: """
            Nothing leaves this machine, and no secret is shown. This command also finds weak slots, unencrypted addresses, and \
            vaults or key files that others can read. Editing the rest of an item, such as a note, does not affect \
            the age of its password. The attribute check=off exempts an item, expires=2026-12-31 sets its expiry date, \
            and 'update --rotate-every 90d' sets how often its password should be changed.

            --hibp needs a downloaded list of leaked passwords, with lines of the form HASH:COUNT (SHA-1), sorted by \
            hash. The exit code is 3 if anything is found, or an item has no secret to check or is damaged, and 0 otherwise.

            Examples:
              vaultfmt check --older-than 2y --second-factor
              vaultfmt check --hibp pwned-passwords-sha1-ordered-by-hash.txt --json
            """)

    @Option("Find passwords unchanged for longer than this, such as 90d, 26w, 6m or 2y.", value: "time")
    var olderThan: Age?

    @Option("Find items that expire within this time, such as 30d.", value: "time")
    var expiresWithin = Age(days: 30)

    @Flag(help: "Find logins without a one-time code.")
    var secondFactor = false

    @Option("Find passwords that are in this list of leaked passwords.", isFile: true)
    var hibp: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let breaches = try hibp.map { try BreachFile($0) }
        let opened = try vault.openVault()
        let report = try examine(opened, breaches)
        try json ? writeJSON(report) : writeText(report)
        if !report.isExact {
            Terminal.note(
                "strength is estimated roughly; install the Debian package '\(PasswordEstimate.package)' for better estimates"
            )
        }
        for key in report.refused {
            let reason =
                opened.access.opens(key)
                ? "can be opened only on another device" : "is in a group that this slot does not open"
            Terminal.warning("not checked, because its secret \(reason): \(ItemText.summary(key))")
        }
        for item in report.damaged { Terminal.warning("not checked, because it is damaged: \(item.reason)") }
        for item in report.withoutSecret {
            Terminal.warning(
                "not checked, because \(item.reason.words): \(ItemText.summary(item.key)); \(item.reason.advice)")
        }
        guard report.findings.isEmpty else {
            if Terminal.errorIsTerminal {
                Terminal.note("'vaultfmt update SERVICE ACCOUNT --attribute check=off' exempts an item")
            }
            let count = report.findings.count
            throw CommandFailure(
                .incomplete,
                "\(count) \(count == 1 ? "finding" : "findings") in \(MergeText.count(report.items)); see above")
        }
        guard report.damaged.isEmpty else {
            throw CommandFailure(
                .incomplete,
                "\(MergeText.count(report.damaged.count)) could not be checked, because of damage; see above")
        }
        guard report.refused.isEmpty else {
            let isOfGroups = report.refused.contains { !opened.access.opens($0) }
            let advice = isOfGroups ? "with a slot that opens their groups" : "on the device that stored them"
            throw CommandFailure(
                isOfGroups ? .noAccess : .unavailable,
                "\(MergeText.count(report.refused.count)) could not be checked; check them \(advice)")
        }
        guard report.withoutSecret.isEmpty else {
            throw CommandFailure(
                .incomplete,
                "\(MergeText.count(report.withoutSecret.count)) could not be checked, for lack of a secret; see above")
        }
    }

    private struct Report {
        var findings: [Finding] = []
        /// The number of items that are not exempt.
        var items = 0
        var exempt: [ItemKey] = []
        var refused: [ItemKey] = []
        /// Items that are damaged, with the reasons, which name the items.
        var damaged: [(key: ItemKey, reason: String)] = []
        /// Items that show no secret.
        var withoutSecret: [(key: ItemKey, reason: VaultError.MissingSecret)] = []
        var isExact = true

        /// The number of items whose secrets were checked.
        var checked: Int { items - refused.count - withoutSecret.count - damaged.count }
    }

    private func examine(_ opened: Vault, _ breaches: BreachFile?) throws -> Report {
        let now = Int64(time(nil)) * 1000
        let soon = now + expiresWithin.milliseconds
        let secrets = SecretChecks(breaches, now: now, soon: soon)
        let listed = ListedChecks(now: now, soon: soon, wantsSecondFactor: secondFactor)
        var ages = SecretAges(now: now, oldest: olderThan.map { now - $0.milliseconds })
        var repeated = RepeatedLogins()
        var report = Report()
        var failure: (any Error)?
        try Progress.during("checking") {
            try opened.forEachSecret(continuesPastDamage: true) { item, secret throws(VaultError) in
                guard item.attributes.string(AttributeName.check) != "off" else {
                    return report.exempt.append(item.key)
                }
                report.items += 1
                report.findings += listed.findings(item)
                ages.look(at: item)
                repeated.look(at: item)
                do { if failure == nil { try secrets.look(at: item, secret) } } catch { failure = error }
            }
        }
        if let failure { throw failure }
        secrets.finish()
        (report.refused, report.damaged, report.isExact) = (secrets.refused, secrets.damaged, secrets.isExact)
        for item in secrets.withoutSecret {
            let reason = try opened.missingSecret(of: item)
            report.withoutSecret.append((item.key, reason))
        }
        report.findings += try ages.findings(in: opened)
        report.findings = try secrets.findings + repeated.findings + report.findings + surroundings(opened)
        return report
    }

    /// Checks for weak slots, and for files that others can read.
    private func surroundings(_ opened: Vault) throws -> [Finding] {
        var findings = try opened.slots().filter(\.isWeak).map { slot in
            Finding(
                kind: .weakSlot, place: SlotText.short(slot),
                why: "passphrases are too cheap to guess; 'vaultfmt rekey' makes guessing more expensive")
        }
        let keyFile = vault.access.factors.keyFile ?? Environment.nonEmpty("VAULTFMT_KEY_FILE")
        let files = [opened.path, keyFile, vault.access.factors.rawKeyFile].compactMap(\.self)
        for path in files where try UserFiles.exists(path) {
            let facts = try FileFacts.mode(of: path)
            guard facts & 0o077 != 0 else { continue }
            findings.append(
                Finding(
                    kind: .openFile, place: path,
                    why: "others can read it (0\(String(facts, radix: 8))); 'chmod 600' prevents that"))
        }
        return findings
    }

    private func writeText(_ report: Report) throws {
        let output = Output.standard()
        for finding in report.findings { try output.line(finding.line) }
        if !report.exempt.isEmpty {
            try output.line(
                "left out by check=off: \(report.exempt.map { ItemText.summary($0) }.joined(separator: "; "))")
        }
        if report.findings.isEmpty { try output.line("nothing found in \(MergeText.count(report.checked))") }
        try output.flush()
    }

    private func writeJSON(_ report: Report) throws {
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.array("findings") { writer in for finding in report.findings { try writer.object(finding) } }
            try writer.member("checked", report.checked)
            let notChecked = report.refused + report.damaged.map(\.key) + report.withoutSecret.map { $0.key }
            for (name, keys) in [("exempt", report.exempt), ("notChecked", notChecked)] {
                try writer.array(name) { writer in for key in keys { try writer.object(naming: key) } }
            }
            try writer.member("estimates", report.isExact ? "zxcvbn" : "rough")
        }
        try writer.finish()
    }
}

extension Access {
    /// Returns whether the slot opens an item's group.
    fileprivate func opens(_ key: ItemKey) -> Bool {
        switch self {
        case .owner: true
        case .scoped(let groups): groups.contains(key.group)
        }
    }
}
