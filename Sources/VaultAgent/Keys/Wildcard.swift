/// OpenSSH patterns, in which `*` matches any characters and `?` matches one.
enum Wildcard {
    /// The maximum length of a text or pattern to compare.
    private static let longest = 1024

    /// Returns whether a pattern matches an entire text. The time is proportional to the product of their lengths.
    static func matches(_ text: String, pattern: String) -> Bool {
        let (text, pattern) = (Array(text.utf8), Array(pattern.utf8))
        guard text.count <= longest, pattern.count <= longest else { return false }
        var (position, place) = (0, 0)
        // Where to resume on a mismatch: after the last star, one character further into the text.
        var retry: (position: Int, place: Int)?
        while position < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                retry = (position, place + 1)
                place += 1
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == text[position] {
                position += 1
                place += 1
            } else if let last = retry {
                retry = (last.position + 1, last.place)
                (position, place) = (last.position + 1, last.place)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
