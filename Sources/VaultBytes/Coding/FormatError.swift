/// Why bytes are not what format 1 says, with the offset at which that was seen.
package struct FormatError: Error, Equatable, Sendable {
    package enum Code: Sendable {
        case notAVault
        case unsupportedVersion
        case unsupportedCritical
        case headerInvalid
        case structureInvalid
        /// A record of a form that this version does not know, or that its reference does not call for.
        case unsupportedForm
        /// A writer was asked for something outside of the format's limits. No reader fails with this.
        case limitExceeded
    }

    package let code: Code
    /// What is wrong, in words for a person; never bytes of the file.
    package let what: String
    /// Counted from the start of the file.
    package let offset: UInt64

    package init(_ code: Code, _ what: String, at offset: UInt64) {
        self.code = code
        self.what = what
        self.offset = offset
    }

    package static func == (left: FormatError, right: FormatError) -> Bool { left.code == right.code }
}
