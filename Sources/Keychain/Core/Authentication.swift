internal import VaultStore

/// Asks the program whether the secret of an item with a policy may be read.
package enum Authentication {
    /// The request to approve.
    package struct Question {
        /// The service of a generic password or the server of an internet password; empty for other classes.
        package let place: String
        package let account: String
        /// The flags of the item's access control.
        package let policy: UInt
        package let prompt: String?
        package let context: AnyObject?

        package init(place: String, account: String, policy: UInt, prompt: String?, context: AnyObject?) {
            self.place = place
            self.account = account
            self.policy = policy
            self.prompt = prompt
            self.context = context
        }
    }

    package typealias Handler = @Sendable (Question) -> Bool

    private static let state = Guarded<Handler?>(nil)

    package static var handler: Handler? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// How a call handles items that require asking the user.
package struct Interaction {
    package enum UI: Sendable {
        case allow, fail, skip
    }

    package var ui = UI.allow
    package var prompt: String?
    package var context: AnyObject?

    package init() {}
}
