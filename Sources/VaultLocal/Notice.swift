internal import Synchronization

/// Something that a person should hear of: what was made or seen for the first time, or what could not be done.
public struct Notice: Sendable, Hashable {
    /// How much it matters.
    public enum Kind: Sendable, Hashable {
        /// Worth knowing; changes nothing.
        case note
        /// To be acted on.
        case warning
    }

    /// How much it matters.
    public let kind: Kind
    /// One line, in which names are escaped; never a secret.
    public let text: String
}

/// Passes notices on; a line that was said before is not said again.
final class Announcer: Sendable {
    private let handler: @Sendable (Notice) -> Void
    private let said = Mutex(Set<Notice>())

    init(_ handler: @escaping @Sendable (Notice) -> Void) { self.handler = handler }

    func note(_ text: String) { say(Notice(kind: .note, text: text)) }

    func warning(_ text: String) { say(Notice(kind: .warning, text: text)) }

    private func say(_ notice: Notice) {
        guard said.withLock({ $0.insert(notice).inserted }) else { return }
        handler(notice)
    }
}
