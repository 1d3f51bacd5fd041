internal import Glibc

/// The conformance vectors (Spec/vectors) as inputs to start from.
public enum VectorSeeds {
    /// The raw key of nearly all of them that have one.
    package static let rawKey = [UInt8](0..<32)

    /// A vector's file: what stands after its first empty line.
    public static func vault(in vector: [UInt8]) -> [UInt8]? {
        let end = zip(vector, vector.dropFirst()).enumerated().first { $0.element == (0x0A, 0x0A) }
        return end.map { Array(vector[($0.offset + 2)...]) }
    }

    /// If this process was started as `PROGRAM --seeds FOLDER VECTOR…`, writes what each vector is to a target into the
    /// folder, and ends it.
    public static func writeIfAsked(_ seed: (_ vector: [UInt8]) -> [UInt8]?) {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, arguments[1] == "--seeds" else { return }
        for path in arguments[3...] {
            guard let vector = read(path) else { fatalError("cannot read \(path)") }
            guard let bytes = seed(vector) else { continue }
            let name = path.split(separator: "/").last ?? ""
            guard write(bytes, "\(arguments[2])/\(name)") else { fatalError("cannot write to \(arguments[2])") }
        }
        exit(0)
    }

    private static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { all += piece[..<count] }
        return ferror(file) == 0 ? all : nil
    }

    private static func write(_ bytes: [UInt8], _ path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        let count = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && count == bytes.count
    }
}

extension FuzzTarget {
    /// What a vector is to this target; nil where its vault does not come apart, and for operations, which no vault is
    /// made of.
    public func seed(from vector: [UInt8]) -> [UInt8]? {
        guard let vault = VectorSeeds.vault(in: vector) else { return nil }
        switch self {
        case .open: return vault
        case .sealed:
            guard let recipe = Recipe(taking: vault, rawKey: VectorSeeds.rawKey) else { return nil }
            let encoded = recipe.encoded
            // An optimised build once wrote other bytes, and fuzzed nothing.
            guard encoded.withUnsafeBytes({ Recipe($0) }) == recipe else {
                fatalError("a recipe reads otherwise than it was written")
            }
            return encoded
        case .operations: return nil
        }
    }
}
