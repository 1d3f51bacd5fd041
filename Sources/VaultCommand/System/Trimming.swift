extension StringProtocol {
    /// The text without white space and line ends at its start and end.
    var trimmed: SubSequence {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else {
            return self[endIndex..<endIndex]
        }
        return self[first...last]
    }
}
