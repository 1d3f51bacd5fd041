public import VaultCrypto

/// Relays a plugin's questions to the user at the terminal.
///
/// The texts come from a plugin or from the author of a file that it reads, so they must be escaped before they are
/// shown.
public protocol PluginDialogue: Sendable {
    /// Shows a message, such as "touch the key"; returns whether the message could be shown.
    func show(_ message: String, from plugin: String) -> Bool

    /// Asks the user to choose between two answers. `no` is nil if the plugin offers only one answer.
    /// - Returns: True if the answer was `yes`; nil if no one can be asked or no one answers.
    func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool?

    /// Asks for a line of text, without echo if it is secret. Returns nil if no one can be asked or no one answers.
    func ask(_ message: String, isSecret: Bool, from plugin: String) -> Secret?
}

/// A dialogue that shows nothing and asks nothing, for programs that run unattended.
public struct NoDialogue: PluginDialogue {
    /// Creates a dialogue that never asks.
    public init() {}

    /// Shows nothing.
    public func show(_ message: String, from plugin: String) -> Bool { false }

    /// Returns nil.
    public func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool? { nil }

    /// Returns nil.
    public func ask(_ message: String, isSecret: Bool, from plugin: String) -> Secret? { nil }
}
