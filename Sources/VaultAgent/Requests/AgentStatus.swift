/// The state of an agent. It must fit in one message, however long its names are.
package struct AgentStatus: Sendable, Equatable {
    /// A key that the agent offers.
    package struct Key: Sendable, Equatable {
        package let comment: String
        /// The type, as `ssh-add -l` shows it.
        package let type: String
        package let fingerprint: String
        /// True if a client has added the key; otherwise, it is one of the vault's keys.
        package let isAdded: Bool
        package let hasCertificate: Bool
        package let needsConfirmation: Bool
        /// True if the key is restricted to destinations.
        package let isBound: Bool
        /// The remaining lifetime in seconds; nil if it is unlimited.
        package let remaining: UInt64?
    }

    package let vault: String
    /// The reason why the vault is locked; empty if it is open.
    package let locked: String
    /// The reason the last attempt to read the vault's file failed, and since when reading has failed, in seconds since
    /// 1970; empty if the attempt succeeded.
    package let unreadable: String
    package let unreadableSince: UInt64
    /// The state of the attached service; empty if there is none.
    package let attached: String
    /// The programs that ask a person; empty if there are none.
    package let asking: String
    /// True if a client has locked the agent with a password.
    package let isClientLocked: Bool
    /// The number of seconds until the vault is locked; nil if that is not limited.
    package let remaining: UInt64?
    /// The numbers of the vault's keys that are offered, of keys that clients have added, and of the vault's keys that
    /// are hidden because a client has removed them.
    package let offered: UInt32
    package let added: UInt32
    package let hidden: UInt32
    /// The number of the vault's keys that are listed although the vault is locked.
    package let listed: UInt32
    /// The keys, at most `mostKeys`.
    package let keys: [Key]
    /// Descriptions of what cannot be offered; if there are too many, the last line gives the number of those left out.
    package let omitted: [String]
    /// Problems with items whose keys are offered, limited in the same way.
    package let warnings: [String]
    /// The events, oldest first.
    package let events: [AgentEvent]

    private static let mostTexts: UInt32 = 512
    static let mostKeys = 200
    fileprivate static let longestComment = 128
    /// The maximum numbers of lines about what cannot be offered, and of lines about problems.
    private static let mostOmitted = 64
    private static let mostWarnings = 32
    private static let longestText = 512

    init(
        vault: String, locked: String = "", unreadable: (reason: String, since: UInt64)? = nil,
        attached: String = "", asking: String = "", isClientLocked: Bool = false, remaining: UInt64? = nil,
        offered: Int = 0, added: Int = 0, hidden: Int = 0, listed: Int = 0,
        keys: [Key] = [], omitted: [String] = [], warnings: [String] = [], events: [AgentEvent] = []
    ) {
        self.vault = vault
        self.locked = KeyComment.shown(locked)
        self.unreadable = KeyComment.shown(unreadable?.reason ?? "", limit: Self.longestText)
        unreadableSince = unreadable?.since ?? 0
        self.attached = KeyComment.shown(attached)
        self.asking = KeyComment.shown(asking)
        self.isClientLocked = isClientLocked
        self.remaining = remaining
        self.offered = UInt32(clamping: offered)
        self.added = UInt32(clamping: added)
        self.hidden = UInt32(clamping: hidden)
        self.listed = UInt32(clamping: listed)
        self.keys = Array(keys.prefix(Self.mostKeys))
        self.omitted = Self.shown(omitted, most: Self.mostOmitted)
        self.warnings = Self.shown(warnings, most: Self.mostWarnings)
        self.events = events
    }

    private static func shown(_ texts: [String], most: Int) -> [String] {
        let shown = texts.prefix(most).map { KeyComment.shown($0, limit: longestText) }
        let more = texts.count - shown.count
        return more == 0 ? shown : shown + ["and \(more) more"]
    }
}

// MARK: encoding

