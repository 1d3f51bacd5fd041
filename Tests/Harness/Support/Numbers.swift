internal import TestSupport

extension Numbers {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// True once in so many times.
    mutating func chance(_ in: Int) -> Bool { below(`in`) == 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(count + 8)
        while out.count < count { withUnsafeBytes(of: next()) { out.append(contentsOf: $0) } }
        out.removeLast(out.count - count)
        return out
    }
}
