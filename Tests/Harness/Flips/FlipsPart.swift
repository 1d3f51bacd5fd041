internal import VaultFmt

/// What one wrong bit costs: of a record, what that record holds; of the header, nothing that salvage does not recover;
/// else an error or nothing.
extension Part {
    static let flips = Part(
        name: "flips",
        about: "each bit of a vault of ten items flipped: opened, read, verified, and salvaged where it is the header's"
    ) { run in
        for (name, specimen) in [("fresh", try FlipSpecimen(isUsed: false)), ("used", try FlipSpecimen(isUsed: true))] {
            let bits = 0..<(run.isLong ? 8 : 1)
            run.parallel(specimen.bytes.count) { offset in
                var numbers = run.numbers(UInt64(offset))
                for number in bits {
                    let bit = run.isLong ? number : numbers.below(8)
                    run.count()
                    do { try specimen.check(offset, bit: bit) } catch {
                        run.fail(
                            "bit \(bit) of byte \(offset) of the \(name) vault, in \(specimen.place(offset)): \(error)")
                    }
                }
            }
            run.note("a \(name) vault of \(specimen.bytes.count) bytes: \(specimen.summary)")
        }
    }
}
