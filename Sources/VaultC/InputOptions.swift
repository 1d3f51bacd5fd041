internal import CVaultFmt
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
        guard let anchor = Anchor(try string(text, "anchor")) else { throw VaultError(.invalidArgument, "this is no anchor") }
        return anchor
    }

    static func createOptions(_ pointer: UnsafePointer<vaultfmt_create_options>?) throws(VaultError) -> CreateOptions {
        var options = CreateOptions()
        guard let given = try optional(pointer, sized: \.struct_size, "options") else { return options }
        try requireZero(given.reserved)
        options.cost = KDFCost(memoryKiB: given.kdf_memory, passes: given.kdf_passes, lanes: given.kdf_lanes)
        options.allowWeak = try flag(given.allow_weak_kdf, "allow_weak_kdf")
        options.lockWait = try wait(given.lock_wait)
        options.slotName = try text(given.slot_name, "slot_name") ?? ""
        options.device = try device(given.device)
        return options
    }

    /// From milliseconds.
    private static func wait(_ milliseconds: Int64) throws(VaultError) -> Double {
        guard milliseconds >= 0 else { throw VaultError(.invalidArgument, "lock_wait is negative") }
        return Double(milliseconds) / 1000
    }

    // MARK: items

    static func accessibility(_ number: UInt32) throws(VaultError) -> Accessibility? {
        guard number != 0 else { return nil }
        guard let value = UInt8(exactly: number).flatMap({ Accessibility(rawValue: $0) }) else {
            throw VaultError(.invalidArgument, "there is no accessibility \(number)")
        }
        return value
    }

    /// What `vaultfmt_details` say.
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
        var names: Set<[UInt8]> = []
        for attribute in try elements(given.attributes, given.attribute_count, "attributes") {
            guard let name = try text(attribute.name, "an attribute's name") else {
                throw VaultError(.invalidArgument, "an attribute has no name")
            }
            guard names.insert(Array(name.utf8)).inserted else { throw VaultError(.invalidArgument, "an attribute is named twice") }
            if attribute.value.data == nil, attribute.value.size == 0 {
                details.attributes.remove.append(name)
            } else {
                details.attributes.set[name] = try array(attribute.value)
            }
        }
        return details
    }

    static func query(_ pointer: UnsafePointer<vaultfmt_query>?) throws(VaultError) -> Query {
        var query = Query()
        guard let given = try optional(pointer, sized: \.struct_size, "query") else { return query }
        if given.item_class != 0 { query.itemClass = try itemClass(given.item_class) }
        query.service = try text(given.service, "service")
        query.account = try text(given.account, "account")
        query.server = try text(given.server, "server")
        query.protocol = try text(given.protocol, "protocol")
        query.path = try text(given.path, "path")
        query.group = try text(given.group, "group")
        query.label = try text(given.label, "label")
        query.pattern = try text(given.pattern, "pattern")
        query.accessibility = try accessibility(given.accessibility)
        if given.port != -1 {
            guard let port = UInt32(exactly: given.port) else { throw VaultError(.invalidArgument, "there is no port \(given.port)") }
            query.port = port
        }
        if given.synchronizable != -1 {
            query.synchronizable = try flag(UInt32(bitPattern: given.synchronizable), "synchronizable")
        }
        return query
    }
}
