package import VaultFmt

/// A secret that several values can refer to.
package final class SharedSecret: Sendable {
    package let secret: Secret

    package init(_ secret: consuming Secret) { self.secret = secret }

    package convenience init(text: String) { self.init(Secret(text: text)) }

    package var count: Int { secret.count }

    package func withBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try secret.withUnsafeBytes(body)
    }

    /// The value as text; nil if it is not UTF-8. A `String` is not wiped, so use this only for values that are not
    /// secret.
    package var text: String? {
        withBytes { bytes in String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) }
    }

    package func equals(_ other: SharedSecret) -> Bool { secret.equals(other.secret) }
}
