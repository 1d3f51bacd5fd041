internal import VaultStore

/// A message for the user: for example, a file was created, a vault was seen for the first time, or an operation
/// failed.
public struct Notice: Sendable, Hashable {
    /// The importance of the notice.
    public enum Kind: Sendable, Hashable {
        /// Information that requires no action.
        case note
        /// Something that needs action.
        case warning
    }

    /// The importance of the notice.
    public let kind: Kind
    /// One line, with names escaped; never contains a secret.
    public let text: String
}

/// Forwards notices, each message only once.
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
