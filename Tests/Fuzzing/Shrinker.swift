internal import VaultFmt

/// Makes a failing sequence of operations small: leaves out what it fails without, then makes smaller what is left.
package enum Shrinker {
    /// The smallest sequence found that still fails, within so many tries.
    package static func shrink(_ operations: [Operation], tries: Int = 2000, fails: ([Operation]) -> Bool)
        -> [Operation]
    {
        var budget = tries
        let check = { (candidate: [Operation]) -> Bool in
            guard budget > 0 else { return false }
            budget -= 1
            return fails(candidate)
        }
        var best = operations
        var size = 0
        repeat {
            size = best.weight
            best = withoutParts(best, check)
            best = withSmallerParts(best, check)
        } while best.weight < size && budget > 0
        return best
    }

    /// Leaves out halves, quarters, and so on, down to single elements.
    private static func withoutParts<Element>(_ all: [Element], _ fails: ([Element]) -> Bool) -> [Element] {
        var best = all
        var length = (best.count + 1) / 2
        while length >= 1 {
            var start = 0
            while start < best.count {
                let candidate = Array(best[..<start] + best[min(start + length, best.count)...])
                if fails(candidate) { best = candidate } else { start += length }
            }
            if length == 1 { break }
            length = (length + 1) / 2
        }
        return best
    }

    private static func withSmallerParts(_ all: [Operation], _ fails: ([Operation]) -> Bool) -> [Operation] {
        var best = all
        for index in best.indices {
            for candidate in best[index].smaller {
                var changed = best
                changed[index] = candidate
                if fails(changed) { best = changed }
            }
            guard case .transaction(let changes, let givesUp) = best[index] else { continue }
            let kept = withoutParts(changes) { changes in
                var changed = best
                changed[index] = .transaction(changes, givesUp: givesUp)
                return fails(changed)
            }
            best[index] = .transaction(kept, givesUp: givesUp)
            for at in kept.indices {
                for smaller in kept[at].smaller {
                    guard case .transaction(var now, _) = best[index] else { continue }
                    now[at] = smaller
                    var changed = best
                    changed[index] = .transaction(now, givesUp: givesUp)
                    if fails(changed) { best = changed }
                }
            }
        }
        return best
    }
}

extension [Operation] {
    /// How large it is: operations, changes, and bytes.
    fileprivate var weight: Int { reduce(0) { $0 + 1000 + $1.weight } }
}

extension Operation {
    fileprivate var weight: Int {
        switch self {
        case .transaction(let changes, let givesUp): changes.reduce(givesUp ? 1 : 0) { $0 + 100 + $1.weight }
        case .transactionElsewhere(let changes): changes.reduce(10) { $0 + 100 + $1.weight }
        default: 0
        }
    }

    fileprivate var smaller: [Operation] {
        switch self {
        case .transaction(let changes, true): [.transaction(changes, givesUp: false)]
        case .transactionElsewhere(let changes): [.transaction(changes, givesUp: false)]
        default: []
        }
    }
}

extension Change {
    fileprivate var weight: Int {
        switch self {
        case .set(_, let secret, let attributes, let accessibility):
            secret.length + attributes.weight + (accessibility == nil ? 0 : 1)
        case .add(_, let secret, let attributes, _): secret.length + attributes.weight
        case .update(_, let attributes, let accessibility): attributes.weight + (accessibility == nil ? 0 : 1)
        case .move, .remove: 0
        }
    }

    /// The same with less in it.
    fileprivate var smaller: [Change] {
        switch self {
        case .set(let name, let secret, let attributes, let accessibility):
            return [
                .set(name, secret.emptied, attributes.emptied, nil),
                .set(name, secret.emptied, attributes, accessibility),
                .set(name, secret, attributes.emptied, accessibility), .set(name, secret, attributes, nil),
            ].filter { $0 != self }
        case .add(let name, let secret, let attributes, let accessibility):
            return [
                .add(name, secret.emptied, attributes.emptied, .whenUnlocked),
                .add(name, secret.emptied, attributes, accessibility),
                .add(name, secret, attributes.emptied, accessibility),
            ].filter { $0 != self }
        case .update(let name, let attributes, let accessibility):
            return [.update(name, attributes.emptied, accessibility), .update(name, attributes, nil)].filter {
                $0 != self
            }
        case .move, .remove: return []
        }
    }
}

extension ContentChoice {
    fileprivate var emptied: ContentChoice {
        var out = self
        out.length = 0
        return out
    }
}

extension AttributesChoice {
    fileprivate var weight: Int { self.set.reduce(0) { $0 + 10 + $1.value.length } }

    fileprivate var emptied: AttributesChoice {
        var out = self
        out.set = []
        out.removesSome = false
        out.replacesAll = false
        return out
    }
}
