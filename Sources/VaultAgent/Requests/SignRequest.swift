/// A request to sign. It must not outlive the message.
struct SignRequest {
    let identity: [UInt8]
    let data: UnsafeRawBufferPointer
    let flags: UInt32

    /// Reads what follows the request's type.
    init(_ reader: inout WireReader) throws(AgentError) {
        (identity, data, flags) = (try reader.bytes(), try reader.string(), try reader.number())
        try reader.end()
    }

    /// The identity in a whole request; nil if it is malformed.
    static func identity(in request: UnsafeRawBufferPointer) -> [UInt8]? {
        var reader = WireReader(request)
        do throws(AgentError) {
            _ = try reader.byte()
            return try SignRequest(&reader).identity
        } catch { return nil }
    }
}
