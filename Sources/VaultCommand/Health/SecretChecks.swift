import Crypto
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Findings from opened secrets: weak, reused and leaked secrets, and expiring certificates. Each secret is borrowed
/// for a single call; only its keyed hash is kept, and the hash key exists only as long as this value.
final class SecretChecks {
    private let estimate = PasswordEstimate()
    private let breaches: BreachFile?
    private let key = SymmetricKey(size: .bits256)
    private var users: [HMAC<SHA256>.MAC: [Item]] = [:]
    private var order: [HMAC<SHA256>.MAC] = []
    private let now: Int64
    private let soon: Int64
    private(set) var findings: [Finding] = []
    /// Items whose secrets belong to another device, or that this slot cannot open.
    private(set) var refused: [ItemKey] = []
    /// Items whose secrets are damaged, with the reasons, which name the items.
    private(set) var damaged: [(key: ItemKey, reason: String)] = []
    /// Items that show no secret.
    private(set) var withoutSecret: [Item] = []

    /// - Parameters:
    ///   - breaches: A list of leaked passwords.
    ///   - now: Milliseconds since 1970.
    ///   - soon: Items that expire before this time are reported.
    init(_ breaches: BreachFile?, now: Int64, soon: Int64) {
        self.breaches = breaches
        self.now = now
        self.soon = soon
    }

    /// True if passwords are estimated with libzxcvbn.
    var isExact: Bool { estimate.isExact }

    /// Checks one item.
    func look(at item: Item, _ secret: ScannedSecret) throws {
        switch secret {
        case .refused where item.lacksSecret: withoutSecret.append(item)
        case .refused(let error) where error.isDamage: damaged.append((item.key, error.description))
        case .refused: refused.append(item.key)
        case .opened(let bytes):
            if item.key.itemClass == .certificate {
                add(Expiry.finding(item, CertificateExpiry.milliseconds(Array(bytes)), now: now, soon: soon))
            } else if Self.isPassword(item, bytes) {
                try check(item, bytes)
            }
        }
    }

    /// Findings that are known only after all items have been checked.
    func finish() {
        for mac in order {
            guard let items = users[mac], items.count > 1 else { continue }
            findings.append(Finding(kind: .reused, items: items, why: "\(items.count) items have the same password"))
        }
    }

    private func check(_ item: Item, _ bytes: UnsafeRawBufferPointer) throws {
        let bits = estimate.bits(bytes)
        if bits < PasswordEstimate.enough {
            add(
                Finding(
                    kind: .weak, items: [item],
                    why: "about \(Int(bits)) bits: easily guessed; 'vaultfmt set --generate' makes a strong one"))
        }
        let mac = HMAC<SHA256>.authenticationCode(for: bytes, using: key)
        if users[mac] == nil { order.append(mac) }
        users[mac, default: []].append(item)
        guard let breaches else { return }
        var hasher = Insecure.SHA1()
        hasher.update(bufferPointer: bytes)
        if let count = try hasher.finalize().withUnsafeBytes({ try breaches.count(of: $0) }) {
            add(
                Finding(
                    kind: .leaked, items: [item],
                    why: "its password was seen \(count) \(count == 1 ? "time" : "times") in leaks; change it"))
        }
    }

    private func add(_ finding: Finding?) {
        if let finding { findings.append(finding) }
    }

    /// Returns whether a secret is a password that a person types or a site checks, rather than a note or a file.
    private static func isPassword(_ item: Item, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard item.key.itemClass == .genericPassword || item.key.itemClass == .internetPassword else { return false }
        guard !ItemKind.holdsNoPassword(item) else { return false }
        return (1...256).contains(bytes.count) && !bytes.contains { $0 < 0x20 }
    }
}

/// Finds dates that have passed or are near.
enum Expiry {
    static func finding(_ item: Item, _ end: Int64?, now: Int64, soon: Int64) -> Finding? {
        guard let end, end <= soon else { return nil }
        let date = Timestamp.short(end)
        let days = max(0, (end - now) / Age.day)
        return end <= now
            ? Finding(kind: .expired, items: [item], why: "since \(date) UTC")
            : Finding(kind: .expiring, items: [item], why: "in \(days) \(days == 1 ? "day" : "days"), at \(date) UTC")
    }
}
