extension StringProtocol {
    /// The text without leading and trailing white space and newlines.
    package var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else {
            return self[endIndex..<endIndex]
        }
        return self[first...last]
    }
}
