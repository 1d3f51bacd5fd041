// Passwords that Safari and iCloud share with apps, which are not available here.
extension Keychain {
    /// A password that Safari saved for the server.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; store the password with set(_:key:)"
    )
    public func getSharedPassword(
        _ completion: @escaping (_ account: String?, _ password: String?, _ error: (any Error)?) -> Void = { _, _, _ in
        }
    ) {}

    /// Requests an account's password that Safari saved for the server.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; read the password with get(_:)"
    )
    public func getSharedPassword(
        _ account: String, completion: @escaping (_ password: String?, _ error: (any Error)?) -> Void = { _, _ in }
    ) {}

    /// Stores a password for the server in Safari.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; store the password with set(_:key:)"
    )
    public func setSharedPassword(
        _ password: String, account: String, completion: @escaping (_ error: (any Error)?) -> Void = { _ in }
    ) {}

    /// Removes a password for the server from Safari.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; remove the password with remove(_:)"
    )
    public func removeSharedPassword(
        _ account: String, completion: @escaping (_ error: (any Error)?) -> Void = { _ in }
    ) {}

    /// All passwords that Safari saved for the app's domains.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; list the passwords with allItems()"
    )
    public static func requestSharedWebCredential(
        _ completion: @escaping (_ credentials: [[String: String]], _ error: (any Error)?) -> Void = { _, _ in }
    ) {}

    /// Passwords that Safari saved for a domain.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; list the passwords with allItems()"
    )
    public static func requestSharedWebCredential(
        domain: String,
        completion: @escaping (_ credentials: [[String: String]], _ error: (any Error)?) -> Void = { _, _ in }
    ) {}

    /// An account's password that Safari saved for a domain.
    @available(
        *, unavailable, message: "shared web credentials are available only on iOS; read the password with get(_:)"
    )
    public static func requestSharedWebCredential(
        domain: String, account: String,
        completion: @escaping (_ credentials: [[String: String]], _ error: (any Error)?) -> Void = { _, _ in }
    ) {}
}
