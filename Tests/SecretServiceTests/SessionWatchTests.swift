import Testing

@testable import VaultSecretService

private let here = "/org/freedesktop/login1/session/_31"
private let elsewhere = "/org/freedesktop/login1/session/_32"

/// The properties that logind tells of a session.
private func properties(
    user: String = "1000", kind: String = "user", type: String = "tty", seat: String = "seat0", id: String = "1",
    isLocked: Bool = false, state: String = "active"
) -> [BusValue] {
    [
        .properties([
            ("Id", .text(id)), ("User", .structure([.other, .path("/org/freedesktop/login1/user/_\(user)")])),
            ("Class", .text(kind)), ("Type", .text(type)), ("Seat", .structure([.text(seat), .path("/")])),
            ("LockedHint", .boolean(isLocked)), ("State", .text(state)),
        ])
    ]
}

@Suite("What logind tells of sessions")
struct SessionWatchTests {
    private static func session(_ path: String) -> BusValue {
        .structure([.text("1"), .other, .text("somebody"), .text("seat0"), .path(path)])
    }

    /// A watch that knows these sessions, and has not been told more about them.
    private func watch(_ sessions: [String] = [here], own: String? = nil) -> SessionWatch {
        var watch = SessionWatch(user: 1000, session: own)
        for question in watch.takeQuestions() {
            watch.answer(question, question == .owner ? [.text(":1.7")] : [])
        }
        #expect(watch.takeQuestions() == [.sessions, .delay])
        #expect(!watch.isWatching)
        watch.answer(.sessions, [.array("(susso)", sessions.map { Self.session($0) })])
        #expect(watch.takeQuestions() == sessions.map { .session($0) })
        return watch
    }

    private func signal(_ member: String, _ values: BusValue..., path: String = here) -> SessionWatch.Signal {
        let interfaces = [
            "Lock": SessionWatch.session, "Unlock": SessionWatch.session, "PropertiesChanged": SessionWatch.properties,
            "NameOwnerChanged": SystemBus.daemon,
        ]
        return SessionWatch.Signal(
            path: path, interface: interfaces[member] ?? SessionWatch.manager, member: member, values: values)
    }

    /// Why a signal locks the vault; nil if it does not.
    private func reason(_ signal: SessionWatch.Signal, _ watch: inout SessionWatch) -> String? {
        watch.take(signal)
        return watch.takeReason()
    }

    @Test("Nothing is missed only when all sessions have been described")
    func watching() {
        var watch = watch([here, elsewhere])
        #expect(!watch.isWatching)
        watch.answer(.session(here), properties())
        #expect(!watch.isWatching)
        watch.answer(.session(elsewhere), properties(user: "4711"))
        #expect(watch.isWatching && watch.hasSession)
        #expect(reason(signal("Lock", path: elsewhere), &watch) == nil)
        #expect(reason(signal("Unlock"), &watch) == nil)
        #expect(reason(signal("Lock"), &watch) == "the session was locked")
    }

    @Test(
        "The user's sessions at a seat or a graphical screen count, and the one that the agent was started in",
        arguments: [
            (properties(), true), (properties(type: "wayland", seat: ""), true), (properties(seat: ""), false),
            (properties(type: "unspecified", seat: "", id: "7"), true), (properties(kind: "greeter"), false),
            (properties(kind: "manager", seat: ""), false), (properties(user: "10001"), false),
            (properties(user: "4711", id: "7"), false), (properties(kind: "user-early"), true),
        ])
    func counting(properties: [BusValue], counts: Bool) {
        var watch = watch(own: "7")
        watch.answer(.session(here), properties)
        #expect(watch.hasSession == counts)
        let (locked, ended) = (
            reason(signal("Lock"), &watch), reason(signal("SessionRemoved", .text("1"), .path(here)), &watch)
        )
        #expect((locked != nil) == counts)
        #expect((ended != nil) == counts)
    }

    @Test(
        "A session that cannot be described counts until it ends",
        arguments: [nil, [], [.text("?")]] as [[BusValue]?])
    func undescribed(answer: [BusValue]?) {
        var watch = watch()
        watch.answer(.session(here), answer)
        #expect(watch.isWatching && watch.hasSession)
        #expect(reason(signal("Lock"), &watch) != nil)
        #expect(reason(signal("SessionRemoved", .text("1"), .path(here)), &watch) == nil)
        #expect(reason(signal("Lock"), &watch) == nil)
    }

    @Test("A session is locked by its hint, and asked about if the hint is not in the signal")
    func hints() {
        var watch = watch()
        watch.answer(.session(here), properties())
        func changed(_ properties: [(name: String, value: BusValue)], _ unsaid: [String] = []) -> SessionWatch.Signal {
            signal(
                "PropertiesChanged", .text(SessionWatch.session), .properties(properties),
                .array("s", unsaid.map { .text($0) }))
        }
        #expect(reason(changed([("LockedHint", .boolean(false)), ("Active", .boolean(true))]), &watch) == nil)
        #expect(reason(changed([("LockedHint", .boolean(true))]), &watch) == "the session was locked")
        #expect(reason(changed([], ["LockedHint"]), &watch) == nil)
        #expect(watch.takeQuestions() == [.session(here)])
        watch.answer(.session(here), properties(isLocked: true))
        #expect(watch.takeReason() == "the session was locked")
    }

