internal import VaultFmt

/// Apple's type for random number generators. The only generator here is the system's, selected by `kSecRandomDefault`
/// or nil.
public final class SecRandom: Sendable {
    private init() {}
}

/// A random number generator.
public typealias SecRandomRef = SecRandom

/// The system's cryptographically secure random number generator.
public let kSecRandomDefault: SecRandomRef? = nil

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Fills a buffer with bytes from the system's cryptographically secure random number generator.
///
/// - Parameters:
///   - rnd: `kSecRandomDefault`.
///   - count: The number of bytes.
///   - bytes: The buffer, of at least `count` bytes.
/// - Returns: `errSecSuccess`; `errSecParam` for a negative count.
public func SecRandomCopyBytes(_ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    let step = 1024
    for start in stride(from: 0, to: count, by: step) {
        Secret.random(count: min(step, count - start)).withUnsafeBytes { random in
            UnsafeMutableRawBufferPointer(start: bytes + start, count: random.count).copyMemory(
                from: UnsafeRawBufferPointer(random))
        }
    }
    return errSecSuccess
}
