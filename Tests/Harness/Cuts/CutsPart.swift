internal import VaultFmt

/// What a file that was cut off, or whose commits are damaged, is called, and what salvage makes of it.
extension Part {
    static let cuts = Part(
        name: "cuts",
        about: "a vault at each of its lengths, and with each bit of its commits flipped: opened and salvaged"
    ) { run in
        for (name, specimen) in [
            ("changed slots", try CutSpecimen(isScoped: false)), ("a scoped slot", try CutSpecimen(isScoped: true)),
        ] {
            let lengths = run.isLong ? Array(0...specimen.bytes.count) : someLengths(specimen)
            run.parallel(lengths.count) { index in
                run.count()
                do { try specimen.checkCut(to: lengths[index]) } catch {
                    run.fail("with \(name), cut to \(lengths[index]) of \(specimen.bytes.count) bytes: \(error)")
                }
            }
            let flips = flips(specimen, run)
            run.parallel(flips.count) { index in
                let (commit, byte, bit) = flips[index]
                run.count()
                do { try specimen.checkFlip(commit, byte: byte, bit: bit) } catch {
                    run.fail("with \(name), bit \(bit) of byte \(byte) of commit \(commit): \(error)")
                }
            }
            run.note("with \(name): \(lengths.count) lengths, \(flips.count) bits of \(specimen.past.count) commits")
        }
    }

    /// Lengths around the end of each state, and some in between.
    private static func someLengths(_ specimen: CutSpecimen) -> [Int] {
        var lengths = Set(stride(from: 0, through: specimen.bytes.count, by: 509))
        for state in specimen.past {
            lengths.formUnion([-513, -512, -504, -503, -8, -1, 0, 1, 8, 512].map { state.end + $0 })
        }
        return lengths.filter { (0...specimen.bytes.count).contains($0) }.sorted()
    }

    private static func flips(_ specimen: CutSpecimen, _ run: PartRun) -> [(commit: Int, byte: Int, bit: Int)] {
        let bytes = run.isLong ? Array(0..<512) : [0, 5, 20, 100, 400, 500, 511]
        let bits = run.isLong ? Array(0..<8) : [2]
        return specimen.past.indices.flatMap { commit in
            bytes.flatMap { byte in bits.map { (commit: commit, byte: byte, bit: $0) } }
        }
    }
}
