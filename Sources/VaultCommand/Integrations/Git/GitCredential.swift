import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `git-credential`, and `git-credential-vaultfmt`: a credential helper for git.
struct GitCredential: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Keep git's passwords in a vault (a git credential helper).",
        discussion: """
            Git runs this command as git-credential-vaultfmt with get, store or erase. Passwords are stored as \
            internet passwords with protocol, server, port and account, and with the path if credential.useHttpPath \
            is set. An item without a protocol is used only for https.

            Examples:
              vaultfmt set --server git.example.org --protocol https --account alice
              git config --global credential.helper vaultfmt
              git config credential.helper 'vaultfmt --vault /srv/deploy.vault --raw-key-file /etc/deploy.key'
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "get, store or erase; all others are ignored, as git requires.")
    var operation: String

    mutating func run() throws {
        guard ["get", "store", "erase"].contains(operation) else { return }
        // Git's own setting for non-interactive use.
        if Environment.value("GIT_TERMINAL_PROMPT") == "0" { vault.access.noInput = true }
        let request = try GitRequest(Descriptor.readAll(STDIN_FILENO, name: "git's request", limit: 1 << 20))
        if let flaw = request.flaw {
            return Terminal.note("git's request has \(flaw), so it matches nothing in the vault")
        }
        guard let place = GitPlace(request) else {
            guard let flaw = GitPlace.flaw(of: request).map({ "git's request has \($0)" }) else { return }
            guard operation == "store" else { return Terminal.note("\(flaw), so it matches nothing in the vault") }
            throw CommandFailure(.usage, "\(flaw), so the password was not stored; correct the address")
        }
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

    /// Tells git to stop if the user was prompted and the vault is still locked. Git would otherwise prompt for a user
    /// name with echo on, and a user who is still typing the passphrase would send the passphrase to the server.
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
        // The newest item for the place as a whole is preferred; failing that, the newest item for a part of the place
        // is used.
        let rank = { (item: Item) in
            (place.isExact(item.key) ? 1 : 0, place.isNamed(item.key) ? 1 : 0, item.modified, item.revision)
        }
        guard let best = suitable.max(by: { rank($0) < rank($1) }) else { return }
        try answer(try opened.open(best))
    }

    private func answer(_ opened: borrowing OpenedItem) throws {
        let output = Output.standard()
        let attributes = opened.item.attributes
        let account = TwinName.userName(opened.item) ?? ""
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

    /// Writes an attribute. A newline in a value would start another attribute.
    private static func write(_ name: String, _ value: borrowing Secret, to output: Output) throws {
        guard value.withUnsafeBytes({ bytes in bytes.allSatisfy { $0 != 0x0A && $0 != 0 } }) else {
            throw CommandFailure(
                .unavailable,
                "the item's \(name) contains a newline or a zero byte, which git does not accept; change it")
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
            // An import may have added an item in which this attribute is unsealed.
            changes.set.set(Attribute(Self.refreshAttribute, secret: token, flags: .sealed))
        }
        guard let secret = scheme.isEmpty ? request.password.copied() : request.credential.copied() else { return }
        try store(secret, scheme, changes, place)
    }

    /// Returns an empty string for a user name with a password, the scheme for a credential, or nil if neither is
    /// complete.
    private static func storedScheme(_ request: borrowing GitRequest, _ place: GitPlace) -> String? {
        if request.credential != nil, let scheme = request.authenticationType { return scheme }
        return request.password != nil && place.username != nil ? "" : nil
    }

    private func store(
        _ secret: borrowing Secret, _ scheme: String, _ changes: AttributeChanges, _ place: GitPlace
    ) throws {
        let opened = try vault.openVault(writable: true)
        var (key, changes) = (try place.key(authenticationType: scheme), changes)
        // An import may have added several items with the same user name.
        let known = try place.items(in: opened).filter { item in
            place.isExact(item.key) && (item.attributes.string(Self.schemeAttribute) ?? "") == scheme
                && (TwinName.userName(item) ?? "").utf8.elementsEqual((key.account ?? "").utf8)
        }
        if try known.contains(where: { try isUnchanged($0, secret, changes, opened) }) { return }
        if let item = known.first(where: { place.isNamed($0.key) }) ?? known.first { key = item.key }
        try changes.keepDate(ofSecretOf: try opened.item(key), unlessNew: secret, in: opened)
        try opened.set(key, secret: secret, attributes: changes)
    }

    /// Git sends `store` after each success: a password that is already stored is not written again.
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

    /// Removes items for the place. If a password is given, only items with that password are removed, because another
    /// process may have stored a newer password; otherwise, only items whose account is exactly the user name are
    /// removed.
    private func erase(_ request: borrowing GitRequest, _ place: GitPlace) throws {
        let wanted = request.credential.copied() ?? request.password.copied()
        let opened = try vault.openVault(writable: true)
        var doomed: [ItemKey] = []
        for item in try place.items(in: opened) where wanted != nil || place.isNamed(item.key) {
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
    /// Returns a copy of the bytes, or nil if the secret is empty.
    borrowing func copied() -> Secret? {
        switch self {
        case .some(let secret): secret.copy()
        case .none: nil
        }
    }
}
