internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt

extension Input {
    static func openOptions(_ pointer: UnsafePointer<vaultfmt_open_options>?) throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        guard let given = try optional(pointer, sized: \.struct_size, "options") else { return options }
        try requireZero(given.reserved)
        options.writable = try flag(given.writable, "writable")
        options.lockWait = try wait(given.lock_wait)
        options.limits = limits(given)
        options.device = try device(given.device)
        if let text = given.anchor { options.anchor = try anchor(text) }
        if given.owners.data != nil || given.owners.size != 0 {
            guard let owners = OwnersPublicKey(bytes: try array(given.owners)) else {
                throw VaultError(
                    .invalidArgument, "the owners' public key must be 32 bytes long, not \(given.owners.size)")
            }
            options.owners = owners
        }
        return options
    }

    static func limits(_ pointer: UnsafePointer<vaultfmt_open_options>?) throws(VaultError) -> ReaderLimits {
        guard let given = try optional(pointer, sized: \.struct_size, "options") else { return ReaderLimits() }
        return limits(given)
    }

    private static func limits(_ given: vaultfmt_open_options) -> ReaderLimits {
        var limits = ReaderLimits()
        limits.memoryKiB = given.most_kdf_memory
        limits.passes = given.most_kdf_passes
        limits.lanes = given.most_kdf_lanes
        limits.totalKiBPasses = given.most_kdf_work
        return limits
    }

    static func anchor(_ text: UnsafePointer<CChar>?) throws(VaultError) -> Anchor {
        guard let anchor = Anchor(try string(text, "anchor")) else {
            throw VaultError(.invalidArgument, "not an anchor of the form VAULT:GENERATION:CHAIN:OWNERS:FLOOR:ROWS")
        }
        return anchor
    }

    static func createOptions(_ pointer: UnsafePointer<vaultfmt_create_options>?) throws(VaultError) -> CreateOptions {
        var options = CreateOptions()
        guard let given = try optional(pointer, sized: \.struct_size, "options") else { return options }
        options.keptVersions = Int(given.kept_versions)
        options.cost = KDFCost(memoryKiB: given.kdf_memory, passes: given.kdf_passes, lanes: given.kdf_lanes)
        options.allowWeak = try flag(given.allow_weak_kdf, "allow_weak_kdf")
        options.lockWait = try wait(given.lock_wait)
        options.slotName = try text(given.slot_name, "slot_name") ?? ""
        options.device = try device(given.device)
        return options
    }

    /// Converts a number of milliseconds.
    private static func wait(_ milliseconds: Int64) throws(VaultError) -> Duration {
        guard milliseconds >= 0 else { throw VaultError(.invalidArgument, "lock_wait is negative") }
        return .milliseconds(milliseconds)
    }

    // MARK: items

    static func accessibility(_ number: UInt32) throws(VaultError) -> Accessibility? {
        guard number != 0 else { return nil }
        guard let value = UInt8(exactly: number).flatMap({ Accessibility(rawValue: $0) }) else {
            throw VaultError(.invalidArgument, "unknown accessibility \(number)")
        }
        return value
    }

    /// The contents of `vaultfmt_details`.
    struct Details {
        var attributes = AttributeChanges()
        var accessibility: Accessibility?
        var created: Int64?
        var modified: Int64?
    }

    static func details(_ pointer: UnsafePointer<vaultfmt_details>?) throws(VaultError) -> Details {
        var details = Details()
        guard let given = try optional(pointer, sized: \.struct_size, "details") else { return details }
        try requireZero(given.reserved)
        details.accessibility = try accessibility(given.accessibility)
        details.created = given.created == .min ? nil : given.created
        details.modified = given.modified == .min ? nil : given.modified
        details.attributes.replaceAll = try flag(given.replaces_attributes, "replaces_attributes")
        let changes = try attributeChanges(given.attributes, given.attribute_count)
        (details.attributes.set, details.attributes.remove) = (changes.set, changes.remove)
        return details
    }

    private static func attributeChanges(
        _ start: UnsafePointer<vaultfmt_attribute>?, _ count: Int
    ) throws(VaultError) -> AttributeChanges {
        var changes = AttributeChanges()
        var names: Set<[UInt8]> = []
        for given in try elements(start, count, "attributes") {
            let name = try attributeName(given.name)
            guard names.insert(Array(name.utf8)).inserted else {
                throw VaultError(.invalidArgument, "an attribute is specified twice")
            }
            let flags = try flags(given)
            if let attribute = try attribute(name, given.value, flags) {
                changes.set.set(attribute)
            } else {
                changes.remove.append(name)
            }
        }
        return changes
    }

    static func attributeName(_ name: vaultfmt_bytes) throws(VaultError) -> String {
        guard let name = try text(name, "an attribute's name") else {
            throw VaultError(.invalidArgument, "an attribute has no name")
        }
        return name
    }

    /// Returns the flags if any are given; otherwise nil.
    private static func flags(_ given: vaultfmt_attribute) throws(VaultError) -> Attribute.Flags? {
        let states = try flag(given.states_flags, "states_flags")
        guard let flags = UInt8(exactly: given.flags), states || flags == 0 else {
            throw VaultError(.invalidArgument, "an attribute's flags require states_flags and must be less than 256")
        }
        return states ? Attribute.Flags(rawValue: flags) : nil
    }

    /// Returns an attribute; nil if it has no value. A value that is or may be sealed is kept in memory that is wiped
    /// after use.
    private static func attribute(
        _ name: String, _ value: vaultfmt_bytes, _ flags: Attribute.Flags?
    ) throws(VaultError) -> Attribute? {
        if let flags, !flags.contains(.sealed), value.data != nil {
            return Attribute(name, try array(value), flags: flags)
        }
        guard let secret = try secret(value) else { return nil }
        return Attribute(name, keeping: secret, flags: flags)
    }

    // MARK: earlier values

    static func earlierID(_ pointer: UnsafePointer<vaultfmt_earlier_id>?) throws(VaultError) -> EarlierValueID {
        try earlierID(try given(pointer, "id").pointee)
    }

    static func earlierIDs(
        _ start: UnsafePointer<vaultfmt_earlier_id>?, _ count: Int
    ) throws(VaultError) -> Set<EarlierValueID> {
        var ids: Set<EarlierValueID> = []
        for id in try elements(start, count, "ids") { ids.insert(try earlierID(id)) }
        return ids
    }

    private static func earlierID(_ id: vaultfmt_earlier_id) throws(VaultError) -> EarlierValueID {
        let name = id.attribute.data == nil && id.attribute.size == 0 ? nil : try attributeName(id.attribute)
        return EarlierValueID(revision: id.revision, replica: id.replica, attribute: name.map { Array($0.utf8) })
    }

    static func newEarlierValue(
        _ pointer: UnsafePointer<vaultfmt_new_earlier_value>?
    ) throws(VaultError) -> NewEarlierValue {
        let given = try given(pointer, sized: \.struct_size, "values")
        try requireZero(given.reserved)
        guard let secret = try secret(given.secret) else {
            throw VaultError(.invalidArgument, "the secret is NULL; an empty one needs a non-NULL pointer")
        }
        let attributes = try attributeChanges(given.attributes, given.attribute_count)
        guard attributes.remove.isEmpty else {
            throw VaultError(.invalidArgument, "an attribute of an earlier value has no value")
        }
        return NewEarlierValue(
            secret: secret, attributes: attributes.set, replaced: given.replaced, group: try text(given.group, "group"))
    }

    static func query(_ pointer: UnsafePointer<vaultfmt_query>?) throws(VaultError) -> Query {
        var query = Query()
        guard let given = try optional(pointer, sized: \.struct_size, "query") else { return query }
        if given.item_class != 0 { query.itemClass = try itemClass(given.item_class) }
        query[.service] = try text(given.service, "service").map { .text($0) }
        query[.account] = try text(given.account, "account").map { .text($0) }
        query[.server] = try text(given.server, "server").map { .text($0) }
        query[.protocol] = try text(given.protocol, "protocol").map { .text($0) }
        query[.path] = try text(given.path, "path").map { .text($0) }
        query.group = try text(given.group, "group")
        query.label = try text(given.label, "label")
        query.pattern = try text(given.pattern, "pattern")
        query.accessibility = try accessibility(given.accessibility)
        if given.port != -1 {
            guard let port = UInt32(exactly: given.port) else {
                throw VaultError(.invalidArgument, "\(given.port) is not a valid port")
            }
            query[.port] = .number(port)
        }
        if given.synchronizable != -1 {
            query.synchronizable = try flag(UInt32(bitPattern: given.synchronizable), "synchronizable")
        }
        return query
    }
}
