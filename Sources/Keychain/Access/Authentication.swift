internal import KeychainCore

/// A request to approve reading an item's secret.
public struct AuthenticationRequest {
    /// The service or server.
    public let place: String
    /// The key.
    public let key: String
    /// The required approval.
    public let policy: AuthenticationPolicy
    /// The `authenticationPrompt` of the `Keychain` that reads the secret.
    public let prompt: String?
    /// The `authenticationContext` of the `Keychain` that reads the secret.
    public let context: AnyObject?

    /// Creates a request, for a program that asks on its own behalf.
    public init(
        place: String, key: String, policy: AuthenticationPolicy, prompt: String? = nil, context: AnyObject? = nil
    ) {
        self.place = place
        self.key = key
        self.policy = policy
        self.prompt = prompt
        self.context = context
    }
}

extension Keychain {
    /// A handler that decides whether the secret of an item with an authentication policy may be read; if it returns
    /// false, the call fails with `Status.authFailed`.
    ///
    /// A file cannot ask for a fingerprint, so the program must. The handler is called for every read of such a secret,
    /// on the reading thread. If it is nil, which is the default, the user cannot be asked: items with a policy cannot
    /// be stored (`Status.unimplemented`) or read (`interactionNotAllowed`). The policy is only honored by programs
    /// that use these APIs; it does not encrypt anything.
    public static var authenticate: (@Sendable (AuthenticationRequest) -> Bool)? {
        get {
            guard let handler = Authentication.handler else { return nil }
            return { (request: AuthenticationRequest) -> Bool in handler(Authentication.Question(request)) }
        }
        set {
            guard let newValue else {
                Authentication.handler = nil
                return
            }
            Authentication.handler = { (question: Authentication.Question) -> Bool in
                newValue(AuthenticationRequest(question))
            }
        }
    }
}

extension AuthenticationRequest {
    fileprivate init(_ question: Authentication.Question) {
        place = question.place
        key = question.account
        policy = AuthenticationPolicy(rawValue: question.policy)
        prompt = question.prompt
        context = question.context
    }
}

extension Authentication.Question {
    fileprivate init(_ request: AuthenticationRequest) {
        self.init(
            place: request.place, account: request.key, policy: request.policy.rawValue, prompt: request.prompt,
            context: request.context)
    }
}
