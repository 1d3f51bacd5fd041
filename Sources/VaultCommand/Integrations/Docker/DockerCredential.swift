import ArgumentParser
import FoundationEssentials
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `docker-credential`, and `docker-credential-vaultfmt`: a credential helper for docker.
struct DockerCredential: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Keep docker's passwords in a vault (a docker credential helper).",
        discussion: """
            Docker runs this command as docker-credential-vaultfmt with store, get, erase or list. Passwords are \
            stored as internet passwords with the attribute docker-server-url; other items are not shown to docker.

            Examples:
              vaultfmt list --class internet-password
              echo '{"credsStore": "vaultfmt"}' > ~/.docker/config.json
              vaultfmt docker-credential list
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "store, get, erase, list or version.")
    var operation: String

    mutating func run() throws {
        do {
            switch operation {
            case "store": try store()
            case "get": try get()
            case "erase": try erase()
            case "list": try list()
            case "version": try writeLine("vaultfmt \(Release.version)")
            default: throw CommandFailure(.usage, "unknown credential action \(TerminalText.quoted(operation))")
            }
        } catch {
            let failure = CommandFailure(error)
            // Docker's clients read the reason from standard output and recognize only exit code 1 as a failure.
            try writeLine(failure.message)
            throw CommandFailure(.noSuchItem, failure.message)
        }
    }

    /// The exact messages that docker's clients look for.
    private static let notFound = CommandFailure(.noSuchItem, "credentials not found in native keychain")
    private static let noServer = CommandFailure(.usage, "no credentials server URL")
    private static let noUser = CommandFailure(.usage, "no credentials username")

    /// The address exactly as docker wrote it. Items with this attribute belong to docker.
    static let serverAttribute = "docker-server-url"
    private static let longestRequest = 16 << 20

    // MARK: operations

    private func store() throws {
        let request: DockerRequest = try readRequest()
        guard !request.server.isEmpty else { throw Self.noServer }
        guard !request.user.isEmpty else { throw Self.noUser }
        guard !request.server.utf8.contains(0), !request.user.utf8.contains(0) else {
            throw CommandFailure(.usage, "docker's request has a zero byte in an address or a name; nothing was stored")
        }
        let key = try DockerServer(request.server).key(account: request.user)
        let opened = try vault.openVault(writable: true)
        var dated = AttributeChanges(set: [Self.serverAttribute: request.server])
        try dated.keepDate(ofSecretOf: try opened.item(key), unlessNew: Secret(text: request.secret), in: opened)
        let changes = dated
        // Docker stores one user per server.
        let others = try items(of: request.server, in: opened).map(\.key).filter { $0 != key }
        try opened.transaction { transaction throws(VaultError) in
            for other in others { _ = try transaction.remove(other) }
            try transaction.set(key, secret: Secret(text: request.secret), attributes: changes)
        }
    }

    private func get() throws {
        let server = try readServer()
        let opened = try vault.openVault()
        guard let item = try items(of: server, in: opened).max(by: { $0.modified < $1.modified }) else {
            throw Self.notFound
        }
        let whole = try opened.open(item)
        let secret = whole.secret.copy()
        guard SecretText.isUTF8(secret) else {
            throw CommandFailure(.unavailable, "the secret is not UTF-8, so docker cannot use it")
        }
        var writer = JSONWriter(Output.standard(), isOnOneLine: true)
        try writer.object { writer in
            try writer.member("ServerURL", server)
            try writer.member("Username", TwinName.userName(item) ?? "")
            try writer.member("Secret", secret)
        }
        try writer.finish()
    }

    private func erase() throws {
        let server = try readServer()
        let opened = try vault.openVault(writable: true)
        let keys = try items(of: server, in: opened).map(\.key)
        guard !keys.isEmpty else { return }
        try opened.transaction { transaction throws(VaultError) in
            for key in keys { _ = try transaction.remove(key) }
        }
    }

    private func list() throws {
        let opened = try vault.openVault()
        var names: [String: (user: String, modified: Int64)] = [:]
        var cursor = try opened.items(matching: Self.query())
        while let item = try cursor.next() {
            guard let server = item.attributes.string(Self.serverAttribute) else { continue }
            if let known = names[server], known.modified > item.modified { continue }
            names[server] = (TwinName.userName(item) ?? "", item.modified)
        }
        var writer = JSONWriter(Output.standard(), isOnOneLine: true)
        let sorted = names.sorted { $0.key < $1.key }
        try writer.object { writer in
            for (server, entry) in sorted { try writer.member(server, entry.user) }
        }
        try writer.finish()
    }

    // MARK: items

    private static func query() -> Query {
        Query(itemClass: .internetPassword)
    }

    private func items(of server: String, in opened: Vault) throws -> [Item] {
        var query = Self.query()
        query[.server] = .text(DockerServer(server).server)
        var found: [Item] = []
        var cursor = try opened.items(matching: query)
        while let item = try cursor.next() {
            guard let text = item.attributes.string(Self.serverAttribute), text.utf8.elementsEqual(server.utf8) else {
                continue
            }
            found.append(item)
        }
        return found
    }

    // MARK: standard input and output

    private func readRequest<Request: Decodable>() throws -> Request {
        let input = try Descriptor.readAll(STDIN_FILENO, name: "docker's request", limit: Self.longestRequest)
        let data = input.withUnsafeBytes { Data($0) }
        let refusal = CommandFailure(
            .usage, "docker's request is not the expected JSON; this command is meant for docker, not for people")
        // If a member occurs twice, the decoder uses one of the two without reporting which.
        guard Self.hasEachNameOnce(input) else { throw refusal }
        do {
            return try JSONDecoder().decode(Request.self, from: data)
        } catch {
            throw refusal
        }
    }

    private static func hasEachNameOnce(_ input: borrowing Secret) -> Bool {
        var text = SecretBuffer(capacity: input.count)
        text.append(input)
        var splitter = JSONSplitter(SourceReader(text, at: 0))
        var names: Set<String> = []
        do {
            while let piece = try splitter.next() {
                if case .member(let name) = piece, !names.insert(name).inserted { return false }
            }
            return true
        } catch { return false }
    }

    private func readServer() throws -> String {
        let input = try Descriptor.readAll(STDIN_FILENO, name: "docker's request", limit: 65_536)
        guard let text = input.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else { throw Self.notFound }
        let server = String(text.trimmed)
        guard !server.utf8.contains(0) else { throw Self.notFound }
        guard !server.isEmpty else { throw Self.noServer }
        return server
    }

    private func writeLine(_ text: String) throws {
        let output = Output.standard()
        try output.line(TerminalText.singleLine(text))
        try output.flush()
    }
}

/// The credentials that docker wants to store. Foundation's decoder leaves the secret in memory that is not wiped, but
/// the process exits soon.
private struct DockerRequest: Decodable {
    let server: String
    let user: String
    let secret: String

    enum CodingKeys: String, CodingKey {
        case server = "ServerURL"
        case user = "Username"
        case secret = "Secret"
    }
}

/// A registry's address, as docker writes it: a host, a host with a port, or a URL.
struct DockerServer {
    let server: String
    private let text: String
    private let networkProtocol: String
    private let port: UInt32
    private let path: String

    init(_ text: String) {
        self.text = text
        if let address = WebAddress(list: text), address.isExact {
            (server, networkProtocol, port, path) = (address.server, address.protocol, address.port, address.path)
        } else {
            (server, networkProtocol, port, path) = (text, "", 0, "")
        }
    }

    /// Returns the key of an item for this server. The address is also the security domain, so that a password for git
    /// or a browser on the same server is a separate item.
    func key(account: String) throws -> ItemKey {
        try ItemKey.internetPassword(
            server: server, account: account, protocol: networkProtocol, port: port, path: path,
            securityDomain: text)
    }
}
