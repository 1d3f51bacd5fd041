import Foundation
import TestSupport
import Testing
import VaultAgent
import VaultExchange
import VaultFmt
import VaultLocal

@testable import VaultSecretService

/// The service over a vault, without a bus, whose clock the test sets.
final class TestService {
    let folder: Folder
    let machine: Machine
    let served: ServedVault
    let service: SecretService
    var now: UInt64 = 1000
    /// What `vaultfmt unlock` would keep open, each time until another time.
    var kept: Vault? { didSet { keptEnd += 1 } }
    /// What takes the place of `kept`, which is gone once, after so many looks at it.
    var keptNext: (vault: Vault, looks: Int)?
    private var keptEnd = AgentClock.calendarTime() + 1_000_000

    /// - `isOpen`: Whether the vault is open when the service starts.
    /// - `key`: The letter of the key that opens it.
    /// - `lockWait`: How long it waits for other writers.
    /// - `asks`: Whether a person can be asked for a passphrase that opens it.
    /// - `prepare`: What is done with the vault before.
    init(
        _ groups: [String] = ["desktop"], confirms: Bool = false, isOpen: Bool = true, key: String = "k",
        limits: ListingLimits = ListingLimits(), lockWait: Duration = .seconds(10), asks: Bool = false,
        prepare: (Vault) throws -> Void = { _ in }
    ) throws {
        let folder = try Folder()
        self.folder = folder
        let places = Places(
            vault: folder.file("v.vault"), generatedKeyFile: folder.file("key"), stateFolder: folder.file("state"),
            witnessFile: nil)
        machine = Machine(places) { _ in }
        try prepare(try machine.create(at: folder.file("v.vault"), factors: try Self.factors()))
        var reopen: () -> (vault: Vault, end: UInt64)? = { nil }
        let onDemand = ServedVault.OnDemand(canAsk: true) { () throws(AgentError) in
            nil
        } begin: { (_) throws(AgentError) in
            throw AgentError(.unavailable, "the tests keep the vault open instead")
        } finish: { (_) throws(AgentError) in
            throw AgentError(.unavailable, "the tests keep the vault open instead")
        }
        served = ServedVault(
            path: folder.file("v.vault"), groups: [], limits: .init(),
            vault: isOpen ? try Self.open(machine, folder, key, lockWait) : nil, isKept: false, now: now,
            keptEnds: ServedVault.KeptEnds(any: { _ in reopen()?.end }, ofSlot: { _ in reopen()?.end }),
            reopening: { reopen()?.vault }, onDemand: asks ? onDemand : nil)
        service = SecretService(served, ServedGroups(groups), confirms: confirms, limits: limits)
        reopen = { [unowned self] in lookAtKept() }
    }

    private func lookAtKept() -> (vault: Vault, end: UInt64)? {
        if let next = keptNext {
            guard next.looks > 1 else {
                (kept, keptNext) = (next.vault, nil)
                return nil
            }
            keptNext = (next.vault, next.looks - 1)
        }
        return kept.map { ($0, keptEnd) }
    }

    static func factors(_ key: String = "k") throws -> Factors {
        try Factors(rawKey: Secret(text: String(repeating: key, count: 32)))
    }

