internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt

/// Creates the header's structures that are returned to callers.
enum Output {
    /// Creates an item without a secret, or with a borrowed one that must outlive the result.
    static func item(
        _ item: Item, lending secret: UnsafeRawBufferPointer? = nil, refusal: vaultfmt_status = 0
    ) throws(VaultError) -> UnsafePointer<vaultfmt_item> {
        try Block.make { arena in structure(item, secret.map(bytes), refusal, &arena) }
    }

    /// Creates an item with its secret.
    static func item(_ opened: consuming OpenedItem) throws(VaultError) -> UnsafePointer<vaultfmt_item> {
        let item = opened.item
        let secret = opened.takeSecret()
        let lent = secret.withUnsafeBytes { bytes($0) }
        return try Block.make(holding: secret) { arena in structure(item, lent, 0, &arena) }
    }

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> vaultfmt_bytes {
        vaultfmt_bytes(data: buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), size: buffer.count)
    }

    private static func structure(
        _ item: Item, _ secret: vaultfmt_bytes?, _ refusal: vaultfmt_status, _ arena: inout Arena
    ) -> vaultfmt_item {
        var out = vaultfmt_item()
        fill(&out.id, item.id.bytes.bytes)
        let key = item.key
        out.key = self.key(key, &arena)
        out.encoded_key = arena.append(key.bytes)
        out.accessibility = UInt32(item.accessibility.rawValue)
        if let device = item.device {
            out.is_device_bound = 1
            fill(&out.device, device.bytes.bytes)
        }
        out.created = item.created
        out.modified = item.modified
        out.revision = item.revision
        let attributes = item.attributes
        (out.attributes, out.attribute_count) = self.attributes(attributes, &arena)
        out.unread_attribute_count = attributes.unread
        out.secret = secret ?? vaultfmt_bytes()
        out.secret_status = refusal
        out.has_past = item.hasPast ? 1 : 0
        out.needs_settling = item.needsSettling ? 1 : 0
        out.lacks_secret = item.lacksSecret ? 1 : 0
        out.secret_changed = item.lacksSecret ? 0 : item.secretChanged
        return out
    }

    /// Creates an array of all attributes; those that were not read have a NULL value.
    private static func attributes(
        _ attributes: Attributes, _ arena: inout Arena
    ) -> (UnsafePointer<vaultfmt_attribute>?, count: Int) {
        var list: [vaultfmt_attribute] = []
        for attribute in attributes.all {
            let name = arena.append(attribute.name)
            let value = attribute.withUnsafeBytes { arena.append($0) } ?? vaultfmt_bytes()
            list.append(
                vaultfmt_attribute(name: name, value: value, flags: UInt32(attribute.flags.rawValue), states_flags: 1))
        }
        return (arena.append(list), list.count)
    }

    /// Creates a single value.
    static func value(_ secret: consuming Secret) throws(VaultError) -> UnsafePointer<vaultfmt_value> {
        let lent = secret.withUnsafeBytes { bytes($0) }
        return try Block.make(holding: secret) { _ in vaultfmt_value(bytes: lent) }
    }

    /// Creates a text, followed by a NUL that its size does not include.
    static func value(_ text: String) throws(VaultError) -> UnsafePointer<vaultfmt_value> {
        try Block.make { arena in
            let terminated = arena.append(text + "\0")
            return vaultfmt_value(bytes: vaultfmt_bytes(data: terminated.data, size: terminated.size - 1))
        }
    }

    // MARK: earlier values

    static func earlierValues(_ values: [EarlierValue]) throws(VaultError) -> UnsafePointer<vaultfmt_earlier_values> {
        try Block.make { arena in
            var list: [vaultfmt_earlier_value] = []
            for value in values { list.append(structure(value, value.attributes, &arena)) }
            return vaultfmt_earlier_values(values: arena.appendPointers(list), count: list.count)
        }
    }

    /// Creates an earlier value with its secret.
    static func earlierValue(
        _ opened: consuming OpenedEarlierValue
    ) throws(VaultError) -> UnsafePointer<vaultfmt_earlier_value> {
        let (value, attributes, group, device) = (opened.value, opened.attributes, opened.key.group, opened.device)
        let secret = opened.takeSecret()
        let lent = secret.withUnsafeBytes { bytes($0) }
        return try Block.make(holding: secret) { arena in
            var out = structure(value, attributes, &arena)
            out.secret = lent
            out.group = arena.append(group)
            if let device {
                out.is_device_bound = 1
                fill(&out.device, device.bytes.bytes)
            }
            return out
        }
    }

    private static func structure(
        _ value: EarlierValue, _ attributes: Attributes, _ arena: inout Arena
    ) -> vaultfmt_earlier_value {
        var out = vaultfmt_earlier_value()
        out.id.revision = value.revision
        out.id.replica = value.replica
        if let attribute = value.attribute { out.id.attribute = arena.append(attribute) }
        out.flags = UInt32(value.flags.rawValue)
        out.replaced = value.replaced
        out.modified = value.modified
        (out.attributes, out.attribute_count) = self.attributes(attributes, &arena)
        out.unread_attribute_count = attributes.unread
        return out
    }

    // MARK: keys

    static func key(_ key: ItemKey, _ arena: inout Arena) -> vaultfmt_key {
        var out = vaultfmt_key()
        out.item_class = UInt32(key.itemClass.rawValue)
        out.synchronizable = key.synchronizable ? 1 : 0
        out.group = arena.append(key.group)
        for (field, value) in key.fields {
            switch (field.member, value) {
            case (.number(let path), .number(let number)): out[keyPath: path] = number
            case (.bytes(let path), .text(let text)): out[keyPath: path] = arena.append(text)
            case (.bytes(let path), .bytes(let bytes)): out[keyPath: path] = arena.append(bytes)
            default: preconditionFailure("the member must be of the same kind as the field")
            }
        }
        if !key.itemClass.isDefined { (out.texts, out.text_count) = texts(key.texts, &arena) }
        return out
    }

    static func texts(_ texts: [String], _ arena: inout Arena) -> (UnsafePointer<vaultfmt_bytes>?, count: Int) {
        var list: [vaultfmt_bytes] = []
        for text in texts { list.append(arena.append(text)) }
        return (arena.append(list), list.count)
    }

    // MARK: slots

    static func slot(_ slot: SlotInfo, _ arena: inout Arena) -> vaultfmt_slot {
        var out = vaultfmt_slot()
        fill(&out.id, slot.id.bytes.bytes)
        out.kind = UInt32(slot.kind.number)
        out.factors = UInt32(slot.factors.rawValue)
        out.is_known = slot.isKnown ? 1 : 0
        out.is_full = slot.isFull ? 1 : 0
        out.opened_this = slot.openedThis ? 1 : 0
        out.is_weak = slot.isWeak ? 1 : 0
        out.kdf_memory = slot.cost?.memoryKiB ?? 0
        out.kdf_passes = slot.cost?.passes ?? 0
        out.kdf_lanes = slot.cost?.lanes ?? 0
        if let provider = slot.provider { out.provider = arena.append(provider) }
        if let name = slot.name { out.name = arena.append(name) }
        if let groups = slot.groups { (out.groups, out.group_count) = texts(groups, &arena) }
        out.revision = slot.revision
        return out
    }

    /// Creates the report on a change to the slots.
    static func report(
        _ id: SlotID?, dropped: [SlotInfo], kept: [ItemKey]
    ) throws(VaultError) -> UnsafePointer<vaultfmt_slot_report> {
        try Block.make { arena in
            var out = vaultfmt_slot_report()
            if let id { fill(&out.id, id.bytes.bytes) }
            out.dropped = slots(dropped, &arena)
            out.dropped_count = dropped.count
            var keys: [vaultfmt_key] = []
            for key in kept { keys.append(self.key(key, &arena)) }
            out.kept = arena.appendPointers(keys)
            out.kept_count = keys.count
            return out
        }
    }

    static func slots(_ slots: [SlotInfo], _ arena: inout Arena) -> UnsafePointer<UnsafePointer<vaultfmt_slot>?>? {
        var list: [vaultfmt_slot] = []
        for slot in slots { list.append(self.slot(slot, &arena)) }
        return arena.appendPointers(list)
    }

    /// Returns the kind of a tail, its size, and the incomplete generation.
    static func tail(_ tail: TailState) -> (kind: UInt32, size: UInt64, generation: UInt64) {
        switch tail {
        case .clean: (UInt32(VAULTFMT_TAIL_CLEAN), 0, 0)
        case .writeInProgress: (UInt32(VAULTFMT_TAIL_WRITE_IN_PROGRESS), 0, 0)
        case .torn(let bytes): (UInt32(VAULTFMT_TAIL_TORN), bytes, 0)
        case .incomplete(let generation): (UInt32(VAULTFMT_TAIL_INCOMPLETE), 0, generation)
        case .damaged(let bytes): (UInt32(VAULTFMT_TAIL_DAMAGED), bytes, 0)
        }
    }

    /// Fills a fixed-size C array, which is imported as a tuple, up to its size; the rest remains zero.
    static func fill<Tuple>(_ tuple: inout Tuple, _ bytes: [UInt8]) {
        withUnsafeMutableBytes(of: &tuple) { $0.copyBytes(from: bytes.prefix($0.count)) }
    }
}
