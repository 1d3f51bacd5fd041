import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `status`: shows the state of a vault on this machine.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which vault is used and whether it is unlocked.",
        discussion: """
            This command never asks for a passphrase: for a locked vault, it shows what is known from the file and \
            this machine. Details that need a key are shown if the vault is unlocked, or an option or the environment \
            provides a factor.

            Examples:
              vaultfmt status
              vaultfmt status work.vault --json
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() throws {
        let path = try vault.path
        guard try UserFiles.exists(path) else {
            throw CommandFailure(
                .noSuchFile,
                "there is no vault \(TerminalText.path(path)); check the path, or create a vault with 'vaultfmt create'"
            )
        }
        let (inside, failure) = readInside()
        let view = try StatusView(path, inside)
        try json ? writeJSON(view) : writeText(view)
        if let failure { throw failure }
    }

    /// Reads the parts that require a key, using the given factors. If the factors do not open the vault, the other
    /// parts are still worth showing.
    private func readInside() -> (StatusView.Inside?, CommandFailure?) {
        do {
            guard let opened = try vault.access.openAsGiven(vault.path) else { return (nil, nil) }
            return (try StatusView.Inside(opened), nil)
        } catch {
            return (nil, CommandFailure(error))
        }
    }

    private func writeText(_ view: StatusView) throws {
        let output = Output.standard()
        for line in view.lines { try output.line(line) }
        try output.flush()
    }

    private func writeJSON(_ view: StatusView) throws {
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in try writer.members(of: view) }
        try writer.finish()
    }
}

/// The state of a vault on this machine.
struct StatusView {
    /// The details that only the holder of a key can read.
    struct Inside {
        let statistics: Statistics
        let conflicts: Int
        let access: Access

        init(_ vault: Vault) throws {
            statistics = try Progress.during("reading") { try vault.statistics() }
            conflicts = try vault.conflicts().count
            access = vault.access
        }
    }

    /// The lock state of the vault, depending on whether `unlock` keeps its key.
    enum Lock {
        case locked
        /// The vault is unlocked until this time, in seconds since 1970.
        case unlocked(until: UInt64)
        /// The system has no kernel keyring.
        case cannotTell
    }

    let path: String
    let id: VaultID
    let facts: FileFacts
    let lock: Lock
    let inside: Inside?
    /// The generations that this machine remembers: the one seen as an owner, and the one seen with a scoped slot.
    let remembered: (owner: UInt64?, scoped: UInt64?)
    /// The conflict copies next to the vault.
    let copies: [String]
    let tail: TailState

    init(_ path: String, _ inside: Inside?) throws {
        self.path = path
        self.inside = inside
        let outside = try Vault.inspect(path)
        id = outside.id
        tail = outside.tail
        facts = try FileFacts(path)
        lock = try Self.lock(outside.id)
        let machine = try ThisMachine.current()
        remembered = (
            try machine.remembered(id, at: path)?.anchor.generation,
            try machine.remembered(id, at: path, asOwner: false)?.anchor.generation
        )
        copies = try ConflictCopies.candidates(of: path).filter { !$0.mayBeNamedByPerson }.map(\.path)
    }

    private static func lock(_ id: VaultID) throws -> Lock {
        do throws(VaultError) {
            return try Machine.unlockedUntil(id).map { .unlocked(until: $0) } ?? .locked
        } catch {
            guard error.code == .noKernelKeyring else { throw CommandFailure(error) }
            return .cannotTell
        }
    }

    // MARK: text

    var lines: [String] {
        var lines = ["vault: \(TerminalText.escaped(path))", "state: \(state)"]
        if let inside { lines += Self.lines(inside) }
        lines.append("remembered here: \(memory)")
        lines.append(
            "file: \(MemorySize.text(bytes: facts.bytes)), changed \(Timestamp.short(facts.modified)) UTC, permissions \(facts.permissions)"
        )
        if let writer = facts.writer { lines.append("writing now: \(TerminalText.singleLine(writer))") }
        if case .clean = tail {} else { lines.append("tail: \(InspectionText.tail(tail))") }
        for copy in copies {
            lines.append("copy: \(TerminalText.escaped(copy)); 'vaultfmt merge --conflicts' merges it")
        }
        if inside == nil { lines.append("more: run 'vaultfmt unlock' or provide a factor to show the contents") }
        return lines
    }

    private var state: String {
        switch lock {
        case .locked: return "locked"
        case .cannotTell: return "locked (no kernel keyring is available for its key)"
        case .unlocked(let end):
            let left = max(0, Int64(clamping: end) - Int64(time(nil)))
            let span = left >= 7200 ? "\(left / 3600) h" : left >= 120 ? "\(left / 60) min" : "\(left) s"
            return "unlocked until \(Timestamp.short(Int64(clamping: end) * 1000)) UTC, for another \(span)"
        }
    }

    private var memory: String {
        let parts = [
            remembered.owner.map { "generation \($0)" },
            remembered.scoped.map { "generation \($0) with a scoped slot" },
        ].compactMap(\.self)
        return parts.isEmpty ? "nothing; this machine has not opened the vault" : parts.joined(separator: ", ")
    }

    private static func lines(_ inside: Inside) -> [String] {
        let figures = inside.statistics
        var lines = [
            "opened as: \(InspectionText.access(inside.access))",
            "items: \(figures.items), at generation \(figures.generation)",
            "size: \(MemorySize.text(bytes: figures.liveBytes)) in use, \(MemorySize.text(bytes: figures.deadBytes)) dead",
        ]
        let conflicts = inside.conflicts
        lines.append(
            conflicts == 0
                ? "conflicts: none" : "conflicts: \(MergeText.count(conflicts)); 'vaultfmt conflicts' settles them")
        if let blocked = figures.compactionBlocked {
            lines.append("compaction: cannot run automatically: \(TerminalText.singleLine(blocked))")
        }
        return lines
    }
}

extension JSONWriter {
    fileprivate mutating func members(of view: StatusView) throws {
        try member("file", view.path)
        try member("id", view.id.description)
        switch view.lock {
        case .locked: try member("unlocked", false)
        case .unlocked(let end):
            try member("unlocked", true)
            try member("unlockedUntil", Timestamp.text(Int64(clamping: end) * 1000))
        case .cannotTell:
            try member("unlocked", false)
            try member("kernelKeyring", false)
        }
        try member("fileBytes", view.facts.bytes)
        try member("modified", Timestamp.text(view.facts.modified))
        try member("permissions", "0" + String(view.facts.mode, radix: 8))
        try member("openToOthers", view.facts.isOpenToOthers)
        if let writer = view.facts.writer { try member("writer", writer) }
        try tail(view.tail)
        try object("remembered") { writer in
            if let owner = view.remembered.owner { try writer.member("owner", owner) }
            if let scoped = view.remembered.scoped { try writer.member("scoped", scoped) }
        }
        try array("conflictCopies") { writer in for copy in view.copies { try writer.value(copy) } }
        guard let inside = view.inside else { return }
        try member("generation", inside.statistics.generation)
        try member("items", inside.statistics.items)
        try member("liveBytes", inside.statistics.liveBytes)
        try member("deadBytes", inside.statistics.deadBytes)
        try member("conflicts", inside.conflicts)
    }
}
