import CInterchange
import VaultFmt

/// The attributes of an element, valid only during the call of `XMLHandler.start`.
struct XMLAttributes {
    fileprivate let list: UnsafePointer<UnsafePointer<CChar>?>?

    subscript(name: String) -> String? {
        guard var next = list else { return nil }
        while let key = next[0], let value = next[1] {
            if String(cString: key) == name { return String(cString: value) }
            next += 2
        }
        return nil
    }
}

/// A receiver of parsed XML.
protocol XMLHandler: AnyObject {
    func start(_ name: String, _ attributes: XMLAttributes) throws
    func text(_ bytes: UnsafeRawBufferPointer) throws
    func end() throws
}

/// Reads XML with expat, which must be loaded. The XML must be well-formed, have no document type or entities, and be
/// nested no deeper than `KDBX.Limit.depth`.
final class XMLReader {
    private let handler: any XMLHandler
    private var failure: ExchangeError?
    private var depth = 0
    /// The number of bytes since the last element or text; all these bytes may belong to a single tag.
    private var unseen = 0
    private var parser: UnsafeMutableRawPointer?

    private init(_ handler: any XMLHandler) { self.handler = handler }

    /// Parses the output of `source`, piece by piece.
    static func read(
        into handler: any XMLHandler,
        _ source: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
    ) throws {
        let reader = XMLReader(handler)
        let context = Unmanaged.passUnretained(reader).toOpaque()
        var handlers = interchange_xml_handlers(
            start: { context, name, attributes in
                guard let context, let name else { return }
                XMLReader.of(context).handle { reader in
                    reader.depth += 1
                    guard reader.depth <= KDBX.Limit.depth else {
                        throw reader.damaged("elements are nested too deeply")
                    }
                    try reader.handler.start(String(cString: name), XMLAttributes(list: attributes))
                }
            },
            end: { context in
                guard let context else { return }
                XMLReader.of(context).handle { reader in
                    reader.depth -= 1
                    try reader.handler.end()
                }
            },
            text: { context, bytes, size in
                guard let context else { return }
                XMLReader.of(context).handle { reader in
                    try reader.handler.text(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
                }
            })
        guard let parser = interchange_xml_open(context, &handlers) else {
            throw ForeignLibrary.outOfMemory("expat")
        }
        reader.parser = parser
        defer { interchange_xml_close(parser) }
        try source { bytes in try reader.feed(bytes, isLast: false) }
        try reader.feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
    }

    private func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws {
        unseen += bytes.count
        guard unseen <= KDBX.Limit.tag else { throw damaged("a tag or a comment is too long") }
        let isSound = interchange_xml_parse(parser, bytes.baseAddress, bytes.count, isLast ? 1 : 0) == 1
        if let failure { throw failure }
        guard isSound || interchange_xml_lacks_memory(parser) == 0 else { throw ForeignLibrary.outOfMemory("expat") }
        guard isSound else { throw damaged(String(cString: interchange_xml_error(parser))) }
    }

    private func damaged(_ what: String) -> ExchangeError {
        .damaged("line \(interchange_xml_line(parser)) of the XML", what)
    }

    private func handle(_ body: (XMLReader) throws -> Void) {
        unseen = 0
        do {
            try body(self)
        } catch {
            failure = ExchangeError(error).at("line \(interchange_xml_line(parser)) of the XML")
            interchange_xml_stop(parser)
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer) -> XMLReader {
        Unmanaged<XMLReader>.fromOpaque(context).takeUnretainedValue()
    }
}
