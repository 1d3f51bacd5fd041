internal import CVaultFmt
internal import VaultFmt
internal import VaultStore

/// Memory returned to a caller: a structure and all data that it points to, in a single allocation that is wiped when
/// freed.
final class Block {
    private static let headSize = 16

    // Kept alive because the structure points into this memory.
    private let memory: Secret
    private let secret: Secret?

    private init(_ memory: consuming Secret, _ secret: consuming Secret?) {
        self.memory = memory
        self.secret = secret
    }

    /// Creates a structure. `fill` is called twice, the first time to determine the size of the arena. The block keeps
    /// alive a secret that the structure points to.
    static func make<T>(holding secret: consuming Secret? = nil, _ fill: (inout Arena) -> T) throws(VaultError)
        -> UnsafePointer<T>
    {
        var measuring = Arena(memory: nil)
        _ = fill(&measuring)
        let start = headSize + (MemoryLayout<T>.stride + 15) / 16 * 16
        var memory = try Secret(allocating: start + measuring.size)
        let base = memory.withUnsafeMutableBytes { $0.baseAddress }
        guard let base else { preconditionFailure("a block is not empty") }
        var arena = Arena(memory: base + start)
        let structure = (base + headSize).bindMemory(to: T.self, capacity: 1)
        structure.initialize(to: fill(&arena))
        // The owner is stored in front of the structure.
        base.storeBytes(of: Unmanaged.passRetained(Block(memory, secret)).toOpaque(), as: UnsafeMutableRawPointer.self)
        return UnsafePointer(structure)
    }

    static func free<T>(_ structure: UnsafePointer<T>?) {
        guard let structure else { return }
        let owner = (UnsafeRawPointer(structure) - headSize).load(as: UnsafeMutableRawPointer.self)
        ForkGate.inside { Unmanaged<Block>.fromOpaque(owner).release() }
    }
}

/// The part of a block that follows its structure, filled from front to back. Without memory, the arena only adds up
/// the sizes.
struct Arena {
    private let memory: UnsafeMutableRawPointer?
    private var used = 0

    init(memory: UnsafeMutableRawPointer?) { self.memory = memory }

    /// The size, a multiple of 16. It is never 0, because even an empty value needs a valid pointer.
    var size: Int { used / 16 * 16 + 16 }

    private mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        defer { used += count }
        return memory.map { $0 + used }
    }

    mutating func append(_ bytes: [UInt8]) -> vaultfmt_bytes {
        let place = allocate(bytes.count)
        if let place {
            bytes.withUnsafeBytes {
                if let start = $0.baseAddress { place.copyMemory(from: start, byteCount: $0.count) }
            }
        }
        return vaultfmt_bytes(
            data: place.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }, size: bytes.count)
    }

    /// Appends bytes without leaving a copy in ordinary memory.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> vaultfmt_bytes {
        let place = allocate(bytes.count)
        if let place, let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
        let data = place.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
        return vaultfmt_bytes(data: data, size: bytes.count)
    }

    mutating func append(_ text: String) -> vaultfmt_bytes { append(Array(text.utf8)) }

    /// Appends a contiguous array, for values whose size will never change; never returns NULL.
    mutating func append<T>(_ values: [T]) -> UnsafePointer<T>? {
        used = (used + 15) / 16 * 16
        let place = allocate(values.count * MemoryLayout<T>.stride)?.bindMemory(to: T.self, capacity: values.count)
        if let place { for (index, value) in values.enumerated() { (place + index).initialize(to: value) } }
        return UnsafePointer(place)
    }

    /// Appends an array of pointers, for structures that may gain members.
    mutating func appendPointers<T>(_ values: [T]) -> UnsafePointer<UnsafePointer<T>?>? {
        var pointers: [UnsafePointer<T>?] = []
        for value in values { pointers.append(append([value])) }
        return append(pointers)
    }
}
