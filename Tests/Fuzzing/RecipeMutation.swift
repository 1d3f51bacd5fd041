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

    private static func mutateOnce(
        _ recipe: inout Recipe, most: Int, _ choices: inout SeededChoices, _ mutateBytes: Bytes
    ) {
        guard !recipe.objects.isEmpty else { return mutateBytes(&recipe.header, 8192) }
        let index = choices.below(recipe.objects.count)
        let other = choices.below(recipe.objects.count)
        switch choices.below(20) {
        case 0...7: mutateBytes(&recipe.objects[index].body, recipe.objects[index].body.count + 512)
        case 8, 9: ByteMutation.setNumber(&recipe.objects[index].body, &choices)
        case 10: mutateBytes(&recipe.header, min(most, 8192))
        case 11: ByteMutation.setNumber(&recipe.header, &choices)
        case 12: recipe.objects.swapAt(index, other)
        case 13: recipe.objects.insert(recipe.objects[index], at: other)
        case 14: recipe.objects.remove(at: index)
        case 15: recipe.objects[index].flags ^= 1 << UInt8(choices.below(8))
        case 16: recipe.objects[index].id = recipe.objects[other].id
        case 17: ByteMutation.copyPart(from: recipe.objects[other].body, into: &recipe.objects[index].body, &choices)
        case 18: recipe.headerFlags ^= Recipe.Flag.proofs
        default:
            let kind = choices.pick(Recipe.Kind.allCases)
            let body = choices.chance(2) ? [UInt8](repeating: 0, count: choices.below(600)) : recipe.objects[index].body
            recipe.objects.insert(
                Recipe.Object(kind: kind, flags: 0, id: recipe.objects[other].id, body: body), at: index)
        }
    }
}
