internal import TestSupport
internal import VaultBytes

/// Item keys (section 6.1).
enum SpecKey {
    private enum Field { case text, bytes, number }

    /// Checks a key, and returns its group's name.
    static func group(_ key: [UInt8]) throws(Refusal) -> [UInt8] {
        try Refusal.unless((4...8176).contains(key.count))
        var rest = key[1...]
        switch key[0] {
        case 1: return try fields([.text, .text], &rest)
        case 2: return try fields([.text, .text, .number, .text, .text, .text, .text], &rest)
        case 3, 5: return try fields([.number, .bytes, .bytes], &rest)
        case 4: return try fields([.number, .number, .bytes, .bytes, .number, .number], &rest)
        case 6...63:
            var last: [UInt8] = []
            var count = 0
            while rest.count > 1 {
                last = try field(&rest, isText: true)
                count += 1
            }
            try Refusal.unless((1...16).contains(count))
            try end(rest)
            return last
        default: throw Refusal(.structureInvalid)
        }
    }

    private static func fields(_ kinds: [Field], _ rest: inout ArraySlice<UInt8>) throws(Refusal) -> [UInt8] {
        for kind in kinds {
            if kind == .number {
                try Refusal.unless(rest.count >= 4)
                rest = rest.dropFirst(4)
            } else {
                _ = try field(&rest, isText: kind == .text)
            }
        }
        let group = try field(&rest, isText: true)
        try end(rest)
        return group
    }

    private static func end(_ rest: ArraySlice<UInt8>) throws(Refusal) {
        try Refusal.unless(rest.count == 1 && rest.first.map { $0 <= 1 } == true)
    }

    private static func field(_ rest: inout ArraySlice<UInt8>, isText: Bool) throws(Refusal) -> [UInt8] {
        var out: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == 0 {
                guard let next = rest.popFirst(), next == 0 || next == 0xFF else { throw Refusal(.structureInvalid) }
                if next == 0 {
                    try Refusal.unless(out.count <= 4096)
                    if isText { try Refusal.unless(String(validating: out, as: UTF8.self) != nil) }
                    return out
                }
            }
            out.append(byte)
        }
        throw Refusal(.structureInvalid)
    }
}
