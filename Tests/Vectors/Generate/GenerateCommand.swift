import Foundation
import VaultForge

/// `generate`: every vector and `ops` vector, the same bytes each time.
enum GenerateCommand {
    static func run(_ folder: String) throws {
        let vectors = try all()
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try removeOld(directory, "vector", Set(vectors.map(\.name)))
        var wrong: [String] = []
        for vector in vectors {
            do {
                try Data(try vector.encode()).write(to: directory.appendingPathComponent(vector.name + ".vector"))
            } catch let error as ForgeError { wrong.append(error.description) }
        }
        guard wrong.isEmpty else { throw ForgeError(wrong.joined(separator: "\n")) }
        print("\(vectors.count) vectors")
    }

    static func all() throws -> [Vector] {
        let bases = try Bases()
        for base in [bases.empty, bases.one, bases.grown, bases.tree, bases.scoped, bases.device, bases.attributes] {
            guard try base.forge().assemble() == base.file else { throw ForgeError("a vault that was taken apart and not altered has changed") }
        }
        var collection = Collection()
        try collection.addFeatures(bases)
        try collection.addHeaders(bases)
        try collection.addSlots(bases)
        try collection.addCommits(bases)
        try collection.addPages(bases)
        try collection.addKeyrings(bases)
        try collection.addItems(bases)
        try collection.addRecovery(bases)
        return collection.vectors
    }

    /// Vectors that are made no longer.
    private static func removeOld(_ directory: URL, _ type: String, _ names: Set<String>) throws {
        for file in try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        where file.pathExtension == type && !names.contains(file.deletingPathExtension().lastPathComponent) {
            try FileManager.default.removeItem(at: file)
        }
    }
}
