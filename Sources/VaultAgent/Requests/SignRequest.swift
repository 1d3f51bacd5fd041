/// A sign request. It must not outlive the message.
struct SignRequest {
    let identity: [UInt8]
    let data: UnsafeRawBufferPointer
    let flags: UInt32

    /// Decodes the request after its type.
    init(_ reader: inout WireReader) throws(AgentError) {
        (identity, data, flags) = (try reader.bytes(), try reader.string(), try reader.number())
        try reader.end()
    }

    /// Returns the identity in a complete request; nil if the request is malformed.
    static func identity(in request: UnsafeRawBufferPointer) -> [UInt8]? {
        var reader = WireReader(request)
        do throws(AgentError) {
            _ = try reader.byte()
            return try SignRequest(&reader).identity
        } catch { return nil }
    }
}