extension AgentStatus {
    func encode(into out: inout [UInt8]) {
        for text in [vault, locked, unreadable] { out.append(text: text) }
        out.append(number64: unreadableSince)
        out.append(text: attached)
        out.append(text: asking)
        out.append(isClientLocked ? 1 : 0)
        out.append(number64: remaining ?? .max)
        for number in [offered, added, hidden, listed] { out.append(number: number) }
        out.append(number: UInt32(clamping: keys.count))
        for key in keys { key.encode(into: &out) }
        for texts in [omitted, warnings] {
            out.append(number: UInt32(clamping: texts.count))
            for text in texts { out.append(text: text) }
        }
        out.append(number: UInt32(clamping: events.count))
        for event in events {
            out.append(number64: event.time)
            out.append(number: event.process)
            out.append(text: event.program)
            out.append(text: event.action)
        }
    }

    init(_ reader: inout WireReader) throws(AgentError) {
        (vault, locked, unreadable) = (try reader.text(), try reader.text(), try reader.text())
        unreadableSince = try reader.number64()
        (attached, asking) = (try reader.text(), try reader.text())
        isClientLocked = try reader.boolean()
        remaining = try Self.limit(&reader)
        (offered, added) = (try reader.number(), try reader.number())
        (hidden, listed) = (try reader.number(), try reader.number())
        keys = try Self.list(&reader) { (reader) throws(AgentError) in try Key(&reader) }
        omitted = try Self.list(&reader) { (reader) throws(AgentError) in try reader.text() }
        warnings = try Self.list(&reader) { (reader) throws(AgentError) in try reader.text() }
        events = try Self.list(&reader) { (reader) throws(AgentError) in
            AgentEvent(
                time: try reader.number64(), process: try reader.number(), program: try reader.text(),
                action: try reader.text())
        }
        try reader.end()
    }

    private static func list<R>(
        _ reader: inout WireReader, _ read: (inout WireReader) throws(AgentError) -> R
    ) throws(AgentError) -> [R] {
        let count = try reader.number()
        guard count <= mostTexts else { throw .malformed }
        var all: [R] = []
        for _ in 0..<count { all.append(try read(&reader)) }
        return all
    }

    fileprivate static func limit(_ reader: inout WireReader) throws(AgentError) -> UInt64? {
        let limit = try reader.number64()
        return limit == .max ? nil : limit
    }
}

extension AgentStatus.Key {
    fileprivate func encode(into out: inout [UInt8]) {
        for text in [comment, type, fingerprint] { out.append(text: text) }
        for flag in [isAdded, hasCertificate, needsConfirmation, isBound] { out.append(flag ? 1 : 0) }
        out.append(number64: remaining ?? .max)
    }

    fileprivate init(_ reader: inout WireReader) throws(AgentError) {
        (comment, type, fingerprint) = (try reader.text(), try reader.text(), try reader.text())
        (isAdded, hasCertificate) = (try reader.boolean(), try reader.boolean())
        (needsConfirmation, isBound) = (try reader.boolean(), try reader.boolean())
        remaining = try AgentStatus.limit(&reader)
    }

    /// Describes a key that a client has added.
    init(_ entry: AddedKeys.Entry, needsConfirmation: Bool, now: UInt64) {
        self.init(
            comment: KeyComment.shown(entry.comment, limit: AgentStatus.longestComment),
            type: entry.key.type.displayName, fingerprint: entry.key.fingerprint, isAdded: true,
            hasCertificate: entry.identity != entry.key.blob, needsConfirmation: needsConfirmation,
            isBound: entry.constraints.destinations != nil,
            remaining: entry.end.map { ($0 - min($0, now)) / 1000 })
    }

    /// Describes a key that is stored in one or more items of the vault.
    init(_ offers: [OfferedKey], of first: OfferedKey) {
        self.init(
            comment: KeyComment.shown(first.comment, limit: AgentStatus.longestComment),
            type: first.publicKey.type.displayName, fingerprint: first.publicKey.fingerprint, isAdded: false,
            hasCertificate: offers.contains { $0.certificate != nil },
            needsConfirmation: offers.contains(where: \.needsConfirmation), isBound: false, remaining: nil)
    }

    /// Describes the keys of a vault, each one only once.
    static func all(_ offers: [OfferedKey]) -> [Self] {
        var known: Set<[UInt8]> = []
        return offers.filter { known.insert($0.publicKey.blob).inserted }.map { first in
            Self(offers.filter { $0.publicKey == first.publicKey }, of: first)
        }
    }
}
