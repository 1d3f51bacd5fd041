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

    package struct Anchor: Sendable {
        package var generation: UInt64
        package var chain: Bytes32
        package var owner: Bytes32

        package init(generation: UInt64, chain: Bytes32, owner: Bytes32) {
            self.generation = generation
            self.chain = chain
            self.owner = owner
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
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let generation = UInt64(parts[0]),
                let chain = Self.bytes(parts[1]).flatMap({ Bytes32($0) }),
                let owner = Self.bytes(parts[2]).flatMap({ Bytes32($0) })
            else { return false }
            anchor = Anchor(generation: generation, chain: chain, owner: owner)
            return true
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
        if let anchor {
            out.append(
                ("anchor", "\(anchor.generation):\(Hex.encode(anchor.chain.bytes)):\(Hex.encode(anchor.owner.bytes))"))
        }
        return out
    }

    private static func text(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Hex.encode(bytes) }
}
