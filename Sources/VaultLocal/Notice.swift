internal import VaultStore

/// A message for the user: something was created, was seen for the first time, or could not be done.
public struct Notice: Sendable, Hashable {
    /// How important it is.
    public enum Kind: Sendable, Hashable {
        /// Information that requires no action.
        case note
        /// Something that needs action.
        case warning
    }

    /// How important it is.
    public let kind: Kind
    /// One line, with names escaped; never contains a secret.
    public let text: String
}

/// Passes on notices, but each message only once.
final class Announcer: Sendable {
    private let handler: @Sendable (Notice) -> Void
    private let said = Guarded(Set<Notice>())

    init(_ handler: @escaping @Sendable (Notice) -> Void) { self.handler = handler }

    func note(_ text: String) { say(Notice(kind: .note, text: text)) }

    func warning(_ text: String) { say(Notice(kind: .warning, text: text)) }

    private func say(_ notice: Notice) {
        guard said.withLock({ $0.insert(notice).inserted }) else { return }
        handler(notice)
    }
}
