/// A vault file that a fuzz target makes of an input, and what it is opened with.
package struct FuzzFile {
    package let bytes: [UInt8]
    package let rawKey: [UInt8]

    /// The device that opens what is bound to one: an id of 16 bytes, and a secret of 32.
    package static let device = (id: [UInt8](1...16), secret: [UInt8](17...48))
}

extension FuzzTarget {
    /// The vault file that this target reads for an input.
    ///
    /// - Throws: If a sequence of operations goes wrong.
    package func file(_ input: [UInt8]) throws -> FuzzFile {
        switch self {
        case .open: return FuzzFile(bytes: input, rawKey: FuzzFactors(fitting: input).rawKey)
        case .sealed:
            return FuzzFile(bytes: input.withUnsafeBytes { Recipe($0) }.sealed(), rawKey: FuzzFactors.usualKey)
        case .operations:
            return try input.withUnsafeBytes { input in
                var choices = ByteChoices(input)
                return try OperationRunner.runInMemory(Operation.sequence(&choices, changes: 150), seed: 1)
            }
        }
    }
}
