import VaultAge
import VaultConsole
import VaultFmt
import VaultLocal

/// The identities that `--identity` and VAULTFMT_IDENTITY name.
struct IdentityFiles {
    /// False with `--no-input`.
    let mayAsk: Bool
    private var native: [any Identity] = []
    private var plugins: [PluginIdentity] = []

    private static let mostTries = 3

    private init(mayAsk: Bool) { self.mayAsk = mayAsk }

    /// Reads the files as factors that open slots. Identities that need no other program are tried first, because they
    /// never prompt.
    static func factor(_ paths: [String], mayAsk: Bool) throws -> AgeFactor {
        var files = IdentityFiles(mayAsk: mayAsk)
        for path in paths { try files.read(path) }
        let host = AgeKeys.plugins(mayAsk: mayAsk)
        return AgeFactor(
            identities: files.native + host.identities(files.plugins), resolver: AgeKeys.resolver(host))
    }

    /// Reads the files as factors for a program that must not wait. Plugins are not run, because they may wait for a
    /// touch, and the user is never prompted.
    /// - `required`: Whether to throw an error for an identity that needs a plugin, instead of leaving the identity
    ///   out.
    /// - Returns: Nil if no identity is left.
    static func factorWithoutPlugins(_ paths: [String], required: Bool) throws -> AgeFactor? {
        var files = IdentityFiles(mayAsk: false)
        for path in paths { try files.read(path) }
        guard !required || files.plugins.isEmpty else {
            throw CommandFailure(
                .unavailable,
                "an identity of a plugin cannot be used with --on-demand, because a plugin may wait for a touch; "
                    + "use another factor, or open the vault with 'vaultfmt unlock'")
        }
        guard !files.native.isEmpty else { return nil }
        let host = AgeKeys.plugins(mayAsk: false)
        return AgeFactor(identities: files.native, resolver: AgeKeys.resolver(host))
    }

    private mutating func read(_ path: String) throws {
        let content = try whileOpening {
            try FactorInput.file(path, what: "identity file", limit: AgeLimit.identityFile)
        }
        let place = "identity file \(TerminalText.path(path))"
        do {
            switch try IdentityFile.read(content) {
            case .identities(let all): take(all)
            case .openSSH(let identity): native.append(identity)
            case .encrypted(let file): take(try open(file, place))
            case .encryptedOpenSSH: native.append(try openSSH(content, place))
            }
        } catch let error as AgeError {
            throw CommandFailure(error, at: place)
        }
    }

    private mutating func take(_ identities: [IdentityText]) {
        for identity in identities {
            switch identity {
            case .native(let identity): native.append(identity)
            case .plugin(let identity): plugins.append(identity)
            }
        }
    }

    private func open(_ file: EncryptedIdentities, _ place: String) throws -> [IdentityText] {
        try withPassphrase(place) { (passphrase) in
            do throws(AgeError) { return try file.open(passphrase: passphrase) } catch {
                guard error.code == .wrongPassphrase else { throw error }
                return nil
            }
        }
    }

    private func openSSH(_ content: borrowing Secret, _ place: String) throws -> any NativeIdentity {
        let content = content.copy()
        return try withPassphrase(place) { (passphrase) in
            let limit = AgeLimit.identityFile
            guard let decrypted = try SSHKeygen.decrypted(content, passphrase, limit: limit, place) else { return nil }
            guard case .openSSH(let identity) = try IdentityFile.read(decrypted) else {
                throw CommandFailure(
                    .damaged, "\(place): ssh-keygen did not decrypt this OpenSSH key; try a copy of it")
            }
            return identity
        }
    }

    /// Asks for the passphrase of a file, at most three times.
    private func withPassphrase<Found>(
        _ place: String, _ open: (borrowing Secret) throws -> Found?
    ) throws -> Found {
        let instead = "use a file that is not encrypted, or run the command on a terminal"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "\(place) is encrypted, and --no-input forbids prompting; \(instead)")
        }
        // What is typed while a passphrase is being checked may be the next attempt, so it must not be shown.
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        for left in (0..<Self.mostTries).reversed() {
            let passphrase = try Prompt.secret("Passphrase for \(place)", instead: instead)
            if let found = try open(passphrase) { return found }
            if left > 0 { Terminal.note("wrong passphrase; try again") }
        }
        throw CommandFailure(.noAccess, "the passphrase does not open \(place); check the passphrase")
    }
}
