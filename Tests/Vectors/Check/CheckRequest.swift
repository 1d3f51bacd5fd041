import VaultBytes
import VaultFmt

/// How a vault is to be read: the options of `check`, which are also keys of a vector's header.
struct CheckRequest {
    var passphrase: [UInt8]?
    var keyFile: [UInt8]?
    var rawKey: [UInt8]?
    var device: (id: [UInt8], secret: [UInt8])?
    var anchor: (generation: UInt64, chain: [UInt8])?
    var limits: [Limit: UInt64] = [:]

    enum Limit: String, CaseIterable {
        case memory = "limit-memory"
        case passes = "limit-passes"
        case lanes = "limit-lanes"
        case total = "limit-total"
    }

    init() {}

    static func raw(_ key: [UInt8]) -> CheckRequest {
        var request = CheckRequest()
        request.rawKey = key
        return request
    }

    /// Takes one option; false if there is no such thing, or its value is malformed.
    mutating func take(_ name: String, _ value: String) -> Bool {
        switch name {
        case "passphrase": passphrase = Hex.decode(value)
        case "key-file": keyFile = Hex.decode(value)
        case "raw-key": rawKey = Hex.decode(value)
        case "device":
            let parts = value.split(separator: ":", omittingEmptySubsequences: false).map { Hex.decode($0) }
            guard parts.count == 2, let id = parts[0], let secret = parts[1] else { return false }
            device = (id, secret)
            return true
        case "anchor":
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, let generation = UInt64(parts[0]), let chain = Hex.decode(parts[1]) else { return false }
            anchor = (generation, chain)
            return true
        default:
            guard let limit = Limit(rawValue: name), let number = UInt64(value) else { return false }
            limits[limit] = number
            return true
        }
        return Hex.decode(value) != nil
    }

    /// The same as lines of a vector's header.
    var lines: [(key: String, value: String)] {
        var out: [(key: String, value: String)] = []
        if let passphrase { out.append(("passphrase", Hex.encode(passphrase))) }
        if let keyFile { out.append(("key-file", Hex.encode(keyFile))) }
        if let rawKey { out.append(("raw-key", Hex.encode(rawKey))) }
        if let device { out.append(("device", Hex.encode(device.id) + ":" + Hex.encode(device.secret))) }
        for limit in Limit.allCases { if let value = limits[limit] { out.append((limit.rawValue, "\(value)")) } }
        if let anchor { out.append(("anchor", "\(anchor.generation):\(Hex.encode(anchor.chain))")) }
        return out
    }

    func factors() throws(VaultError) -> Factors {
        if let rawKey { return try Factors(rawKey: Secret(bytes: rawKey)) }
        var phrase: Secret?
        if let passphrase { phrase = Secret(bytes: passphrase) }
        var file: KeyFile?
        if let keyFile { file = try KeyFile(contents: Secret(bytes: keyFile)) }
        return try Factors(passphrase: phrase, keyFile: file)
    }

    func options() throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        if let value = limits[.memory] { options.limits.memoryKiB = UInt32(clamping: value) }
        if let value = limits[.passes] { options.limits.passes = UInt32(clamping: value) }
        if let value = limits[.lanes] { options.limits.lanes = UInt32(clamping: value) }
        if let value = limits[.total] { options.limits.totalKiBPasses = value }
        if let device, let id = DeviceID(hex: Hex.encode(device.id)) {
            options.device = try Device(id: id, secret: Secret(bytes: device.secret))
        }
        return options
    }
}
