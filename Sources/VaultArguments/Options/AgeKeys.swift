import ArgumentParser
import VaultAge
import VaultConsole
package import VaultFmt
import VaultLocal

/// Runs age plugins, and reports failures of plugins and age keys.
package enum AgeKeys {
    /// Runs plugins without access to vault factors; their questions are shown on the terminal.
    static func plugins(mayAsk: Bool) -> PluginHost {
        PluginHost(
            path: Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin", withheld: ChildEnvironment.withheld,
            dialogue: PluginQuestions(mayAsk: mayAsk))
    }

    /// Parses a recipient, with its plugin if it has one.
    static func resolver(_ plugins: PluginHost) -> AgeFactor.Resolver {
        { (text) throws(AgeError) in
            switch text {
            case .native(let recipient): return recipient
            case .plugin(let recipient):
                _ = try plugins.program(recipient.name)
                return plugins.recipient(recipient)
            }
        }
    }

    /// Runs an operation that uses a slot's factors. If an age key causes a failure, the reason is reported.
    package static func reporting<R: ~Copyable>(_ factor: (any SlotFactor)?, _ call: () throws -> R) throws -> R {
        do { return try call() } catch { throw explained(error, by: factor) }
    }

    /// Returns the reason for an error if an age key caused it.
    package static func explained(_ error: any Error, by factor: (any SlotFactor)?) -> any Error {
        (factor as? AgeFactor)?.failure.map { CommandFailure($0) } ?? error
    }
}
