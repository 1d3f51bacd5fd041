internal import CVaultShim
internal import Glibc

/// Runs plugins: programs named `age-plugin-NAME` in the folders of the PATH.
public struct PluginHost: Sendable {
    private let folders: [String]
    private let withheld: Set<String>
    let dialogue: any PluginDialogue
    let patience: Duration

    /// - Parameters:
    ///   - path: The folders to search, as in the variable PATH; folders that are not absolute are skipped.
    ///   - withheld: The environment variables that plugins do not inherit.
    ///   - dialogue: Answers the plugins' questions.
    ///   - patience: How long a plugin may be silent, for example while it waits for a touch. The time that a person
    ///     takes to answer is not counted.
    public init(
        path: String, withheld: Set<String> = [], dialogue: any PluginDialogue, patience: Duration = .seconds(120)
    ) {
        folders = path.split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
        self.withheld = withheld
        self.dialogue = dialogue
        self.patience = patience
    }

    /// Returns a recipient that wraps file keys by running its plugin.
    public func recipient(_ recipient: PluginRecipient) -> any Recipient {
        HostedRecipient(host: self, recipient: recipient)
    }

    /// Returns identities that unwrap file keys by running their plugins. Each plugin is run once, for all of its
    /// identities and all slots.
    public func identities(_ identities: [PluginIdentity]) -> [any Identity] {
        var names: [String] = []
        for identity in identities where !names.contains(identity.name) { names.append(identity.name) }
        return names.map { name in
            HostedIdentities(host: self, name: name, identities: identities.filter { $0.name == name })
        }
    }

    /// Returns the path of a plugin's program. Throws `noPlugin`.
    public func program(_ name: String) throws(AgeError) -> String {
        guard PluginName.isValid(name) else {
            throw AgeError(.noPlugin, "this is not a valid name for an age plugin")
        }
        let program = "age-plugin-\(name)"
        for folder in folders {
            let path = "\(folder)/\(program)"
            var status = vault_status()
            if vault_status_of(path, true, &status) == 0, status.mode & UInt32(S_IFMT) == UInt32(S_IFREG),
                access(path, X_OK) == 0
            {
                return path
            }
        }
        throw AgeError(.noPlugin, "the key needs the age plugin '\(program)', which is not on the PATH")
    }

    func start(_ name: String, _ machine: PluginStateMachine) throws(AgeError) -> PluginSession {
        let process = try PluginProcess(
            try program(name), ["--age-plugin=\(machine.rawValue)"], withheld: withheld)
        return PluginSession(host: self, name: name, process: process)
    }
}

/// The state machines of the plugin protocol.
package enum PluginStateMachine: String, CaseIterable {
    case wrapping = "recipient-v1"
    case unwrapping = "identity-v1"
}
