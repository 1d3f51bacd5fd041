internal import KeychainCore

/// An item whose secret somebody must agree to have read.
public struct AuthenticationRequest {
    /// The service or server.
    public let place: String
    /// The key.
    public let key: String
    /// Who must agree.
    public let policy: AuthenticationPolicy
    /// The reading `Keychain`'s `authenticationPrompt`.
    public let prompt: String?
    /// The reading `Keychain`'s `authenticationContext`.
    public let context: AnyObject?

    /// Makes one, for a program that asks in its own name.
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
    /// Asks whether the secret of an item with an authentication policy may be read; false refuses it with
    /// `Status.authFailed`.
    ///
    /// A file cannot ask for a finger, so the program must: every reading of such an item's secret calls this, on the
    /// thread that reads. Nil, as at the start, means that nobody can be asked: items with a policy cannot be stored
    /// (`Status.unimplemented`), nor read (`interactionNotAllowed`). The policy is a promise of programs that use these
    /// APIs; it encrypts nothing.
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
