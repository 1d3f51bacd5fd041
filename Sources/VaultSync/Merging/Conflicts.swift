package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `conflicts`: the conflicts that merges have left to settle.
package struct Conflicts: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List, show and settle conflicts left by merges.",
        discussion: """
            If two machines change the same field of an item, the newer change wins, and the other value is kept until \
            you settle the conflict. Changing the field also settles the conflict, and the command reports that.

            Examples:
              vaultfmt conflicts
              vaultfmt conflicts show github.com alice
              vaultfmt conflicts settle github.com alice --keep 2
            """,
        subcommands: [ConflictsList.self, ConflictsShow.self, ConflictsSettle.self],
        defaultSubcommand: ConflictsList.self)

    package init() {}
}

/// `conflicts list`.
struct ConflictsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the items with conflicts to settle, without their values.",
        discussion: """
            Prints a line for each item, with its name and fields. --json writes an array of objects with the members of the key, id and values; each \
            value has number, kind, name, revision, replica and time.

            Examples:
              vaultfmt conflicts list
              vaultfmt conflicts list --json
            """)

    @Flag(help: "Print a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let found = try vault.openVault().conflicts()
        let output = Output.standard()
        if json {
            var writer = JSONWriter(output)
            try writer.array { writer in
                for conflict in found {
                    try writer.object { writer in
                        try writer.members(naming: conflict.key)
                        try writer.member("id", conflict.item.description)
                        try writer.array("values") { writer in
                            for (index, value) in conflict.values.enumerated() {
                                try writer.object { writer in try writer.members(of: value, number: index + 1) }
                            }
                        }
                    }
                }
            }
            return try writer.finish()
        }
        for conflict in found {
            let fields = MergeText.fields(conflict.values.map(\.field))
            try output.line(TerminalText.singleLine("\(ItemText.summary(conflict.key)): \(fields)"))
        }
        try output.flush()
        if found.isEmpty { Terminal.note("there are no conflicts to settle") }
    }
}

/// `conflicts show`.
struct ConflictsShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the values that an item lost in merges.",
        discussion: """
            Prints a line for each value: its number, when it was set, the field, and the value itself. For a secret \
            or sealed value of an item that has moved since, only its former place is shown. --value writes one value \
            to standard output, as 'vaultfmt get' does with a secret.

            Examples:
              vaultfmt conflicts show github.com alice
              vaultfmt conflicts show github.com alice --value 2
            """)

    @OptionGroup var chosen: ItemChoice

    @Option("Print only the value with this number.", value: "number")
    var value: Int?

    @Flag(help: "Show the value on the terminal even if it is not text.")
    var force = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened)
        guard let conflict = try opened.conflict(in: item.key) else {
            return Terminal.note("\(ItemText.summary(item.key)) has no conflicts to settle")
        }
        if let value { return try deliver(conflict.value(numbered: value)) }
        let output = Output.standard()
        var table = Table(["NUMBER", "SET", "FIELD", "VALUE"])
        for (index, value) in conflict.values.enumerated() {
            let time = table.isForPeople ? Timestamp.short(value.time) : Timestamp.text(value.time)
            try table.add(["\(index + 1)", time, MergeText.field(value.field), value.shown], to: output)
        }
        try table.finish(output)
        try output.flush()
    }

    private func deliver(_ value: Conflict.Value) throws {
        if let bytes = value.value { return try Output.deliver(bytes, force: force) }
        guard value.key != nil || value.place != nil else {
            throw CommandFailure(
                .unavailable,
                "this value cannot be read here: its device's secret is missing, or its record is damaged; settle the conflict on that device"
            )
        }
        try Output.deliver(Secret(text: value.shown), force: force)
    }
}

