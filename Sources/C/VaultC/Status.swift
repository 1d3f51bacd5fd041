internal import CVaultFmt
internal import VaultFmt
internal import VaultStore

/// Runs the body of a C function. An error becomes a status, and its text is stored for this thread.
///
/// The body throws only `VaultError`, like all functions of the library.
func status(_ body: () throws -> Void) -> vaultfmt_status {
    let cancelState = vaultfmt_internal_begin()
    defer { vaultfmt_internal_end(cancelState) }
    return ForkGate.inside {
        do {
            try body()
            return 0
        } catch {
            return keep(error as? VaultError ?? VaultError(.invalidArgument, "unexpected: \(error)"))
        }
    }
}

/// Stores an error's text and offset for this thread.
private func keep(_ error: VaultError) -> vaultfmt_status {
    // The text can contain names of other people's items.
    var text = onOneLine(error.detail)
    text.withUTF8 { text in
        text.withMemoryRebound(to: CChar.self) {
            vaultfmt_internal_set_error($0.baseAddress, $0.count, error.offset == nil ? 0 : 1, error.offset ?? 0)
        }
    }
    return error.code.rawValue
}

/// Returns a text with its control characters and line breaks replaced by spaces.
func onOneLine(_ text: String) -> String {
    String(
        String.UnicodeScalarView(
            text.unicodeScalars.map { scalar in
                let category = scalar.properties.generalCategory
                return [.control, .lineSeparator, .paragraphSeparator].contains(category) ? " " : scalar
            }))
}

/// Returns the target of a required pointer.
func given<T>(_ pointer: T?, _ name: StaticString) throws(VaultError) -> T {
    guard let pointer else { throw VaultError(.invalidArgument, "\(name) is NULL") }
    return pointer
}

/// Returns a required structure filled in by the caller, whose size must match this version of the library.
func given<T>(_ pointer: UnsafePointer<T>?, sized size: KeyPath<T, UInt32>, _ name: StaticString) throws(VaultError)
    -> T
{
    let value = try given(pointer, name).pointee
    try check(size: value[keyPath: size], of: T.self, name)
    return value
}

/// Returns an optional structure filled in by the caller; nil if it is omitted.
func optional<T>(_ pointer: UnsafePointer<T>?, sized size: KeyPath<T, UInt32>, _ name: StaticString) throws(VaultError)
    -> T?
{
    pointer == nil ? nil : try given(pointer, sized: size, name)
}

func check<T>(size: UInt32, of type: T.Type, _ name: StaticString) throws(VaultError) {
    guard Int(size) == MemoryLayout<T>.stride else {
        throw VaultError(
            .invalidArgument, "\(name) has an unknown size; initialise it with its macro")
    }
}

/// Returns a Boolean that the caller passes as 0 or 1.
func flag(_ value: UInt32, _ name: StaticString) throws(VaultError) -> Bool {
    guard value <= 1 else { throw VaultError(.invalidArgument, "\(name) must be 0 or 1, not \(value)") }
    return value == 1
}

func requireZero(_ value: UInt32) throws(VaultError) {
    guard value == 0 else { throw VaultError(.invalidArgument, "a reserved member must be 0") }
}
