import VaultBytes
import VaultCrypto
import VaultFmt
import VaultForge
import VaultStore

/// Makes vaults with the library itself, in memory, with a fixed clock and fixed randomness.
final class Workshop {
    static let clock: Int64 = 1_750_000_000_000
    private static let path = "vault"

    private let fileSystem = MemoryFileSystem(clock: Workshop.clock)
    private let place: Store.Place

    init(_ seed: String) { place = Store.Place(fileSystem: fileSystem, random: .fixed(seed)) }

    /// A new vault, with the raw key that all of them have.
    static func make(_ seed: String, device: Bool = false, _ body: (Vault, Workshop) throws -> Void = { _, _ in }) throws -> Base {
        let workshop = Workshop(seed)
        // Closed before the file is looked at: a writer's reserve goes with it.
        do { try body(try workshop.create(device: device), workshop) }
        var request = CheckRequest.raw(Base.key)
        if device { request.device = (Base.device.bytes, Base.deviceSecret) }
        return Base(file: workshop.file, request: request)
    }

    /// A vault that goes on from another one's file.
    static func change(_ base: Base, _ seed: String, _ body: (Vault, Workshop) throws -> Void) throws -> Base {
        let workshop = Workshop(seed)
        workshop.fileSystem.put(path, base.file)
        do { try body(try workshop.open(device: base.request.device != nil), workshop) }
        return Base(file: workshop.file, request: base.request)
    }

    var file: [UInt8] { fileSystem.bytes(of: Self.path) ?? [] }
    func setClock(_ milliseconds: Int64) { fileSystem.setClock(milliseconds) }

    private func create(device: Bool) throws -> Vault {
        var options = CreateOptions()
        if device { options.device = try Self.device() }
        options.slotName = "main"
        return try Vault.create(at: Self.path, factors: try Self.factors(), options: options, place: place)
    }

    func open(device: Bool = false) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        if device { options.device = try Self.device() }
        return try Vault.open(Self.path, factors: try Self.factors(), options: options, place: place)
    }

    static func factors(_ key: [UInt8] = Base.key) throws -> Factors { try Factors(rawKey: Secret(bytes: key)) }

    private static func device() throws -> Device {
        guard let id = DeviceID(hex: Hex.encode(Base.device.bytes)) else { throw ForgeError("a device's id") }
        return try Device(id: id, secret: Secret(bytes: Base.deviceSecret))
    }
}

extension Vault {
    /// A generic password of the service `example.org`, or another.
    func add(_ account: String, _ secret: String = "secret", service: String = "example.org", _ attributes: Attributes = [:]) throws {
        try add(try .genericPassword(service: service, account: account), secret: Secret(text: secret), attributes: attributes)
    }
}