/// `conflicts settle`.
struct ConflictsSettle: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle",
        abstract: "Settle an item's conflicts, keeping its values or restoring lost ones.",
        discussion: """
            Without --keep, the item stays as it is; one that shows no secret stays without it. With --keep, the \
            chosen values replace the item's current ones, one for each field. Secrets and sealed attributes that are \
            not kept become earlier values; other values that are not kept are discarded; 'vaultfmt undo' brings the \
            conflicts back, unless a secret attribute replaced one that every slot can read: the file is then \
            rewritten. A secret that was set when the item had a different group, accessibility or device is \
            kept only after confirmation, because others may be able to read it here.

            Examples:
              vaultfmt conflicts settle github.com alice
              vaultfmt conflicts settle github.com alice --keep 2
              vaultfmt conflicts settle --all
            """)

    @OptionGroup var chosen: ItemChoice

    @Option(help: ArgumentHelp("Keep the value with this number; may be repeated.", valueName: "number"))
    var keep: [Int] = []

    @Flag(help: "Settle all conflicts, leaving every item as it is.")
    var all = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !all || keep.isEmpty else { throw ValidationError("--all cannot be combined with --keep; leave one out") }
    }

    func run() throws {
        if all { return try settleAll() }
        try chosen.check()
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        guard let conflict = try opened.conflict(in: item.key) else {
            guard keep.isEmpty else {
                throw CommandFailure(
                    .noSuchItem,
                    "\(ItemText.summary(item.key)) has no conflicts to settle; they may have been settled on another machine"
                )
            }
            return Terminal.note("\(ItemText.summary(item.key)) has no conflicts to settle")
        }
        let values = try keep.map { try conflict.value(numbered: $0) }
        guard try confirm(values, in: conflict.place),
            try confirmLoss([conflict.losing(to: values, in: item)], in: opened)
        else {
            throw CommandFailure.declined("nothing was settled")
        }
        let isRewritten = try NarrowingOption.changeAtOnce(opened) { (transaction) throws(VaultError) in
            try Self.settle(conflict, keeping: values, in: transaction)
        }
        let kept = values.isEmpty ? "as it is" : "with \(MergeText.fields(values.map(\.field))) as chosen"
        Terminal.note("settled \(ItemText.summary(item.key)), \(kept)")
        noteDiscarded([conflict.losing(to: values, in: item)], canUndo: !isRewritten)
        try noteMissingSecrets([conflict], in: opened)
    }

    /// Settles the conflicts that were shown, but nothing that another process has merged since.
    private static func settle(
        _ conflict: Conflict, keeping values: [Conflict.Value], in transaction: Transaction
    ) throws(VaultError) {
        guard let now = try transaction.conflict(in: conflict.key), now.isSame(as: conflict) else {
            throw VaultError(
                .busy,
                "another process has changed what is left to settle; nothing was settled, see 'vaultfmt conflicts'")
        }
        try transaction.settle(conflict.key, keeping: values)
    }

    /// Asks for confirmation if the item would get other readers, or if a value would become visible to people who could
    /// not read it in the place where it was set.
    private func confirm(_ values: [Conflict.Value], in current: Conflict.Place) throws -> Bool {
        let place = values.compactMap(\.place).first ?? current
        var isAsked = false
        for (number, value) in zip(keep, values) {
            if let moved = value.place, moved != current {
                isAsked = true
                Terminal.warning(
                    "value \(number) moves the item from \(current.words) to \(moved.words): then everyone who can read items there could read this one, and nobody else"
                )
            }
            guard let other = value.otherPlace, other != place else { continue }
            isAsked = true
            Terminal.warning(
                "value \(number) was set in \(other.words), and the item is in \(place.words): everyone who can read the item there could read this value"
            )
        }
        guard isAsked, !yes else { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(
                .usage, "nothing was settled: there is no terminal to prompt on; use --yes")
        }
        return try Prompt.confirm("Keep it there?", instead: "use --yes")
    }

    /// Reports how many secrets would be lost because the vault keeps fewer earlier values than there are, and asks for
    /// confirmation.
    private func confirmLoss(_ losing: [LosingValues], in opened: Vault) throws -> Bool {
        let kept = opened.keptVersions
        let lost = losing.reduce(0) { count, losing in
            losing.secrets.values.reduce(count) { $0 + max(0, $1 - kept) }
        }
        guard lost > 0 else { return true }
        let keeps = kept == 0 ? "no earlier values" : "\(kept) earlier \(kept == 1 ? "value" : "values") of each field"
        Terminal.warning(
            "the vault keeps \(keeps) ('vaultfmt rekey --keep'), so not all secrets that lose can be kept: \(lost) would be lost"
        )
        guard !yes else { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(.usage, "nothing was settled: there is no terminal to prompt on; use --yes")
        }
        return try Prompt.confirm("Settle anyway?", instead: "use --yes")
    }

    /// Reports the losing values that do not become earlier values.
    private func noteDiscarded(_ losing: [LosingValues], canUndo: Bool) {
        let count = losing.reduce(0) { $0 + $1.others }
        guard count > 0 else { return }
        let undo = canUndo ? "; 'vaultfmt undo' brings back what was left to settle" : ""
        Terminal.note(
            "\(count) \(count == 1 ? "value that is" : "values that are") not secret \(count == 1 ? "was" : "were") discarded\(undo)"
        )
    }

    /// Names the settled items that show no secret although a merge had left one to settle: a branch under replaced
    /// keys added the item, and its secret was not kept.
    private func noteMissingSecrets(_ conflicts: [Conflict], in opened: Vault) throws {
        let ids = Set(conflicts.filter { $0.values.contains { $0.field == .secret } }.map(\.item))
        guard !ids.isEmpty else { return }
        var (lines, more) = ([String](), 0)
        var cursor = try opened.items()
        while let item = try cursor.next() {
            guard ids.contains(item.id), item.lacksSecret else { continue }
            guard lines.count < 20 else {
                more += 1
                continue
            }
            lines.append(try opened.missingSecret(of: item).line(item.key))
        }
        for line in lines { Terminal.note(line) }
        if more > 0 { Terminal.note("… and \(MergeText.count(more)) more without a secret") }
    }

    private func settleAll() throws {
        let opened = try vault.openVault(writable: true)
        let conflicts = try opened.conflicts()
        let losing = conflicts.map { $0.losing() }
        guard try confirmLoss(losing, in: opened) else { throw CommandFailure.declined("nothing was settled") }
        if !conflicts.isEmpty {
            try Progress.during("writing") {
                try opened.transaction { transaction throws(VaultError) in
                    for conflict in conflicts { try Self.settle(conflict, keeping: [], in: transaction) }
                }
            }
        }
        Terminal.note("settled \(MergeText.count(conflicts.count)): the values shown stay")
        noteDiscarded(losing, canUndo: true)
        try noteMissingSecrets(conflicts, in: opened)
    }
}

