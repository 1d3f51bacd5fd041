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
        let operations = try OperationsVectors.all()
        try writeOperations(operations, vectors, directory.appendingPathComponent("ops", isDirectory: true))
        print("\(vectors.count) vectors, \(operations.count) of writing")
    }

    /// Each starts from a vector, or from the result of one before it.
    private static func writeOperations(_ operations: [OperationsVector], _ vectors: [Vector], _ directory: URL) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try removeOld(directory, "ops", Set(operations.map(\.name)))
        var files = Dictionary(uniqueKeysWithValues: vectors.map { ($0.name, $0.file) })
        for vector in operations {
            guard files[vector.name] == nil, vector.base == "-" || files[vector.base] != nil else {
                throw ForgeError("\(vector.name): its name is taken, or its base is not there")
            }
            let result = try vector.result(files[vector.base])
            files[vector.name] = result
            try Data(vector.encode(result)).write(to: directory.appendingPathComponent(vector.name + ".ops"))
        }
    }

    static func all() throws -> [Vector] {
        let bases = try Bases()
        for base in [bases.empty, bases.one, bases.grown, bases.tree, bases.scoped, bases.device, bases.attributes] {
            guard try base.forge().assemble() == base.file else {
                throw ForgeError("a vault that was taken apart and not altered has changed")
            }
        }
        var collection = Collection()
        try collection.addFeatures(bases)
        try collection.addHeaders(bases)
        try collection.addSlots(bases)
        try collection.addCommits(bases)
        try collection.addPages(bases)
        try collection.addKeyrings(bases)
        try collection.addItems(bases)
        try collection.addRecords(bases)
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
