/// Every way to alter a small vault gives a typed error or exactly a committed state.
extension Part {
    static let mutation = Part(
        name: "mutation", about: "each bit, byte, length and order of objects of a small vault altered"
    ) { run in
        let specimen = try Specimen()
        let bytes = specimen.bytes
        @Sendable func check(_ changed: [UInt8], _ what: @autoclosure () -> String) {
            run.count()
            if let wrong = specimen.look(changed) { run.fail("\(what()): \(wrong)") }
        }

        check(bytes, "as it is")
        run.parallel(bytes.count) { offset in
            for bit in 0..<8 {
                var changed = bytes
                changed[offset] ^= 1 << UInt8(bit)
                check(changed, "bit \(bit) of byte \(offset) flipped")
            }
            check(Array(bytes[..<offset]), "cut off at \(offset)")
        }
        run.parallel(bytes.count) { offset in
            var numbers = run.numbers(UInt64(offset))
            let share = run.isLong ? 1 : 16
            for step in stride(from: numbers.below(share), to: 255, by: share) {
                var changed = bytes
                changed[offset] = bytes[offset] &+ UInt8(step + 1)
                check(changed, "byte \(offset) set to \(changed[offset])")
            }
        }
        let objects = try specimen.objects()
        run.parallel(objects.count) { first in
            for second in objects[(first + 1)...] {
                let one = objects[first]
                let changed = Array(
                    bytes[..<one.lowerBound] + bytes[second] + bytes[one.upperBound..<second.lowerBound])
                check(
                    changed + bytes[one] + bytes[second.upperBound...],
                    "objects at \(one.lowerBound) and \(second.lowerBound) swapped")
            }
        }
        run.note("a vault of \(bytes.count) bytes, \(objects.count) objects, \(specimen.generations) states")
    }
}
