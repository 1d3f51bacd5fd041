public import Foundation
internal import KeychainCore

/// Apple's type of status codes.
public typealias OSStatus = Int32

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of `Status` as an `NSError`, spelt as the library of this name has always spelt it.
public let KeychainAccessErrorDomain = "com.kishikawakatsumi.KeychainAccess.error"

/// Passwords of one service or server, kept in a vault.
///
/// Source-compatible with the library of this name for Apple's Keychain; where a file cannot do as the Keychain does,
/// the guide *Bringing Keychain code to Linux* says what happens instead. A value of this type holds only what it looks
/// for: every call works on the vault that the process uses (see `configure(vault:)`), on its newest state, and is one
/// commit of it. Any number of threads may use one `Keychain`, and any number of processes one vault.
///
/// Secrets come and go as `Data` and `String`, as the API has them: ordinary memory, which nobody wipes. Where that
/// matters, use `Vault` and its `Secret`.
public final class Keychain: Sendable {
    let options: Options
    // Handed to the program's own authentication and to nobody else, by the thread that reads.
    private nonisolated(unsafe) let context: AnyObject?

    // MARK: making

    /// Generic passwords of this program: the bundle's identifier is the service, or where there is none, as on Linux,
    /// the name of the program.
    public convenience init() { self.init(service: Options.defaultService) }

    /// Generic passwords of a service.
    public convenience init(service: String) {
        var options = Options()
        options.service = service
        self.init(options)
    }

    /// Generic passwords of this program in an access group.
    public convenience init(accessGroup: String) {
        self.init(service: Options.defaultService, accessGroup: accessGroup)
    }

    /// Generic passwords of a service in an access group.
    public convenience init(service: String, accessGroup: String) {
        var options = Options()
        options.service = service
        options.accessGroup = accessGroup
        self.init(options)
    }

    /// Internet passwords of a server, given as the text of a URL. The program ends if it is none.
    public convenience init(
        server: String, protocolType: ProtocolType, accessGroup: String? = nil,
        authenticationType: AuthenticationType = .default
    ) {
        guard let url = URL(string: server) else { preconditionFailure("a Keychain's server is a URL") }
        self.init(
            server: url, protocolType: protocolType, accessGroup: accessGroup, authenticationType: authenticationType)
    }

    /// Internet passwords of a server: the URL's host and, if it has one, port.
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

    // MARK: what it is for

    /// Generic or internet passwords.
    public var itemClass: ItemClass { options.itemClass }

    /// The service of generic passwords; empty for internet passwords.
    public var service: String { options.service }

    /// The access group; nil for those of all groups, and the default one for new items.
    public var accessGroup: String? { options.accessGroup }

    /// The server of internet passwords. The program ends if it is asked of generic ones, which have none.
    public var server: URL {
        guard let server = options.server else { preconditionFailure("a Keychain of generic passwords has no server") }
        return server
    }

    /// The protocol of internet passwords. The program ends if it is asked of generic ones, which have none.
    public var protocolType: ProtocolType {
        guard let type = options.protocolType else {
            preconditionFailure("a Keychain of generic passwords has no protocol")
        }
        return type
    }

    /// How an internet password is given.
    public var authenticationType: AuthenticationType { options.authenticationType }

    /// When the secrets of items that it stores can be read; `afterFirstUnlock` unless said otherwise.
    public var accessibility: Accessibility { options.accessibility }

    /// Who must agree to each reading of items that it stores; nil for nobody.
    public var authenticationPolicy: AuthenticationPolicy? { options.authenticationPolicy }

    /// Whether items that it stores are meant to be synchronised. A vault synchronises nothing by itself.
    public var synchronizable: Bool { options.synchronizable }

    /// The label of items that it stores.
    public var label: String? { options.label }

    /// The comment of items that it stores.
    public var comment: String? { options.comment }

    /// What the user is told when asked to agree.
    public var authenticationPrompt: String? { options.authenticationPrompt }

    /// Whether the user may be asked.
    public var authenticationUI: AuthenticationUI { options.authenticationUI ?? .allow }

    /// What is handed to `Keychain.authenticate`; at Apple an `LAContext`, here any object.
    public var authenticationContext: AnyObject? { context }

    // MARK: the same with something else

    private func with(_ change: (inout Options) -> Void) -> Keychain {
        var options = options
        change(&options)
        return Keychain(options, context: context)
    }

    /// The same that stores items which can be read at other times.
    public func accessibility(_ accessibility: Accessibility) -> Keychain { with { $0.accessibility = accessibility } }

    /// The same that stores items which can be read at other times, and only if somebody agrees: see `authenticate`.
    public func accessibility(_ accessibility: Accessibility, authenticationPolicy: AuthenticationPolicy) -> Keychain {
        with {
            $0.accessibility = accessibility
            $0.authenticationPolicy = authenticationPolicy
        }
    }

    /// The same that stores items which are synchronizable or not.
    public func synchronizable(_ synchronizable: Bool) -> Keychain { with { $0.synchronizable = synchronizable } }

    /// The same that stores items with a label.
    public func label(_ label: String) -> Keychain { with { $0.label = label } }

    /// The same that stores items with a comment.
    public func comment(_ comment: String) -> Keychain { with { $0.comment = comment } }

    /// The same that stores items with further attributes, by the `kSecAttr…` constants of the module `SecItem`. They
    /// win over all others.
    ///
    /// What cannot be stored, an unknown attribute or a value of the wrong type, is thrown by `set`.
    public func attributes(_ attributes: [String: Any]) -> Keychain { with { $0.add(attributes) } }

    /// The same that tells the user something else when asking.
    public func authenticationPrompt(_ authenticationPrompt: String) -> Keychain {
        with { $0.authenticationPrompt = authenticationPrompt }
    }

    /// The same that may ask the user, or may not.
    public func authenticationUI(_ authenticationUI: AuthenticationUI) -> Keychain {
        with { $0.authenticationUI = authenticationUI }
    }

    /// The same that hands another object to `Keychain.authenticate`.
    public func authenticationContext(_ authenticationContext: AnyObject) -> Keychain {
        Keychain(options, context: authenticationContext)
    }
}
