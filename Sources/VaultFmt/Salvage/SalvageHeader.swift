internal import VaultBytes

/// A header of a damaged file: the one at its start, or the copy that follows it.
struct SalvageHeader {
    let header: Header
    let bytes: [UInt8]
    /// The offset at which the header was found.
    let offset: UInt64
    /// True if the header is intact, as its hash shows.
    let isWhole: Bool

    /// Returns the headers to try, in this order: the file's header, its copy, other intact headers near the start and,
    /// if damaged, either of the first two.
    ///
    /// The copy's position follows from the header's length. If that length cannot be read, the copy is at the first
    /// multiple of 4096 that equals the length of the header found there. Bytes may have been inserted or removed in
    /// front of the copy, or the header of another vault may precede it: intact headers within twice the largest length
    /// are then candidates too. If there are no candidates, throws the error for the first header, or says that this
    /// header is from 0.1.0.
    static func candidates(_ file: any FileHandle) throws(VaultError) -> [SalvageHeader] {
        var found: [SalvageHeader] = []
        var failure: VaultError?
        do throws(VaultError) { found.append(try read(file, at: 0)) } catch {
            guard error.code != .io else { throw error }
            failure = error
        }
        if let copy = try copy(file, after: found.first), copy.bytes != found.first?.bytes { found.append(copy) }
        for other in try moved(file) where !found.contains(where: { $0.bytes == other.bytes }) { found.append(other) }
        guard !found.isEmpty else {
            if failure?.code == .headerInvalid, try Store.isOfEarlierVersion(file) { throw .earlierVersion }
            throw failure ?? VaultError(.headerInvalid, "neither the header nor its copy can be read")
        }
        return found.filter(\.isWhole) + found.filter { !$0.isWhole }
    }

    private static func copy(_ file: any FileHandle, after first: SalvageHeader?) throws(VaultError) -> SalvageHeader? {
        let step = UInt64(Format.headerStep)
        var places = Array(stride(from: step, through: UInt64(Format.Limit.headerSize), by: Int(step)))
        if let first {
            places.removeAll { $0 == UInt64(first.header.length) }
            places.insert(UInt64(first.header.length), at: 0)
        }
        for place in places {
            do throws(VaultError) {
                let copy = try read(file, at: place)
                if UInt64(copy.header.length) == place { return copy }
            } catch { guard error.code != .io else { throw error } }
        }
        return nil
    }

    /// Returns the intact headers at any offset near the start of the file.
    private static func moved(_ file: any FileHandle) throws(VaultError) -> [SalvageHeader] {
        let bytes = try file.bytes(Int(min(try file.size(), ShiftedFile.most)), at: 0)
        var found: [SalvageHeader] = []
        for index in ShiftedFile.indices(of: Format.magic, in: bytes).prefix(mostMoved) {
            do throws(VaultError) {
                let header = try read(file, at: UInt64(index))
                if header.isWhole { found.append(header) }
            } catch { guard error.code != .io else { throw error } }
        }
        return found
    }

    /// The maximum number of apparent headers to read; anyone can write a header's first bytes.
    private static let mostMoved = 16

    private static func read(_ file: any FileHandle, at offset: UInt64) throws(VaultError) -> SalvageHeader {
        let size = try file.size()
        guard size >= offset, size - offset >= UInt64(Format.headerStep) else {
            throw size < 16 ? VaultError(.notAVault, "not a vault: the file has only \(size) bytes") : truncated(size)
        }
        let first = try file.bytes(Format.headerStep, at: offset)
        let length = try decoding { () throws(FormatError) in try Header.length(first.span) }
        guard size - offset >= UInt64(length) else { throw truncated(size) }
        let bytes = length == first.count ? first : try file.bytes(length, at: offset)
        let header = try decoding { () throws(FormatError) in try Header(bytes.span) }
        var isWhole = true
        do throws(VaultError) { _ = try HeaderSeal.checkHash(bytes) } catch { isWhole = false }
        return SalvageHeader(header: header, bytes: bytes, offset: offset, isWhole: isWhole)
    }

    private static func truncated(_ size: UInt64) -> VaultError {
        VaultError(.headerInvalid, "the file is truncated: it has only \(size) bytes", at: size)
    }
}
