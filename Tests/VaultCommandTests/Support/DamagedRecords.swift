import Testing

extension Sandbox {
    /// Changes one byte in the record that `get` with these arguments reads, and in nothing else. The record must be
    /// older than the newest commit. `name`: the vault's file.
    func damageRecord(
        of arguments: String..., in name: String = "test.vault", sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let whole = try read(name)
        for place in whole.ranges(of: Array("vREC".utf8)) {
            var bytes = whole
            bytes[place.lowerBound + 100] ^= 1
            try write(name, bytes)
            if try run(["get"] + arguments).status == 65 { return }
        }
        Issue.record("no record of \(arguments) was found", sourceLocation: sourceLocation)
    }
}
