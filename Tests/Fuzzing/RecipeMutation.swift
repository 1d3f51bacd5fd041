internal import VaultBytes

/// Alters recipes for a fuzzer: mostly what is in one object, sometimes which objects there are.
enum RecipeMutation {
    /// Changes some bytes, which may then be as many as said: the fuzzer's own way of mutating.
    typealias Bytes = (_ bytes: inout [UInt8], _ most: Int) -> Void

    static func mutate(_ recipe: Recipe, most: Int, seed: UInt64, _ mutateBytes: Bytes) -> Recipe {
        var choices = SeededChoices(seed: seed)
        var recipe = recipe
        let rounds = choices.chance(3) ? 2 + choices.below(4) : 1
        for _ in 0..<rounds { mutateOnce(&recipe, most: most, &choices, mutateBytes) }
        while recipe.encoded.count > most, !recipe.objects.isEmpty { recipe.objects.removeLast() }
        return recipe
    }

    private static func mutateOnce(_ recipe: inout Recipe, most: Int, _ choices: inout SeededChoices, _ mutateBytes: Bytes) {
        guard !recipe.objects.isEmpty else { return mutateBytes(&recipe.header, 8192) }
        let index = choices.below(recipe.objects.count)
        let other = choices.below(recipe.objects.count)
        switch choices.below(20) {
        case 0...7: mutateBytes(&recipe.objects[index].body, recipe.objects[index].body.count + 512)
        case 8, 9: setNumber(&recipe.objects[index].body, &choices)
        case 10: mutateBytes(&recipe.header, min(most, 8192))
        case 11: setNumber(&recipe.header, &choices)
        case 12: recipe.objects.swapAt(index, other)
        case 13: recipe.objects.insert(recipe.objects[index], at: other)
        case 14: recipe.objects.remove(at: index)
        case 15: recipe.objects[index].flags ^= 1 << UInt8(choices.below(8))
        case 16: recipe.objects[index].id = recipe.objects[other].id
        case 17: copyPart(from: recipe.objects[other].body, into: &recipe.objects[index].body, &choices)
        case 18: recipe.headerFlags ^= Recipe.Flag.macs
        default:
            let kind = choices.pick(Recipe.Kind.allCases)
            let body = choices.chance(2) ? [UInt8](repeating: 0, count: choices.below(600)) : recipe.objects[index].body
            recipe.objects.insert(Recipe.Object(kind: kind, flags: 0, id: recipe.objects[other].id, body: body), at: index)
        }
    }

    /// Writes one of the numbers at which limits and overflows lie, as a fixed number or a varint.
    private static func setNumber(_ body: inout [UInt8], _ choices: inout SeededChoices) {
        guard body.count >= 9 else { return }
        let near = UInt64(choices.below(3)) &- 1
        let value =
            choices.pick([
                0, 1, 63, 64, 127, 128, 255, 256, 4096, 8192, 16_384, 65_535, 65_536, 1 << 20, 1 << 24, 1 << 31, 1 << 32, 1 << 48, 1 << 62,
                .max >> 1,
            ]) &+ near
        var bytes: [UInt8] = []
        switch choices.below(4) {
        case 0: bytes = withUnsafeBytes(of: value.littleEndian) { Array($0) }
        case 1: bytes = withUnsafeBytes(of: UInt32(truncatingIfNeeded: value).littleEndian) { Array($0) }
        case 2: bytes = [UInt8(truncatingIfNeeded: value)]
        default: bytes.append(varint: value & (.max >> 1))
        }
        let at = choices.chance(3) ? choices.below(min(64, body.count)) : choices.below(body.count)
        let end = min(at + bytes.count, body.count)
        body.replaceSubrange(at..<(choices.chance(4) ? at : end), with: bytes)
    }

    private static func copyPart(from source: [UInt8], into target: inout [UInt8], _ choices: inout SeededChoices) {
        guard !source.isEmpty, !target.isEmpty else { return }
        let from = choices.below(source.count)
        let count = min(1 + choices.below(64), source.count - from)
        let at = choices.below(target.count)
        let end = choices.chance(2) ? at : min(at + count, target.count)
        target.replaceSubrange(at..<end, with: source[from..<from + count])
    }
}
