/// Events about the bus and about clients that were not admitted, for `agent status`.
///
/// The number of events is limited. If a program is refused repeatedly, under whatever name, the refusal is reported
/// only once until another program is admitted.
struct ServerEvents {
    private var texts: [String] = []
    private var lastRefusal: String?

    mutating func add(_ text: String) {
        lastRefusal = nil
        texts.append(text)
    }

    /// Records why a program was not admitted.
    mutating func addRefusal(_ reason: String) {
        guard lastRefusal != reason else { return }
        add("refused a program: \(reason)")
        lastRefusal = reason
    }

    /// Records that a program was admitted.
    mutating func noteAdmission() { lastRefusal = nil }

    /// Returns the events since the last call.
    mutating func take() -> [String] {
        defer { texts = [] }
        return texts
    }
}
