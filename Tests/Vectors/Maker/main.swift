import Foundation
import VaultForge
import VectorMaking

// Makes the vectors without the library.
let directory = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true)
var wrong = 0
var made = 0
let only = CommandLine.arguments.dropFirst(2).first ?? ""
let all: [Vector]
do { all = try VectorMaking.all() } catch {
    print(error)
    exit(1)
}
for vector in all where only.isEmpty || vector.name.contains(only) {
    do {
        let url = directory.appendingPathComponent(vector.path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(vector.encode()).write(to: url)
        made += 1
    } catch let error as ForgeError {
        print(error.description)
        wrong += 1
    }
}
print("\(made) vectors, \(wrong) wrong")
