/// A person's answer to a question of the agent or its attached service.
package enum PersonAnswer: Sendable, Equatable {
    case yes
    case no
    /// Nobody answered in time.
    case late
    /// Nobody could be asked.
    case notAsked
    /// There is no answer, for the given reason: the program that asks has failed, or a person has just refused the
    /// same question.
    case failed(String)

    /// The reason for refusing a request after this answer; nil if the answer is yes.
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
        /// Consent to something.
        case consent
        /// A passphrase, after this number of wrong ones.
        case passphrase(wrong: Int)
    }

    /// The question, which may have several lines and begins with a fixed word. Names in it are quoted and escaped.
    let text: String
    let wanted: Wanted

    /// How many times a person may try to type the passphrase.
    static let mostTries = 3

    var wantsPassphrase: Bool { if case .passphrase = wanted { true } else { false } }
}
