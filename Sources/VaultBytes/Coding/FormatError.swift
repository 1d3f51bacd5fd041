/// The reason why bytes violate format 1, with the offset of the violation.
package struct FormatError: Error, Equatable, Sendable {
    package enum Code: Sendable {
        case notAVault
        case unsupportedVersion
        case unsupportedCritical
        case headerInvalid
        case structureInvalid
        /// A record has an unknown form, or one that does not match the reference to the record.
        case unsupportedForm
        /// A write would exceed the format's limits. Reading never throws this error.
        case limitExceeded
    }

    package let code: Code
    /// A human-readable description of the fault, which never contains bytes from the file.
    package let what: String
    /// The offset from the start of the file.
    package let offset: UInt64

    package init(_ code: Code, _ what: String, at offset: UInt64) {
        self.code = code
        self.what = what
        self.offset = offset
    }

    package static func == (left: FormatError, right: FormatError) -> Bool { left.code == right.code }
}
