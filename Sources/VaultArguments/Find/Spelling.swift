/// The similarity of two words.
package enum Spelling {
    /// The maximum length of the words to compare, which is limited because the work grows with both lengths.
    static let longest = 64

    /// Returns whether a few changes turn one word into the other. One change is allowed for every four letters, but at
    /// least one and at most three.
    static func isClose(_ word: String, _ other: String) -> Bool {
        let most = min(3, max(1, word.count / 4))
        guard word.count > 1, word.count <= longest, abs(word.count - other.count) <= most else { return false }
        return distance(word, other) <= most
    }

    /// Returns the choice that can be reached from the word with the fewest changes, provided that there is at most one
    /// change for every three letters.
    package static func nearest(to word: String, among choices: [String]) -> String? {
        let word = String(word.prefix(longest)).lowercased()
        let scored = choices.map { (choice: $0, distance: distance(word, $0)) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, min(word.count, best.choice.count) / 3) ? best.choice : nil
    }

    /// The number of insertions, deletions, substitutions and swaps of adjacent letters that turn one word into the
    /// other (optimal string alignment).
    private static func distance(_ word: String, _ other: String) -> Int {
        let (a, b) = (Array(word), Array(other))
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
