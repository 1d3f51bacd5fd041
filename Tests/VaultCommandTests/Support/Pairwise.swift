/// A choice of cases that covers every pair of values.
enum Pairwise {
    /// Two values in two columns.
    struct Pair: Hashable {
        let columns: [Int]
        let values: [String]
    }

    /// All pairs of values in a row.
    static func pairs(_ row: [String]) -> Set<Pair> {
        var out: Set<Pair> = []
        for first in row.indices {
            for second in row.indices where second > first {
                out.insert(Pair(columns: [first, second], values: [row[first], row[second]]))
            }
        }
        return out
    }

    /// Rows that together have every pair that occurs in all rows: always the one that adds the most pairs, the first of
    /// those that add as many.
    static func subset(_ rows: [[String]]) -> [[String]] {
        var missing = rows.reduce(into: Set<Pair>()) { $0.formUnion(pairs($1)) }
        var chosen: [[String]] = []
        while !missing.isEmpty {
            var best: (row: [String], count: Int) = ([], 0)
            for row in rows {
                let count = pairs(row).intersection(missing).count
                if count > best.count { best = (row, count) }
            }
            chosen.append(best.row)
            missing.subtract(pairs(best.row))
        }
        return chosen
    }
}