    private static func open(
        _ machine: Machine, _ folder: Folder, _ key: String = "k", _ lockWait: Duration = .seconds(10)
    ) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.lockWait = lockWait
        return try machine.open(folder.file("v.vault"), factors: try factors(key), options: options)
    }

    /// Opens the vault as another program does.
    func open() throws -> Vault { try Self.open(machine, folder) }

    func call(_ client: BusClient, _ path: String, _ interface: String, _ member: String, _ arguments: BusValue...)
        throws
        -> [BusValue]
    {
        try service.answer(BusCall(client, path, interface, member, arguments), now: now).get()
    }

    func call(_ client: BusClient, _ member: String, _ arguments: BusValue...) throws -> [BusValue] {
        try service.answer(BusCall(client, ServiceName.path, ServiceName.service, member, arguments), now: now).get()
    }

    // MARK: what clients do

    func session(_ client: BusClient) throws -> String {
        let reply = try call(client, "OpenSession", .text("plain"), .variant(.text("")))
        guard reply.count == 2, case .path(let path) = reply[1] else { throw Unexpected() }
        return path
    }

    static func secret(_ session: String, _ text: String, type: String = "text/plain") -> BusValue {
        ServiceSecret(
            session: session, parameters: SharedSecret(Secret(count: 0)), value: SharedSecret(text: text),
            contentType: type
        ).busValue
    }

    static func properties(_ label: String, _ attributes: [(name: String, value: String)]) -> BusValue {
        .properties([
            (ServiceName.item + ".Label", .text(label)), (ServiceName.item + ".Attributes", .texts(attributes)),
        ])
    }

    @discardableResult
    func store(
        _ client: BusClient, _ text: String, label: String = "A label",
        _ attributes: [(name: String, value: String)], replaces: Bool = false,
        in path: String = TestService.defaultPath,
        type: String = "text/plain"
    ) throws -> String {
        let reply = try call(
            client, path, ServiceName.collection, "CreateItem", Self.properties(label, attributes),
            Self.secret(try session(client), text, type: type), .boolean(replaces))
        guard reply.count == 2, case .path(let item) = reply[0], case .path("/") = reply[1] else { throw Unexpected() }
        return item
    }

    func search(_ client: BusClient, _ attributes: [(name: String, value: String)]) throws -> (
        unlocked: [String], locked: [String]
    ) {
        let reply = try call(client, "SearchItems", .texts(attributes))
        return (Self.paths(reply[0]), Self.paths(reply[1]))
    }

    func read(_ client: BusClient, _ item: String) throws -> (text: String, type: String) {
        let reply = try call(client, item, ServiceName.item, "GetSecret", .path(try session(client)))
        guard case .structure(let parts) = reply[0], case .bytes(let value) = parts[2], case .text(let type) = parts[3]
        else { throw Unexpected() }
        return (try #require(value.text), type)
    }

    /// Asks for a secret; returns the number of the call, which waits for a person.
    func wait(_ client: BusClient, _ item: String) throws -> UInt64 {
        let call = BusCall(client, item, ServiceName.item, "GetSecret", [.path(try session(client))])
        guard case .later(let number) = service.answer(call, now: now) else { throw Unexpected() }
        return number
    }

    /// Asks for the secrets of several items; returns their paths and texts.
    func read(_ client: BusClient, _ items: [String]) throws -> [String: String] {
        let reply = try call(client, "GetSecrets", .paths(items), .path(try session(client)))
        guard case .array(_, let entries) = reply[0] else { throw Unexpected() }
        var found: [String: String] = [:]
        for entry in entries {
            guard case .entry(.path(let path), .structure(let parts)) = entry, case .bytes(let value) = parts[2] else {
                throw Unexpected()
            }
            found[path] = value.text
        }
        return found
    }

    func setAttributes(_ client: BusClient, _ item: String, _ attributes: [(name: String, value: String)]) throws {
        _ = try call(
            client, item, ServiceName.properties, "Set", .text(ServiceName.item), .text("Attributes"),
            .variant(.texts(attributes)))
    }

    func attributes(_ client: BusClient, _ item: String) throws -> [String: String] {
        let value = try property(client, item, ServiceName.item, "Attributes")
        return Dictionary(uniqueKeysWithValues: try BusArguments.attributes(in: value).all.map { ($0.name, $0.value) })
    }

    /// Makes a collection, and returns its path.
    func makeCollection(_ label: String, alias: String = "") throws -> String {
        let properties = BusValue.properties([(ServiceName.collection + ".Label", .text(label))])
        guard case .path(let path) = try call(.one, "CreateCollection", properties, .text(alias))[0] else {
            throw Unexpected()
        }
        return path
    }

    func property(_ client: BusClient, _ path: String, _ interface: String, _ name: String) throws -> BusValue {
        let reply = try call(client, path, ServiceName.properties, "Get", .text(interface), .text(name))
        guard case .variant(let value) = reply[0] else { throw Unexpected() }
        return value
    }

    func isLocked(_ client: BusClient, _ path: String, _ interface: String = ServiceName.item) throws -> Bool {
        guard case .boolean(let value) = try property(client, path, interface, "Locked") else { throw Unexpected() }
        return value
    }

    /// Unlocks objects; returns those that are unlocked, and the prompt for the others.
    func unlock(_ client: BusClient, _ paths: String...) throws -> (unlocked: [String], prompt: String) {
        let reply = try call(client, "Unlock", .paths(paths))
        guard case .path(let prompt) = reply[1] else { throw Unexpected() }
        return (Self.paths(reply[0]), prompt)
    }

    /// Shows a prompt, and answers each question as a person does; returns what the client learns at the end.
    func show(_ client: BusClient, _ prompt: String, answer: Bool?) throws -> (isDismissed: Bool, result: BusValue)? {
        _ = try call(client, prompt, ServiceName.prompt, "Prompt", .text(""))
        while let answer, let question = service.nextQuestion(now: now) {
            service.take(answer ? .yes : .no, to: question, now: now)
        }
        return completion(prompt)
    }

    func completion(_ prompt: String) -> (isDismissed: Bool, result: BusValue)? {
        for signal in service.takeSignals() where signal.path == prompt && signal.member == "Completed" {
            guard case .boolean(let isDismissed) = signal.arguments[0], case .variant(let result) = signal.arguments[1]
            else { continue }
            return (isDismissed, result)
        }
        return nil
    }

    static let defaultPath = ServiceObject.alias("default").path

    static func paths(_ value: BusValue) -> [String] {
        guard case .array("o", let values) = value else { return [] }
        return values.compactMap { if case .path(let path) = $0 { path } else { nil } }
    }
}

struct Unexpected: Error {}

extension BusClient {
    static let one = BusClient(name: ":1.1", process: 11, program: "one")
    static let two = BusClient(name: ":1.2", process: 12, program: "two")
}

extension ServiceAnswer {
    /// Returns the output of a call that need not wait.
    func get() throws -> [BusValue] {
        guard case .reply(let result) = self else { throw BusError("test.Waits", "a person is asked first") }
        return try result.get()
    }
}

/// Returns the name of the error that `body` throws, without what precedes the last dot.
func failure(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch { return (error as? BusError)?.name.split(separator: ".").last.map(String.init) ?? "\(error)" }
}
