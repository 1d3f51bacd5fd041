/// What has become of the bus and of its clients that are not served, for `agent status`.
///
/// There is room for a number of events only: a program that is refused again and again, under whatever name, is told
/// once until another one is admitted.
struct ServerEvents {
    private var texts: [String] = []
    private var lastRefusal: String?

    mutating func add(_ text: String) {
        lastRefusal = nil
        texts.append(text)
    }

    /// Notes why a program was not admitted.
    mutating func addRefusal(_ reason: String) {
        guard lastRefusal != reason else { return }
        add("refused a program: \(reason)")
        lastRefusal = reason
    }

    /// Notes that a program was admitted.
    mutating func noteAdmission() { lastRefusal = nil }

    /// Returns the events since the last call.
    mutating func take() -> [String] {
        defer { texts = [] }
        return texts
    }
}
