import Foundation
import TestSupport
import VectorMaking

/// `generate` and `compare`: every vector and `ops` vector, the same bytes each time.
enum GenerateCommand {
    static func run(_ folder: String) throws {
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        let files = try files()
        for old in try present(directory) where files[old] == nil {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(old))
        }
        for (path, bytes) in files {
            let url = directory.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: url)
        }
        print(
            "\(files.keys.count { !$0.hasPrefix("ops/") }) vectors, \(files.keys.count { $0.hasPrefix("ops/") }) of writing"
        )
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
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        return paths.filter { $0.hasSuffix(".vector") || $0.hasSuffix(".ops") }
    }

    /// All files by their paths.
    private static func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        var wrong: [String] = []
        let vectors = try VectorMaking.all() + MergingVectors.all()
        for vector in vectors {
            do { files[vector.path] = try vector.encode() } catch let error as ForgeError {
                wrong.append(error.description)
            }
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
}
