public import Foundation
internal import KeychainCore

/// Apple's type of status codes.
public typealias OSStatus = Int32

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of `Status` as an `NSError`, spelled as in the original library.
public let KeychainAccessErrorDomain = "com.kishikawakatsumi.KeychainAccess.error"

/// The passwords of one service or server, stored in a vault.
///
/// This class is source-compatible with the KeychainAccess library for Apple's Keychain. The guide *Bringing Keychain
/// code to Linux* explains the cases in which a file cannot behave like that Keychain. An instance only holds its
/// search criteria: every call works on the newest state of the vault that the process uses (see `configure(vault:)`),
/// and every change is one commit. Any number of threads may share a `Keychain`, and any number of processes may share
/// a vault.
///
/// As the API requires, secrets are passed as `Data` and `String`, in ordinary memory that is never wiped. If that
/// matters, use `Vault` and its `Secret`.
public final class Keychain: Sendable {
    let options: Options
    // Passed only to the program's own authentication handler, on the reading thread.
    private nonisolated(unsafe) let context: AnyObject?

    // MARK: creating

    /// Creates a keychain for this program's generic passwords. The service is the bundle's identifier or, without a
    /// bundle identifier, as on Linux, the name of the program.
    public convenience init() { self.init(service: Options.defaultService) }

    /// Creates a keychain for a service's generic passwords.
    public convenience init(service: String) {
        var options = Options()
        options.service = service
        self.init(options)
    }

    /// Creates a keychain for this program's generic passwords in an access group.
    public convenience init(accessGroup: String) {
        self.init(service: Options.defaultService, accessGroup: accessGroup)
    }

    /// Creates a keychain for a service's generic passwords in an access group.
    public convenience init(service: String, accessGroup: String) {
        var options = Options()
        options.service = service
        options.accessGroup = accessGroup
        self.init(options)
    }

    /// Creates a keychain for a server's internet passwords. Traps if the string that names the server is not a URL.
    public convenience init(
        server: String, protocolType: ProtocolType, accessGroup: String? = nil,
        authenticationType: AuthenticationType = .default
    ) {
        guard let url = URL(string: server) else { preconditionFailure("a Keychain's server must be given as a URL") }
        self.init(
            server: url, protocolType: protocolType, accessGroup: accessGroup, authenticationType: authenticationType)
    }

    /// Creates a keychain for a server's internet passwords: the URL names its host and, optionally, its port.
    public convenience init(
        server: URL, protocolType: ProtocolType, accessGroup: String? = nil,
        authenticationType: AuthenticationType = .default
    ) {
        var options = Options()
        options.itemClass = .internetPassword
        options.server = server
        options.protocolType = protocolType
        options.accessGroup = accessGroup
        options.authenticationType = authenticationType
        self.init(options)
    }

    init(_ options: Options, context: AnyObject? = nil) {
        self.options = options
        self.context = context
    }

    // MARK: scope

    /// Generic or internet passwords.
    public var itemClass: ItemClass { options.itemClass }

    /// The service of generic passwords; empty for internet passwords.
    public var service: String { options.service }

    /// The access group. If it is nil, all groups are searched and new items are added to the default group.
    public var accessGroup: String? { options.accessGroup }

    /// The server of internet passwords. Traps for generic passwords, which have no server.
    public var server: URL {
        guard let server = options.server else { preconditionFailure("a Keychain of generic passwords has no server") }
        return server
    }

    /// The protocol of internet passwords. Traps for generic passwords, which have no protocol.
    public var protocolType: ProtocolType {
        guard let type = options.protocolType else {
            preconditionFailure("a Keychain of generic passwords has no protocol")
        }
        return type
    }

    /// The authentication type of an internet password.
    public var authenticationType: AuthenticationType { options.authenticationType }

    /// The accessibility of items that this keychain stores; `afterFirstUnlock` by default.
    public var accessibility: Accessibility { options.accessibility }

    /// The approval required for each read of an item that this keychain stores; nil if no approval is required.
    public var authenticationPolicy: AuthenticationPolicy? { options.authenticationPolicy }

    /// True if items that this keychain stores are meant to be synchronized. A vault does not synchronize anything by
    /// itself.
    public var synchronizable: Bool { options.synchronizable }

    /// The label of items that this keychain stores.
    public var label: String? { options.label }

    /// The comment stored with this keychain's items.
    public var comment: String? { options.comment }

    /// The message shown when the user is asked for approval.
    public var authenticationPrompt: String? { options.authenticationPrompt }

    /// How to handle items that require asking the user.
    public var authenticationUI: AuthenticationUI { options.authenticationUI ?? .allow }

    /// The object passed to `Keychain.authenticate`: on Apple platforms an `LAContext`, here any object.
    public var authenticationContext: AnyObject? { context }

    // MARK: copies with other settings

    private func with(_ change: (inout Options) -> Void) -> Keychain {
        var options = options
        change(&options)
        return Keychain(options, context: context)
    }

    /// Returns a copy that stores items with this accessibility.
    public func accessibility(_ accessibility: Accessibility) -> Keychain { with { $0.accessibility = accessibility } }

    /// Returns a copy that stores items with this accessibility, which can be read only with approval; see
    /// `authenticate`.
    public func accessibility(_ accessibility: Accessibility, authenticationPolicy: AuthenticationPolicy) -> Keychain {
        with {
            $0.accessibility = accessibility
            $0.authenticationPolicy = authenticationPolicy
        }
    }

    /// Returns a copy that marks the items it stores as synchronizable or not synchronizable.
    public func synchronizable(_ synchronizable: Bool) -> Keychain { with { $0.synchronizable = synchronizable } }

    /// Returns a copy that stores items with a label.
    public func label(_ label: String) -> Keychain { with { $0.label = label } }

    /// Returns a copy that stores items with a comment.
    public func comment(_ comment: String) -> Keychain { with { $0.comment = comment } }

    /// Returns a copy that stores items with additional attributes, named by the `kSecAttr…` constants of the module
    /// `SecItem`. They take precedence over all others.
    ///
    /// If an attribute is unknown or a value has the wrong type, `set` throws.
    public func attributes(_ attributes: [String: Any]) -> Keychain { with { $0.add(attributes) } }

    /// Returns a copy that shows this message when asking the user.
    public func authenticationPrompt(_ authenticationPrompt: String) -> Keychain {
        with { $0.authenticationPrompt = authenticationPrompt }
    }

    /// Returns a copy with a different handling of items for which the user would have to be asked.
    public func authenticationUI(_ authenticationUI: AuthenticationUI) -> Keychain {
        with { $0.authenticationUI = authenticationUI }
    }

    /// Returns a copy that passes this object to `Keychain.authenticate`.
    public func authenticationContext(_ authenticationContext: AnyObject) -> Keychain {
        Keychain(options, context: authenticationContext)
    }
}
