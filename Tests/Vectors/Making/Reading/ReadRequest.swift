package import VaultBytes

/// How a vault is to be read: the options of `check`, which are also keys of a vector's header.
package struct ReadRequest: Sendable {
    package var passphrase: [UInt8]?
    package var keyFile: [UInt8]?
    package var rawKey: [UInt8]?
    package var external: External?
    /// An identity of the provider `age`, as `AgeIdentity` has it; in place of `external`.
    package var ageIdentity: String?
    package var device: (id: [UInt8], secret: [UInt8])?
    package var limits: [Limit: UInt64] = [:]
    package var owner: [UInt8]?
    package var anchor: Anchor?

    package enum Limit: String, CaseIterable, Sendable {
        case memory = "limit-memory"
        case passes = "limit-passes"
        case lanes = "limit-lanes"
        case total = "limit-total"
    }

    /// What a provider answers.
    package struct External: Sendable {
        package var provider: String
        /// In the order in which they are tried; without a slot, for each that names the provider.
        package var candidates: [(slot: Bytes16?, key: [UInt8])]

        package init(_ provider: String, _ candidates: [(slot: Bytes16?, key: [UInt8])]) {
            self.provider = provider
            self.candidates = candidates
        }

        /// `NAME:KEYS`; nil if it is malformed.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":") else { return nil }
            provider = String(text[..<colon])
            candidates = []
            let list = text[text.index(after: colon)...]
            guard list != "-" else { return }
            for one in list.split(separator: ",", omittingEmptySubsequences: false) {
                let parts = one.split(separator: "=", omittingEmptySubsequences: false).map { Hex.decode($0) }
                guard let last = parts.last, let key = last, key.count == 32, parts.count <= 2 else { return nil }
                guard parts.count == 2 else {
                    candidates.append((nil, key))
                    continue
                }
                guard let id = parts[0].flatMap({ Bytes16($0) }) else { return nil }
                candidates.append((id, key))
            }
        }

        /// The candidates for a slot, however many.
        package func keys(for slot: Bytes16) -> [[UInt8]] {
            candidates.filter { $0.slot == nil || $0.slot == slot }.map(\.key)
        }

        var text: String {
            let keys = candidates.map { one in (one.slot.map { Hex.encode($0.bytes) + "=" } ?? "") + Hex.encode(one.key)
            }
            return provider + ":" + (keys.isEmpty ? "-" : keys.joined(separator: ","))
        }
    }

    /// What a reader remembers of a state (section 7.2).
    package struct Anchor: Sendable {
        package var owner: Bytes32
        package var chain: Bytes32
        /// Its rows and its floor; a remembered row is not split.
        package var vector: Vector

        package init(owner: Bytes32, chain: Bytes32, vector: Vector) {
            self.owner = owner
            self.chain = chain
            self.vector = vector
        }

        /// `OWNER:CHAIN:FLOOR:ROWS`; nil if it is malformed.
        init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 4, let owner = Hex.decode(parts[0]).flatMap({ Bytes32($0) }),
                let chain = Hex.decode(parts[1]).flatMap({ Bytes32($0) }), let floor = UInt64(parts[2])
            else { return nil }
            var rows: [Vector.Row] = []
            for row in parts[3] == "-" ? [] : parts[3].split(separator: ",", omittingEmptySubsequences: false) {
                let pair = row.split(separator: "=", omittingEmptySubsequences: false).map { UInt64($0) }
                guard pair.count == 2, let id = pair[0], let revision = pair[1] else { return nil }
                rows.append(Vector.Row(id, revision))
            }
            guard let vector = Vector(floor: floor, rows: rows) else { return nil }
            self.init(owner: owner, chain: chain, vector: vector)
        }

        var text: String {
            let rows = vector.rows.map { "\($0.id)=\($0.revision)" }.joined(separator: ",")
            return "\(Hex.encode(owner.bytes)):\(Hex.encode(chain.bytes)):\(vector.floor):\(rows.isEmpty ? "-" : rows)"
        }
    }

    package init() {}

    package static func raw(_ key: [UInt8]) -> ReadRequest {
        var request = ReadRequest()
        request.rawKey = key
        return request
    }

    /// Takes one option; false if there is no such thing, or its value is malformed.
    package mutating func take(_ name: String, _ value: String) -> Bool {
        if let limit = Limit(rawValue: name) {
            guard let number = UInt64(value) else { return false }
            limits[limit] = number
            return true
        }
        switch name {
        case "external":
            external = External(value)
            return external != nil && ageIdentity == nil
        case "age-identity":
            ageIdentity = value
            return !value.isEmpty && external == nil
        case "device":
            let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Self.bytes($0) }
            guard parts.count == 2, let id = parts[0], let secret = parts[1] else { return false }
            device = (id, secret)
            return true
        case "anchor":
            anchor = Anchor(value)
            return anchor != nil
        default: return takeBytes(name, Self.bytes(value))
        }
    }

    private mutating func takeBytes(_ name: String, _ bytes: [UInt8]?) -> Bool {
        guard let bytes else { return false }
        switch name {
        case "passphrase": passphrase = bytes
        case "key-file": keyFile = bytes
        case "raw-key": rawKey = bytes
        case "owner": owner = bytes
        default: return false
        }
        return true
    }

    private static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        text == "-" ? [] : text.isEmpty ? nil : Hex.decode(text)
    }

    /// The same as lines of a vector's header.
    package var lines: [(key: String, value: String)] {
        var out: [(key: String, value: String)] = []
        if let passphrase { out.append(("passphrase", Self.text(passphrase))) }
        if let keyFile { out.append(("key-file", Self.text(keyFile))) }
        if let rawKey { out.append(("raw-key", Self.text(rawKey))) }
        if let external { out.append(("external", external.text)) }
        if let ageIdentity { out.append(("age-identity", ageIdentity)) }
        if let device { out.append(("device", "\(Hex.encode(device.id)):\(Hex.encode(device.secret))")) }
        for limit in Limit.allCases { if let value = limits[limit] { out.append((limit.rawValue, "\(value)")) } }
        if let owner { out.append(("owner", Hex.encode(owner))) }
        if let anchor { out.append(("anchor", anchor.text)) }
        return out
    }

    private static func text(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
}
