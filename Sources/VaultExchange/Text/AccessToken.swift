/// Recognizes services' access tokens that take the place of the user name in an address.
enum AccessToken {
    /// Returns whether a user name is likely to be a token: it begins like a known service's tokens, or it is long and
    /// has either two digits or the irregular mix of cases that random letters have.
    ///
    /// A user name that is sealed unnecessarily can still be read; a token that is not sealed is stored in the index.
    static func isLikely(_ name: some Collection<UInt8>) -> Bool {
        if hasKnownPrefix(name) { return true }
        guard name.count >= shortest, !name.contains(UInt8(ascii: "%")) else { return false }
        if name.count(where: { digits.contains($0) }) >= 2 { return true }
        return name.count >= shortestWithoutDigits && rises(name) >= 3
    }

    /// Returns whether a user name begins like a known service's tokens, whatever follows.
    static func hasKnownPrefix(_ name: some Collection<UInt8>) -> Bool {
        prefixes.contains { name.starts(with: $0.utf8) }
    }

    /// The number of upper-case letters that follow a lower-case letter: one for each further word of a name such as
    /// `AnnaMaria`, and one for every four characters of a random text.
    private static func rises(_ name: some Collection<UInt8>) -> Int {
        zip(name, name.dropFirst()).count { lowerCase.contains($0) && upperCase.contains($1) }
    }

    /// The minimum length of an unknown token. The tokens of services have at least 20 characters.
    private static let shortest = 16
    private static let shortestWithoutDigits = 20
    private static let digits: ClosedRange<UInt8> = 0x30...0x39
    private static let upperCase: ClosedRange<UInt8> = 0x41...0x5A
    private static let lowerCase: ClosedRange<UInt8> = 0x61...0x7A

    /// The prefixes that the services publish. Most of them are also rules of gitleaks (`config/gitleaks.toml`).
    private static let prefixes = [
        // docs.github.com, "About authentication to GitHub", "GitHub's token formats"
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
        // docs.gitlab.com, "GitLab token overview", "Token prefixes"
        "glpat-", "gloas-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glwt-",
        "glsoat-", "glffct-",
        // huggingface.co/docs, "User access tokens"; api_org_ is the older token of an organization
        "hf_", "api_org_",
        // docs.stripe.com, "API keys"
        "sk_live_", "sk_test_", "rk_live_", "rk_test_",
        // docs.slack.dev, "Tokens"
        "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-",
        // github.blog, "Announcing npm's new access token format"; pypi.org/help, "API tokens"
        "npm_", "pypi-",
        // docs.aws.amazon.com, "IAM identifiers", "Unique identifier prefixes"
        "AKIA", "ASIA",
        // docs.digitalocean.com, "DigitalOcean API", "Authentication"
        "dop_v1_", "doo_v1_", "dor_v1_",
        // Google: API keys, OAuth access tokens, client secrets
        "AIza", "ya29.", "GOCSPX-",
        // OpenAI (sk-proj-, sk-svcacct-, …) and Anthropic (sk-ant-)
        "sk-",
    ]
}
