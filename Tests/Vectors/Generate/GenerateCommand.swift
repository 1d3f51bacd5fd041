import Foundation
import VaultForge

/// `generate` and `compare`: every vector and `ops` vector, the same bytes each time.
enum GenerateCommand {
    static func run(_ folder: String) throws {
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        try FileManager.default.createDirectory(at: directory.appendingPathComponent("ops"), withIntermediateDirectories: true)
        let files = try files()
        for old in try present(directory) where files[old] == nil {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(old))
        }
        for (path, bytes) in files { try Data(bytes).write(to: directory.appendingPathComponent(path)) }
        print("\(files.keys.count { !$0.hasPrefix("ops/") }) vectors, \(files.keys.count { $0.hasPrefix("ops/") }) of writing")
    }

    /// Prints what a folder has otherwise than it would be made now; false if there is anything.
    static func compare(_ folder: String) throws -> Bool {
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        let files = try files()
        var different = Set(files.keys).symmetricDifference(try present(directory))
        for (path, bytes) in files where !different.contains(path) {
            if try Array(Data(contentsOf: directory.appendingPathComponent(path))) != bytes { different.insert(path) }
        }
        for path in different.sorted() { print("\(path) is not what `generate` makes") }
        return different.isEmpty
    }

    private static func present(_ directory: URL) throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        return paths.filter { $0.hasSuffix(".vector") || $0.hasSuffix(".ops") }
    }

    /// All files by their paths.
    private static func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        var wrong: [String] = []
        let vectors = try all()
        for vector in vectors {
            do { files[vector.name + ".vector"] = try vector.encode() } catch let error as ForgeError { wrong.append(error.description) }
        }
        guard wrong.isEmpty else { throw ForgeError(wrong.joined(separator: "\n")) }
        // Each starts from a vector, or from the result of one before it.
        var vaults = Dictionary(uniqueKeysWithValues: vectors.map { ($0.name, $0.file) })
        for vector in try OperationsVectors.all() {
            guard vaults[vector.name] == nil, vector.base == "-" || vaults[vector.base] != nil else {
                throw ForgeError("\(vector.name): its name is taken, or its base is not there")
            }
            let result = try vector.result(vaults[vector.base])
            vaults[vector.name] = result
            files["ops/" + vector.name + ".ops"] = vector.encode(result)
        }
        return files
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
}