/// The values of an item that lose when its conflicts are settled.
private struct LosingValues {
    /// The number of secrets and sealed values of each field, which become earlier values.
    var secrets: [ConflictField: Int] = [:]
    /// The number of other values, which are discarded.
    var others = 0

    /// Counts one value.
    mutating func add(_ field: ConflictField, isSealed: Bool) {
        if field == .secret || isSealed { secrets[field, default: 0] += 1 } else { others += 1 }
    }
}

extension Conflict {
    /// Returns the values that lose when the conflicts are settled: those that are not chosen, and the current ones
    /// that chosen ones replace. An item that was added under replaced keys may show nothing that could lose.
    fileprivate func losing(to chosen: [Value], in item: Item) -> LosingValues {
        var losing = LosingValues()
        for value in values where !chosen.contains(where: { $0.isSame(as: value) }) {
            losing.add(value.field, isSealed: value.flags.contains(.sealed))
        }
        for field in Set(chosen.map(\.field)) {
            switch field {
            case .secret: if !item.lacksSecret { losing.add(field, isSealed: true) }
            case .key, .place: losing.add(field, isSealed: false)
            case .attribute(let name):
                guard let current = item.attributes.attribute(name) else { continue }
                losing.add(field, isSealed: current.flags.contains(.sealed))
            }
        }
        return losing
    }

    /// Returns the values that lose when no value is chosen.
    fileprivate func losing() -> LosingValues {
        var losing = LosingValues()
        for value in values { losing.add(value.field, isSealed: value.flags.contains(.sealed)) }
        return losing
    }

    /// Returns whether the same values are left to settle in both conflicts.
    fileprivate func isSame(as other: Conflict) -> Bool {
        item == other.item
            && values.elementsEqual(other.values) { $0.isSame(as: $1) }
    }

    /// Returns the value with the given number, as printed by `conflicts show`.
    fileprivate func value(numbered number: Int) throws -> Value {
        guard values.indices.contains(number - 1) else {
            throw CommandFailure(
                .noSuchItem,
                "there is no value \(number): the item has \(values.count); 'vaultfmt conflicts show' lists them")
        }
        return values[number - 1]
    }
}

extension Conflict.Value {
    /// Returns whether both are the same value of the same item.
    func isSame(as other: Self) -> Bool {
        (field, revision, replica) == (other.field, other.revision, other.replica)
    }

    /// The value, unless it is a secret.
    fileprivate var shown: String {
        switch field {
        case .secret: return otherPlace.map { "(set in \($0.words))" } ?? ""
        case .key: return key.map { ItemText.summary($0) } ?? ""
        case .place: return place?.words ?? ""
        case .attribute where !flags.isDisjoint(with: [.sealed, .concealed]):
            return otherPlace.map { "(set in \($0.words))" } ?? ""
        case .attribute:
            guard let value else { return "(not readable here)" }
            return value.withUnsafeBytes { ItemText.text(Array($0)) }
        }
    }
}

extension Conflict.Place {
    /// A description of the group, the accessibility and the device.
    fileprivate var words: String {
        var words = [group.isEmpty ? "the default group" : "group \(TerminalText.quoted(group))", accessibility.name]
        if let device { words.append("device \(device)") }
        return words.joined(separator: ", ")
    }
}

extension JSONWriter {
    fileprivate mutating func members(of value: Conflict.Value, number: Int) throws {
        try member("number", number)
        try members(of: value.field)
        try member("revision", value.revision)
        try member(replica: value.replica)
        try member("time", Timestamp.text(value.time))
    }
}
