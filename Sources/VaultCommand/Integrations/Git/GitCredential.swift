import ArgumentParser
import Glibc
import VaultFmt
import VaultLocal

/// `git-credential`, and `git-credential-vaultfmt`: git's credential helper.
struct GitCredential: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Keep git's passwords in a vault: a credential helper of git.",
        discussion: """
            Git starts it as git-credential-vaultfmt, with get, store or erase. Passwords are internet passwords: protocol, server, port and \
            account are theirs; with credential.useHttpPath the path is too. An item without a protocol is given to https only.

            Examples:
              vaultfmt set --server git.example.org --protocol https --account alice
              git config --global credential.helper vaultfmt
              git config credential.helper 'vaultfmt --vault /srv/deploy.vault --raw-key-file /etc/deploy.key'
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "get, store or erase; others are ignored, as git wants it.")
    var operation: String

    mutating func run() throws {
        guard ["get", "store", "erase"].contains(operation) else { return }
        // Git's own way to say that nobody is there to answer.
        if Environment.value("GIT_TERMINAL_PROMPT") == "0" { vault.access.noInput = true }
        let request = try GitRequest(Descriptor.readAll(STDIN_FILENO, name: "git's request", limit: 1 << 20))
        if let flaw = request.flaw { return Terminal.note("git's request has \(flaw), so it names nothing in a vault") }
        guard let place = GitPlace(request) else { return }
        switch operation {
        case "get": try getOrQuit(request, place)
        case "store": try store(request, place)
        default: try erase(request, place)
        }
    }

    private static let schemeAttribute = "git-authtype"
    private static let expiryAttribute = "git-password-expiry-utc"
    private static let refreshAttribute = "sealed:git-oauth-refresh-token"

    // MARK: get

    /// Where a person was asked and the vault stays closed, git is told to stop: its next question would be for a user
    /// name, with echo, and who is still typing a passphrase would hand it to the server.
    private func getOrQuit(_ request: borrowing GitRequest, _ place: GitPlace) throws {
        TerminalGuardian.lastWords = Self.quit
        do { try get(request, place) } catch {
            if ControllingTerminal.hasAsked { TerminalGuardian.sayLastWords(on: STDOUT_FILENO) }
            throw error
        }
    }

    private static let quit = "quit=1\n"

    private func get(_ request: borrowing GitRequest, _ place: GitPlace) throws {
        let opened = try vault.openVault()
        var suitable: [Item] = []
        for item in try place.items(in: opened) {
            guard let scheme = item.attributes.string(Self.schemeAttribute) else {
                suitable.append(item)
                continue
            }
            let isOffered = request.offeredSchemes.isEmpty || request.offeredSchemes.contains(scheme.lowercased())
            if request.knowsAuthenticationTypes && isOffered { suitable.append(item) }
        }
        // The newest of those that stand for the place as a whole, else the newest of its parts.
        let rank = { (item: Item) in (place.isExact(item.key) ? 1 : 0, item.modified, item.revision) }
        guard let best = suitable.max(by: { rank($0) < rank($1) }) else { return }
        try answer(try opened.open(best))
    }

    private func answer(_ opened: borrowing OpenedItem) throws {
        let output = Output.standard()
        let attributes = opened.item.attributes
        let account = opened.item.key.account ?? ""
        if let scheme = attributes.string(Self.schemeAttribute) {
            try output.line("capability[]=authtype")
            try Self.write("authtype", Secret(text: scheme), to: output)
            if !account.isEmpty { try Self.write("username", Secret(text: account), to: output) }
            try Self.write("credential", opened.secret, to: output)
        } else {
            try Self.write("username", Secret(text: account), to: output)
            try Self.write("password", opened.secret, to: output)
        }
        if let expiry = attributes.string(Self.expiryAttribute) {
            try Self.write("password_expiry_utc", Secret(text: expiry), to: output)
        }
        if let token = attributes[Self.refreshAttribute] {
            try Self.write("oauth_refresh_token", Secret(copying: token), to: output)
        }
        try output.flush()
    }

    /// A line end in a value would be the start of another attribute.
    private static func write(_ name: String, _ value: borrowing Secret, to output: Output) throws {
        guard value.withUnsafeBytes({ bytes in bytes.allSatisfy { $0 != 0x0A && $0 != 0 } }) else {
            throw CommandFailure(
                .unavailable, "the item's \(name) has a line end or a zero byte, which git cannot take; change it")
        }
        try output.write(name + "=")
        try output.write(value)
        try output.write(byte: 0x0A)
    }

    // MARK: store

    private func store(_ request: borrowing GitRequest, _ place: GitPlace) throws {
        guard !request.isEphemeral, let scheme = Self.storedScheme(request, place) else { return }
        var changes = AttributeChanges(remove: [Self.schemeAttribute, Self.expiryAttribute, Self.refreshAttribute])
        if !scheme.isEmpty { changes.set[Self.schemeAttribute] = Array(scheme.utf8) }
        if let expiry = request.expiry { changes.set[Self.expiryAttribute] = Array(expiry.utf8) }
        if let token = request.refreshToken.copied() {
            changes.set[Self.refreshAttribute] = token.withUnsafeBytes { Array($0) }
        }
        guard let secret = scheme.isEmpty ? request.password.copied() : request.credential.copied() else { return }
        try store(secret, scheme, changes, place)
    }

    /// Empty for a user name with a password, else the scheme of a credential; nil where neither is whole.
    private static func storedScheme(_ request: borrowing GitRequest, _ place: GitPlace) -> String? {
        if request.credential != nil, let scheme = request.authenticationType { return scheme }
        return request.password != nil && place.username != nil ? "" : nil
    }

    private func store(
        _ secret: borrowing Secret, _ scheme: String, _ changes: AttributeChanges, _ place: GitPlace
    ) throws {
        let opened = try vault.openVault(writable: true)
        var key = try place.key(authenticationType: scheme)
        for item in try place.items(in: opened) where place.isExact(item.key) {
            guard (item.attributes.string(Self.schemeAttribute) ?? "") == scheme,
                (item.key.account ?? "").utf8.elementsEqual((key.account ?? "").utf8)
            else { continue }
            if try isUnchanged(item, secret, changes, opened) { return }
            key = item.key
            break
        }
        let found = key
        try opened.set(found, secret: secret, attributes: changes)
    }

    /// Git says `store` after each success: what is there already is not written again.
    private func isUnchanged(
        _ known: Item, _ secret: borrowing Secret, _ changes: AttributeChanges, _ opened: Vault
    ) throws -> Bool {
        let old = try opened.open(known)
        guard old.secret.equals(secret) else { return false }
        let before = old.item.attributes
        return [Self.schemeAttribute, Self.expiryAttribute, Self.refreshAttribute].allSatisfy {
            before[$0] == changes.set[$0]
        }
    }

    // MARK: erase

    /// Removes all items of the place; with a password only those that have it: another process may have stored a
    /// better one.
    private func erase(_ request: borrowing GitRequest, _ place: GitPlace) throws {
        let wanted = request.credential.copied() ?? request.password.copied()
        let opened = try vault.openVault(writable: true)
        var doomed: [ItemKey] = []
        for item in try place.items(in: opened) {
            guard let scheme = item.attributes.string(Self.schemeAttribute) else {
                if request.credential == nil, try hasSecret(item, wanted, opened) { doomed.append(item.key) }
                continue
            }
            let isMeant =
                request.authenticationType.map { $0.lowercased() == scheme.lowercased() } ?? (request.password == nil)
            if isMeant, try hasSecret(item, wanted, opened) { doomed.append(item.key) }
        }
        guard !doomed.isEmpty else { return }
        let keys = doomed
        try opened.transaction { transaction throws(VaultError) in
            for key in keys { _ = try transaction.remove(key) }
        }
    }

    private func hasSecret(_ item: Item, _ wanted: borrowing Secret?, _ opened: Vault) throws -> Bool {
        switch wanted {
        case .none: true
        case .some(let secret): try opened.open(item).secret.equals(secret)
        }
    }
}

extension Optional where Wrapped == Secret {
    /// A second holder of the same bytes, where there are any.
    borrowing func copied() -> Secret? {
        switch self {
        case .some(let secret): secret.copy()
        case .none: nil
        }
    }
}
