/// What a person has answered to a question of the agent or of its attached service.
package enum PersonAnswer: Sendable, Equatable {
    case yes
    case no
    /// None in time.
    case late
    /// None, because nobody could be asked.
    case notAsked
    /// None, for a reason in words: the program that asks has failed, or a person has just said no to the same
    /// question.
    case failed(String)

    /// Why a request is refused after this answer; nil if it is not.
    package var refusal: String? {
        switch self {
        case .yes: nil
        case .no: "a person did not agree"
        case .late: "nobody answered in time"
        case .notAsked: "the program that asks for confirmation cannot be started"
        case .failed(let reason): reason
        }
    }
}

/// A question to a person.
struct PersonQuery: Sendable {
    enum Wanted: Sendable {
        /// Whether something may be done.
        case consent
        /// A passphrase, after this many wrong ones.
        case passphrase(wrong: Int)
    }

    /// The question, in lines, which begins with a fixed word. Names in it are quoted and escaped.
    let text: String
    let wanted: Wanted

    /// How often a person may type a passphrase.
    static let mostTries = 3

    var wantsPassphrase: Bool { if case .passphrase = wanted { true } else { false } }
}
