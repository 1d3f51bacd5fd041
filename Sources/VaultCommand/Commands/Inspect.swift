import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `inspect`: describes a vault, partly even without a key.
struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Describe a vault; without a key, only its public part.",
        discussion: """
            This command never asks for a factor: details that require a key are shown if an option or the environment \
            provides one (an age plugin may ask for its PIN), or if the vault is unlocked. Anything read without a key \
            is marked unauthenticated, because anyone who can write to the file can change it.

            Examples:
              vaultfmt inspect work.vault
              vaultfmt inspect work.vault --passphrase-file pass.txt --json
              vaultfmt inspect work.vault --html work.html
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    @Flag(help: "Also show details for implementers: objects, anchor, compartments, tree, memory.")
    var verbose = false

    @Option("Write an HTML page with a picture of the public parts of the file.", value: "file", isFile: true)
    var html: String?

    func validate() throws {
        guard html == nil || !json && !verbose else {
            throw ValidationError("--html cannot be combined with --json or --verbose; leave one out")
        }
    }

    func run() throws {
        let path = try vault.path
        if let html { return try writePage(html, path) }
        let outside = try readOutside(path)
        let (inside, failure) = readInside()
        try json ? writeJSON(outside, inside, path) : writeText(outside, inside, path)
        if let failure { throw failure }
    }

    /// Reads the parts that anyone can see.
    private func readOutside(_ path: String) throws -> Inspection {
        return try Progress.during("reading") { try Vault.inspect(path) }
    }

    /// Reads the parts that require a key, using the given factors. If the factors do not open the vault, the other
    /// parts are still worth showing.
    private func readInside() -> (InsideView?, CommandFailure?) {
        do {
            guard let opened = try vault.access.openAsGiven(vault.path) else { return (nil, nil) }
            return (try InsideView(opened), nil)
        } catch {
            return (nil, CommandFailure(error))
        }
    }

    /// Writes only the parts that can be read without a key, even if factors are given, because the page may be meant
    /// for others.
    private func writePage(_ output: String, _ path: String) throws {
        try ExportFile.check(output)
        let outline = try Progress.during("reading") { try PageOutline(of: path) }
        let file = try ExportFile(output)
        var page = PageExport(file.output)
        let hash = try page.write(outline, of: path)
        try file.checkInterruption()
        try file.finish()
        Terminal.note("wrote a page about \(TerminalText.path(path)), without its contents, SHA-256 \(hash)")
    }

    private func writeJSON(_ outside: Inspection, _ inside: InsideView?, _ path: String) throws {
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.members(of: outside, path: path, authenticated: inside != nil)
            if let inside { try writer.members(of: inside) }
        }
        try writer.finish()
    }

    private func writeText(_ outside: Inspection, _ inside: InsideView?, _ path: String) throws {
        let output = Output.standard()
        let slots = inside?.slots ?? outside.slots
        try output.write(
            InspectionText.outside(outside, FileFacts(path), path: path, slots: slots, isVerbose: verbose))
        if let inside {
            try output.write(InspectionText.inside(inside, isVerbose: verbose))
        } else {
            try output.line("unauthenticated: read without a key; provide a factor to show the contents")
        }
        try output.flush()
    }
}
