/// Decides when to lock the vault, based on what logind reports about sessions (org.freedesktop.login1(5)). It does not
/// use the bus itself: `LoginLink` sends its questions, and passes on the answers and signals.
///
/// The relevant sessions are the user's sessions that have a seat (a screen and keyboard of this machine) or are
/// graphical, and the session in which the agent was started. A session that has not been described yet also counts,
/// because it may be one of them.
struct SessionWatch {
    /// A question to logind or the bus.
    enum Question: Equatable {
        /// Ask the bus to send the signals that match a rule.
        case signals(rule: String)
        /// Ask which connection owns logind's name.
        case owner
        case sessions
        /// Ask for the properties of the session at a path.
        case session(String)
        /// Ask for a descriptor that delays sleep while it is open.
        case delay
    }

    /// A signal from a trusted connection.
    struct Signal {
        let path: String
        let interface: String
        let member: String
        let values: [BusValue]
    }

    private enum Known {
        case asked
        case watched
    }

    static let logind = "org.freedesktop.login1"
    static let object = "/org/freedesktop/login1"
    static let manager = "org.freedesktop.login1.Manager"
    static let session = "org.freedesktop.login1.Session"
    static let properties = "org.freedesktop.DBus.Properties"
    private static let graphical: Set = ["x11", "wayland", "mir"]
    /// The maximum number of sessions to keep track of, including those of other users.
    static let most = 2048
    /// The maximum number of values in one reply. logind's list has 6 values for each session.
    static let mostValues = 8 * most

    /// The path of the user's object, which contains the user's number.
    private let user: String
    /// The id of the session in which the agent was started; nil if it is unknown.
    private let own: String?
    /// The connection that owns logind's name; nil until it is known.
    private var owner: String?
    /// The relevant sessions, by the paths of their objects.
    private var sessions: [String: Known] = [:]
    /// The sessions that must be described before watching is complete; nil until they are known.
    private var undescribed: Set<String>?
    private var questions: [Question]
    private var reason: String?
    /// The reason logind can no longer be followed; nil if it can be.
    private(set) var failure: String?
    /// True if the machine is about to sleep.
    private(set) var isAboutToSleep = false

    init(user: UInt32, session: String?) {
        self.user = "\(Self.object)/user/_\(user)"
        own = session
        let from = "type='signal',sender='\(Self.logind)'"
        // Questions are answered in order, so no change of the owner is missed.
        questions = [
            .signals(
                rule: "type='signal',sender='\(SystemBus.daemon)',interface='\(SystemBus.daemon)',"
                    + "member='NameOwnerChanged',arg0='\(Self.logind)'"),
            .signals(rule: "\(from),interface='\(Self.manager)',path='\(Self.object)'"),
            .signals(rule: "\(from),path_namespace='\(Self.object)/session'"),
            .owner,
        ]
    }

    /// True if no event that locks the vault can be missed.
    var isWatching: Bool { owner != nil && undescribed?.isEmpty == true && failure == nil }

    /// True if there is a relevant session.
    var hasSession: Bool { !sessions.isEmpty }

    /// Returns the next questions to ask, at most the given number, and forgets them.
    mutating func takeQuestions(atMost most: Int = .max) -> [Question] {
        let taken = Array(questions.prefix(max(most, 0)))
        questions.removeFirst(taken.count)
        return taken
    }

    /// Returns why the vault must be locked, and forgets the reason; nil if it need not be.
    mutating func takeReason() -> String? {
        defer { reason = nil }
        return reason
    }

    /// Returns whether messages from a connection are trusted. Any program can send a message to this process.
    func believes(_ sender: String) -> Bool { sender == SystemBus.daemon || sender == owner }

    // MARK: answers

    /// Processes the answer to a question; nil values mean an error.
    mutating func answer(_ question: Question, _ values: [BusValue]?) {
        switch question {
        case .signals:
            if values == nil { failure = "the system bus does not deliver systemd-logind's signals" }
        case .owner:
            guard let values, case .text(let name)? = values.first, name.hasPrefix(":") else {
                failure = "systemd-logind, which reports when a session is locked, is not on the system bus"
                return
            }
            owner = name
            questions += [.sessions, .delay]
        case .sessions:
            guard let values, case .array(_, let all)? = values.first else {
                failure = "systemd-logind does not report which sessions there are"
                return
            }
            undescribed = []
            for entry in all {
                guard case .structure(let fields) = entry, case .path(let path)? = fields.last else { continue }
                begin(path)
                undescribed?.insert(path)
            }
        case .session(let path):
            undescribed?.remove(path)
            // A session that cannot be described continues to count until it ends.
            if let values, sessions[path] != nil { describe(path, Self.named(values.first)) }
        case .delay: break
        }
    }

