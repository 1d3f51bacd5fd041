internal import VaultBytes
internal import VaultStore

/// Everything in a damaged file that authenticates under one of its headers, with the objects at their own offsets or,
/// if bytes were removed or inserted in front of them, at their former offsets.
struct SalvageReading {
    let header: SalvageHeader
    let store: SalvageStore
    private(set) var scan: SalvageScan
    /// The file as it was before its objects were moved; nil if the objects are at their own offsets.
    let shifted: ShiftedFile?

    init(
        _ header: SalvageHeader, _ store: SalvageStore, shifted: ShiftedFile?, _ workers: Workers
    ) throws(VaultError) {
        self.header = header
        self.store = store
        self.shifted = shifted
        scan = try SalvageScan(store.file, store, workers)
    }

    /// Opens records with the best keyring until nothing more is found.
    mutating func openRecords() throws(VaultError) {
        repeat {
            guard let keyring = scan.keyring else {
                guard try scan.openRecords() else {
                    throw VaultError(
                        .authenticationFailed,
                        "none of the vault's keyrings could be recovered, so no secret can be opened")
                }
                continue
            }
            store.use(keyring.keyring, isProven: keyring.isProven)
        } while try scan.openRecords()
    }

    /// Returns a note about the header that was used, given all headers that were found; nil if it is the vault's own
    /// header.
    func headerNote(_ headers: [SalvageHeader]) -> String? {
        guard header.offset > 0 else { return nil }
        guard let first = headers.first(where: { $0.offset == 0 }) else {
            // Bytes inserted at the start of the file have moved the header itself.
            return header.offset == shifted?.inserted ? nil : "the header is damaged: its copy was used"
        }
        if first.isWhole, first.header.id != header.header.id {
            return "the file starts with the header of another vault, which was not used"
        }
        return first.isWhole
            ? "no commit authenticates the header: its copy was used" : "the header is damaged: its copy was used"
    }
}

/// Looks for the best reading of a damaged file: one whose header is recorded in a commit with a valid proof or, if
/// there is no such reading, the first one in which anything can be opened. A reading that fails does not prevent the
/// others.
struct SalvageSearch {
    private let file: any FileHandle
    private let limits: ReaderLimits
    private let device: SecretBox?
    private let deviceID: Bytes16
    private let owners: OwnersPublicKey?
    private let workers: Workers
    private var slots = SalvageSlots()
    /// Readings whose header no commit proves, best first.
    private var unproven: [SalvageReading] = []
    /// The error for the first header that does not open.
    private var refusal: VaultError?
    /// The errors of readings whose header opens, each with a description of the part that failed.
    private var failures: [(what: String, error: VaultError)] = []

    init(
        _ file: any FileHandle, _ limits: ReaderLimits, _ device: consuming Device?, _ owners: OwnersPublicKey?,
        _ workers: Workers
    ) {
        self.file = file
        self.limits = limits
        (deviceID, self.device) = Self.parts(device)
        self.owners = owners
        self.workers = workers
    }

    private static func parts(_ device: consuming Device?) -> (Bytes16, SecretBox?) {
        guard let device = consume device else { return (.zero, nil) }
        return (device.id.bytes, SecretBox(device.secret.copy()))
    }

    /// Returns the best reading, and adds notes on it to the report.
    mutating func run(
        _ factors: borrowing Factors, _ report: inout SalvageReport
    ) throws(VaultError) -> SalvageReading {
        let headers = try SalvageHeader.candidates(file)
        var best = proven(headers, factors)
        if best == nil { best = provenShifted(factors) }
        if let found = best {
            if let note = found.headerNote(headers) { report.notes.append(note) }
            if let shifted = found.shifted {
                report.notes.append(
                    "\(shifted.difference) in front of the first object: the objects were read at their former offsets")
            }
            noteFailures(&report)
            return found
        }
        let found = try firstUnproven()
        report.isHeaderProven = false
        report.notes.append(
            "no commit authenticates the header that was used: it was damaged or altered, or the change that wrote it was cut off"
        )
        noteFailures(&report)
        return found
    }

    private func noteFailures(_ report: inout SalvageReport) {
        for failure in failures { report.notes.append("\(failure.what): \(failure.error.description)") }
    }

    /// Reads the file with each header that the factors open, until a commit proves one of them.
    private mutating func proven(_ headers: [SalvageHeader], _ factors: borrowing Factors) -> SalvageReading? {
        for header in headers {
            guard let slot = open(header, factors) else { continue }
            do throws(VaultError) {
                var reading = try read(file, header, slot, shifted: nil)
                guard reading.scan.provesHeader else {
                    unproven.append(reading)
                    continue
                }
                try reading.openRecords()
                return reading
            } catch { failures.append(("a header of the file was not used", error)) }
        }
        return nil
    }

    /// Reads the file as it was before bytes were removed or inserted in front of its objects, with each intact header
    /// that the factors opened, until a commit proves one of them.
    private mutating func provenShifted(_ factors: borrowing Factors) -> SalvageReading? {
        for reading in unproven where reading.header.isWhole {
            let header = reading.header
            do throws(VaultError) {
                guard let shifted = try ShiftedFile.find(file, header, reading.store.finder.codec) else { continue }
                let slot = try slots.open(header, factors, limits)
                var reading = try read(shifted, header, slot, shifted: shifted)
                guard reading.scan.provesHeader else { continue }
                try reading.openRecords()
                return reading
            } catch { failures.append(("the objects could not be read at their former offsets", error)) }
        }
        return nil
    }

    /// Opens a slot of the header; returns nil if that fails.
    private mutating func open(_ header: SalvageHeader, _ factors: borrowing Factors) -> OpenedSlot? {
        do throws(VaultError) { return try slots.open(header, factors, limits) } catch {
            if refusal == nil { refusal = error }
            return nil
        }
    }

    /// Returns the first reading in which anything can be opened, without trusting its header.
    private mutating func firstUnproven() throws(VaultError) -> SalvageReading {
        for var reading in unproven {
            reading.store.distrust()
            do throws(VaultError) {
                try reading.openRecords()
                return reading
            } catch { failures.append(("a header of the file was not used", error)) }
        }
        let failure = failures.first(where: { $0.error.code == .foreignOwner }) ?? failures.first
        throw failure?.error ?? refusal
            ?? VaultError(.headerInvalid, "neither the header nor its copy can be read")
    }

    private func read(
        _ file: any FileHandle, _ header: SalvageHeader, _ slot: consuming OpenedSlot, shifted: ShiftedFile?
    ) throws(VaultError) -> SalvageReading {
        try Store.requireOwner(slot, owners?.value)
        let store = try SalvageStore(file, header, slot, deviceID, device)
        return try SalvageReading(header, store, shifted: shifted, workers)
    }
}
