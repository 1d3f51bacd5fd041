internal import CVaultFmt
internal import VaultFmt
internal import VaultStore

/// Runs the body of a C function: its error becomes a status, and the text that this thread can ask for.
///
/// It throws nothing but `VaultError`, as all of the library does.
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

/// Keeps the text and the offset for this thread.
private func keep(_ error: VaultError) -> vaultfmt_status {
    var text = error.detail
    text.withUTF8 { text in
        text.withMemoryRebound(to: CChar.self) {
            vaultfmt_internal_set_error($0.baseAddress, $0.count, error.offset == nil ? 0 : 1, error.offset ?? 0)
        }
    }
    return error.code.rawValue
}

/// A pointer that a caller has to give.
func given<T>(_ pointer: T?, _ name: StaticString) throws(VaultError) -> T {
    guard let pointer else { throw VaultError(.invalidArgument, "\(name) is NULL") }
    return pointer
}

/// A structure that a caller has filled in, and that must be of the size that this library knows.
func given<T>(_ pointer: UnsafePointer<T>?, sized size: KeyPath<T, UInt32>, _ name: StaticString) throws(VaultError)
    -> T
{
    let value = try given(pointer, name).pointee
    try check(size: value[keyPath: size], of: T.self, name)
    return value
}

/// The same for one that may be left out.
func optional<T>(_ pointer: UnsafePointer<T>?, sized size: KeyPath<T, UInt32>, _ name: StaticString) throws(VaultError)
    -> T?
{
    pointer == nil ? nil : try given(pointer, sized: size, name)
}

func check<T>(size: UInt32, of type: T.Type, _ name: StaticString) throws(VaultError) {
    guard Int(size) == MemoryLayout<T>.stride else {
        throw VaultError(
            .invalidArgument, "\(name) has a size that this library does not know: initialise it with its macro")
    }
}

/// A number of the caller's that stands for yes or no.
func flag(_ value: UInt32, _ name: StaticString) throws(VaultError) -> Bool {
    guard value <= 1 else { throw VaultError(.invalidArgument, "\(name) is 0 or 1, not \(value)") }
    return value == 1
}

func requireZero(_ value: UInt32) throws(VaultError) {
    guard value == 0 else { throw VaultError(.invalidArgument, "a reserved member is not 0") }
}