    @Test(
        "A session that leaves the screen is asked about, and locks the vault if it ends, though its programs go on",
        arguments: [["Active"], ["Type"], []])
    func closing(unsaid: [String]) {
        var watch = watch()
        watch.answer(.session(here), properties())
        let said: [(name: String, value: BusValue)] = unsaid.isEmpty ? [("Active", .boolean(false))] : []
        let changed = signal(
            "PropertiesChanged", .text(SessionWatch.session), .properties(said),
            .array("s", unsaid.map { .text($0) }))
        let first = reason(changed, &watch)
        #expect(first == nil)
        let questions = watch.takeQuestions()
        let expected: [SessionWatch.Question] = unsaid == ["Type"] ? [] : [.session(here)]
        #expect(questions == expected)
        // Another session may only have come to the screen.
        watch.answer(.session(here), properties(state: "online"))
        #expect(watch.hasSession && watch.takeReason() == nil)
        watch.answer(.session(here), properties(state: "closing"))
        #expect(!watch.hasSession && watch.takeReason() == "the session has ended")
        let removed = reason(signal("SessionRemoved", .text("1"), .path(here)), &watch)
        #expect(removed == nil)
    }

    @Test("A session that begins lets the others be asked about; one that had ended before locks nothing")
    func beginning() {
        var watch = watch()
        watch.answer(.session(here), properties())
        let begun = reason(signal("SessionNew", .text("2"), .path(elsewhere)), &watch)
        #expect(begun == nil)
        let questions = watch.takeQuestions()
        #expect(questions == [.session(elsewhere), .session(here)])
        watch.answer(.session(elsewhere), properties(state: "closing"))
        #expect(watch.hasSession && watch.takeReason() == nil)
        watch.answer(.session(here), properties(state: "closing"))
        #expect(watch.takeReason() == "the session has ended")
    }

    @Test("As many sessions are followed as can be read in a message, and with more, nothing is watched")
    func most() {
        func watch(_ count: Int) -> SessionWatch {
            var watch = SessionWatch(user: 1000, session: nil)
            watch.answer(.owner, [.text(":1.7")])
            let sessions = (0..<count).map { Self.session("/org/freedesktop/login1/session/_3\($0)") }
            watch.answer(.sessions, [.array("(susso)", sessions)])
            return watch
        }
        #expect(watch(SessionWatch.most).failure == nil)
        #expect(watch(SessionWatch.most + 1).failure == "systemd-logind has too many sessions")
        // The list, and of each session, a structure with 5 values.
        #expect(SessionWatch.most * 6 + 1 <= SessionWatch.mostValues)
    }

    @Test("Of many sessions, some are asked about at a time, each of them once, and in their order")
    func pieces() {
        var watch = SessionWatch(user: 1000, session: nil)
        _ = watch.takeQuestions()
        watch.answer(.owner, [.text(":1.7")])
        let paths = (0..<300).map { "/org/freedesktop/login1/session/_3\($0)" }
        watch.answer(.sessions, [.array("(susso)", paths.map { Self.session($0) })])
        #expect(watch.takeQuestions(atMost: 2) == [.sessions, .delay])
        #expect(watch.takeQuestions(atMost: 0).isEmpty && watch.takeQuestions(atMost: -1).isEmpty)
        var asked: [SessionWatch.Question] = []
        while true {
            let some = watch.takeQuestions(atMost: 64)
            #expect(some.count <= 64)
            if some.isEmpty { break }
            asked += some
        }
        #expect(asked == paths.map { .session($0) })
    }

    @Test("Sleep locks the vault, and is delayed again after it")
    func sleep() {
        var watch = watch([])
        #expect(watch.isWatching && !watch.hasSession)
        #expect(reason(signal("PrepareForSleep", .boolean(true)), &watch) == "the machine was about to sleep")
        #expect(watch.isAboutToSleep)
        #expect(reason(signal("PrepareForSleep", .boolean(false)), &watch) == nil)
        #expect(!watch.isAboutToSleep)
        #expect(watch.takeQuestions() == [.delay])
    }

    @Test("Without logind, without its sessions, and after its end, nothing is watched")
    func failures() {
        var without = SessionWatch(user: 1000, session: nil)
        without.answer(.owner, nil)
        #expect(without.failure?.contains("is not on the system bus") == true && !without.isWatching)
        var silent = SessionWatch(user: 1000, session: nil)
        silent.answer(.signals(rule: ""), nil)
        #expect(silent.failure != nil)
        var mute = watch()
        mute.answer(.sessions, [.text("none")])
        #expect(mute.failure != nil && !mute.isWatching)
        var ended = watch([])
        #expect(reason(signal("NameOwnerChanged", .text("org.example"), .text(":1.7"), .text("")), &ended) == nil)
        #expect(ended.isWatching)
        ended.take(signal("NameOwnerChanged", .text(SessionWatch.logind), .text(":1.7"), .text(":1.8")))
        #expect(ended.failure != nil && !ended.isWatching)
    }

    @Test("Only logind and the bus are believed")
    func senders() {
        #expect(!SessionWatch(user: 1000, session: nil).believes(":1.7"))
        #expect(watch().believes(":1.7") && watch().believes(SystemBus.daemon))
        #expect(!watch().believes(":1.70") && !watch().believes(""))
    }
}
