/// Something that the harness checks, by name.
struct Part: Sendable {
    let name: String
    /// One line.
    let about: String
    let run: @Sendable (PartRun) throws -> Void

    /// In the order in which they run. Each stands in a file of its own.
    static let all: [Part] = [
        .crash, .faults, .disk, .kill, .syncing, .power, .files, .mutation, .flips, .cuts, .bounds, .concurrency,
        .scopes,
        .machines, .hosts, .memory,
        .terminal,
        .descriptors, .meetings, .sanitizers,
    ]
}

/// What a part starts as processes of their own: `harness --role NAME ARGUMENT…`. A role returns its exit code.
enum Role {
    static let all: [String: @Sendable ([String]) -> Int32] = [
        ContestedVault.writer: ContestedVault.write,
        ContestedVault.reader: ContestedVault.read,
        LibraryMemory.role: LibraryMemory.run,
        "writer": KillRoles.writer, "reader": KillRoles.reader, "files": FileCases.role,
        KilledImport.role: KilledImport.run, "change": ChangedVault.role,
        LibraryDescriptors.role: LibraryDescriptors.run,
    ]
}
