/// The maximum sizes of untrusted text.
public enum AgeLimit {
    /// The maximum number of stanzas in one slot.
    public static let stanzas = 64
    /// The maximum number of arguments of a stanza, including its type.
    public static let arguments = 64
    /// The maximum number of words in a message from a plugin, even one of an unknown kind.
    public static let words = 1024
    /// The maximum size of a stanza in text form, in bytes, including all of its lines.
    public static let stanza = 16_384
    /// The maximum number of characters in a recipient or identity.
    public static let key = 8192
    /// The maximum size in bytes of an identity file, whether encrypted or not.
    public static let identityFile = 1 << 20
    /// The maximum number of identities in one file.
    public static let identities = 1024
    /// The maximum binary logarithm of a scrypt work factor: it corresponds to 2 GiB of memory, which is also the limit
    /// for a slot.
    public static let workFactor = 21
}
