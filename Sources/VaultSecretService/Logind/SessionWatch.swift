/// What logind tells of sessions, as far as it locks the vault (org.freedesktop.login1(5)). It knows nothing of the bus:
/// `LoginLink` asks its questions, and passes on the answers and the signals.
///
/// The sessions that count are the user's that have a seat (a screen and keyboard of this machine) or are graphical, and the
/// one that the agent was started in. A session that nobody has described yet counts, too: it may be the user's.
struct SessionWatch {
    /// What is asked.
    enum Question: Equatable {
        /// That the bus sends the signals that a rule describes.
        case signals(rule: String)
        /// Which connection has logind's name.
        case owner
        case sessions
        /// The properties of the session at a path.
        case session(String)
        /// A descriptor that delays sleep as long as it is open.
        case delay
    }

    /// A signal of a connection that is believed.
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
    /// The sessions that are kept, of all users.
    static let most = 2048
    /// The values in what logind tells. Of each session, its list has 6.
    static let mostValues = 8 * most

    /// The object of the user, who has a number.
    private let user: String
    /// The id of the session that the agent was started in; nil if that is not known.
    private let own: String?
    /// The connection that has logind's name; nil until that is known.
    private var owner: String?
    /// The sessions that count, by their objects' paths.
    private var sessions: [String: Known] = [:]
    /// The sessions that must be described before this watches; nil before they are known.
    private var undescribed: Set<String>?
    private var questions: [Question]
    private var reason: String?
    /// Why logind cannot be followed any longer; nil if it can.
    private(set) var failure: String?
    /// Whether the machine is about to sleep.
    private(set) var isAboutToSleep = false

    init(user: UInt32, session: String?) {
        self.user = "\(Self.object)/user/_\(user)"
        own = session
        let from = "type='signal',sender='\(Self.logind)'"
        // What is asked first is answered first: no change of the owner is missed.
        questions = [
            .signals(
                rule: "type='signal',sender='\(SystemBus.daemon)',interface='\(SystemBus.daemon)',"
                    + "member='NameOwnerChanged',arg0='\(Self.logind)'"),
            .signals(rule: "\(from),interface='\(Self.manager)',path='\(Self.object)'"),
            .signals(rule: "\(from),path_namespace='\(Self.object)/session'"),
            .owner,
        ]
    }

    /// Whether nothing that locks the vault can be missed.
    var isWatching: Bool { owner != nil && undescribed?.isEmpty == true && failure == nil }

    /// Whether there is a session that counts.
    var hasSession: Bool { !sessions.isEmpty }

    /// Returns what is to be asked, and forgets it.
    mutating func takeQuestions() -> [Question] {
        defer { questions = [] }
        return questions
    }

    /// Returns why the vault must be locked, and forgets it; nil if it need not be.
    mutating func takeReason() -> String? {
        defer { reason = nil }
        return reason
    }

    /// Whether a message of a connection is believed. Anybody may send one to this process.
    func believes(_ sender: String) -> Bool { sender == SystemBus.daemon || sender == owner }

    // MARK: answers

    /// Takes the answer to a question; nil if it is an error.
    mutating func answer(_ question: Question, _ values: [BusValue]?) {
        switch question {
        case .signals:
            if values == nil { failure = "the system's bus does not tell of systemd-logind's signals" }
        case .owner:
            guard let values, case .text(let name)? = values.first, name.hasPrefix(":") else {
                failure = "there is no systemd-logind on the system's bus, which tells when a session is locked"
                return
            }
            owner = name
            questions += [.sessions, .delay]
        case .sessions:
            guard let values, case .array(_, let all)? = values.first else {
                failure = "systemd-logind does not tell which sessions there are"
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
            // A session that cannot be described goes on to count, until it ends.
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

    /// Asks about a session that has been asked about before.
    private mutating func askAgain(_ path: String) {
        if !questions.contains(.session(path)) { questions.append(.session(path)) }
    }

    private mutating func describe(_ path: String, _ properties: [String: BusValue]) {
        guard case .structure(let fields)? = properties["User"], case .path(let user)? = fields.last else { return }
        guard user == self.user, counts(properties) else {
            sessions[path] = nil
            return
        }
        // It has ended, and some of its programs have not: logind removes it only when these have ended, too.
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
        // Others are those of the greeter, of timers, and of the user's manager.
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

    /// Reads a dictionary of names and values of any type.
    private static func named(_ value: BusValue?) -> [String: BusValue] {
        guard case .array(_, let entries)? = value else { return [:] }
        var all: [String: BusValue] = [:]
        for case .entry(.text(let name), .variant(let value)) in entries { all[name] = value }
        return all
    }

    // MARK: signals

    /// Takes a signal.
    mutating func take(_ signal: Signal) {
        switch (signal.interface, signal.member) {
        case (SystemBus.daemon, "NameOwnerChanged"):
            guard owner != nil, case .text(Self.logind)? = signal.values.first else { return }
            failure = "systemd-logind has ended"
        case (Self.manager, "PrepareForSleep"): prepareForSleep(signal.values)
        case (Self.manager, "SessionNew"):
            if case .path(let path)? = signal.values.last { begin(path) }
            // One that has ended may still have programs, and of that, logind sends no signal.
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
            // A session that leaves the screen may have ended.
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
