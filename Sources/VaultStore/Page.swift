package import VaultBytes

/// A page that authenticated and is well-formed.
package final class Page: Sendable {
    package let bytes: [UInt8]
    package let layout: PageLayout
    package let offset: UInt64

    init(bytes: [UInt8], layout: PageLayout, offset: UInt64) {
        self.bytes = bytes
        self.layout = layout
        self.offset = offset
    }

    package var count: Int { layout.entries.count }

    package func key(_ index: Int) -> [UInt8] {
        let bytes = bytes
        return [UInt8](copying: bytes.span, layout.prefix, layout.entries[index].rest)
    }

    package func value(_ index: Int) -> [UInt8] {
        let bytes = bytes
        return [UInt8](copying: bytes.span, layout.entries[index].value)
    }

    package func child(_ index: Int) throws(VaultError) -> ObjectRef {
        let bytes = bytes
        return try decoding { () throws(FormatError) in try layout.child(index, bytes.span) }
    }

    /// A cursor over an entry's value.
    package func cursor(_ index: Int) -> Cursor {
        let bytes = bytes
        return Cursor(over: layout.entries[index].value, of: Cursor(bytes.span, at: offset, else: .structureInvalid))
    }

    package func lowerBound(_ key: [UInt8]) -> (index: Int, isEqual: Bool) {
        let bytes = bytes
        return layout.lowerBound(key.span, bytes.span)
    }

    package func childIndex(for key: [UInt8]) -> Int {
        let bytes = bytes
        return layout.childIndex(for: key.span, bytes.span)
    }

    /// Negative, zero or positive, as entry `index`'s key stands to `key`.
    package func compareKey(_ index: Int, _ key: [UInt8]) -> Int {
        let bytes = bytes
        return layout.compareKey(index, key.span, bytes.span)
    }
}