    private mutating func begin(_ path: String) {
        guard sessions.count < Self.most else {
            failure = "systemd-logind has too many sessions"
            return
        }
        sessions[path] = .asked
        questions.append(.session(path))
    }

    /// Asks again about a session that has already been asked about.
    private mutating func askAgain(_ path: String) {
        if !questions.contains(.session(path)) { questions.append(.session(path)) }
    }

    private mutating func describe(_ path: String, _ properties: [String: BusValue]) {
        guard case .structure(let fields)? = properties["User"], case .path(let user)? = fields.last else { return }
        guard user == self.user, counts(properties) else {
            sessions[path] = nil
            return
        }
        // The session has ended, but some of its processes have not; logind removes the session only after they have
        // ended.
        if case .text("closing")? = properties["State"] {
            end(path)
            return
        }
        sessions[path] = .watched
        takeHint(properties)
    }

    private mutating func end(_ path: String) {
        if sessions.removeValue(forKey: path) == .watched { reason = "the session has ended" }
    }

    private func counts(_ properties: [String: BusValue]) -> Bool {
        if let own, case .text(own)? = properties["Id"] { return true }
        // Other classes are those of the greeter, of timers, and of the user's service manager.
        guard case .text(let kind)? = properties["Class"], kind.hasPrefix("user") else { return false }
        if case .structure(let seat)? = properties["Seat"], case .text(let name)? = seat.first, !name.isEmpty {
            return true
        }
        guard case .text(let type)? = properties["Type"] else { return false }
        return Self.graphical.contains(type)
    }

    private mutating func takeHint(_ properties: [String: BusValue]) {
        if case .boolean(true)? = properties["LockedHint"] { lockWithSession() }
    }

    private mutating func lockWithSession() { reason = "the session was locked" }

    /// Reads a dictionary that maps names to values of any type.
    private static func named(_ value: BusValue?) -> [String: BusValue] {
        guard case .array(_, let entries)? = value else { return [:] }
        var all: [String: BusValue] = [:]
        for case .entry(.text(let name), .variant(let value)) in entries { all[name] = value }
        return all
    }

    // MARK: signals

    /// Processes a signal.
    mutating func take(_ signal: Signal) {
        switch (signal.interface, signal.member) {
        case (SystemBus.daemon, "NameOwnerChanged"):
            guard owner != nil, case .text(Self.logind)? = signal.values.first else { return }
            failure = "systemd-logind has ended"
        case (Self.manager, "PrepareForSleep"): prepareForSleep(signal.values)
        case (Self.manager, "SessionNew"):
            if case .path(let path)? = signal.values.last { begin(path) }
            // A session that has ended may still have running processes, and logind sends no signal about that.
            for case (let path, .watched) in sessions { askAgain(path) }
        case (Self.manager, "SessionRemoved"):
            guard case .path(let path)? = signal.values.last else { return }
            undescribed?.remove(path)
            end(path)
        case (Self.session, "Lock"):
            if sessions[signal.path] != nil { lockWithSession() }
        case (Self.properties, "PropertiesChanged"):
            guard sessions[signal.path] != nil, signal.values.count == 3, case .text(Self.session) = signal.values[0],
                case .array(_, let unsaid) = signal.values[2]
            else { return }
            let said = Self.named(signal.values[1])
            takeHint(said)
            let names: [String] = unsaid.compactMap { value -> String? in
                if case .text(let name) = value { name } else { nil }
            }
            // A session that is no longer in the foreground may have ended.
            if names.contains("LockedHint") || names.contains("Active") || said["Active"] != nil {
                askAgain(signal.path)
            }
        default: break
        }
    }

    private mutating func prepareForSleep(_ values: [BusValue]) {
        guard case .boolean(let isBefore)? = values.first else { return }
        isAboutToSleep = isBefore
        if isBefore { reason = "the machine was about to sleep" } else { questions.append(.delay) }
    }
}
