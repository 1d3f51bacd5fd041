import ArgumentParser
import VaultFmt
import VaultLocal

/// `inspect`: what a vault is, as far as can be said.
struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Describe a vault: without a key from what anybody can read, with one in full.",
        discussion: """
            Nothing is asked for: what only a key holder can know is shown where a factor is given by an option or the environment, or \
            the vault is unlocked. What was read without a key is marked unauthenticated, for whoever can write the file can change it.

            Examples:
              vaultfmt inspect work.vault
              vaultfmt inspect work.vault --passphrase-file pass.txt --json
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        let path = try vault.path
        let outside = try readOutside(path)
        let (inside, failure) = readInside()
        try json ? writeJSON(outside, inside, path) : writeText(outside, inside, path)
        if let failure { throw failure }
    }

    /// What anybody can read.
    private func readOutside(_ path: String) throws -> Inspection {
        return try Progress.during("reading") { try Vault.inspect(path) }
    }

    /// What the factors given show; where they do not open the vault, what anybody can read is still worth showing.
    private func readInside() -> (InsideView?, CommandFailure?) {
        do {
            if let kept = try vault.access.openUnlocked(vault.path) { return (try InsideView(kept), nil) }
            guard vault.access.factors.sources.isAnyGiven else { return (nil, nil) }
            return (try InsideView(vault.openVault()), nil)
        } catch {
            return (nil, CommandFailure(error))
        }
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
        try output.write(InspectionText.outside(outside, path: path, slots: inside?.slots ?? outside.slots))
        if let inside {
            try output.write(InspectionText.inside(inside))
        } else {
            try output.line("unauthenticated: read without a key; give a factor to see what is inside")
        }
        try output.flush()
    }
}
