internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt

/// What callers get: structures of the header.
enum Output {
    /// An item without a secret, or with one that is lent, and outlives what is made here.
    static func item(
        _ item: Item, lending secret: UnsafeRawBufferPointer? = nil, refusal: vaultfmt_status = 0
    ) throws(VaultError) -> UnsafePointer<vaultfmt_item> {
        try Block.make { arena in structure(item, secret.map(bytes), refusal, &arena) }
    }

    /// An item with its secret.
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
        out.key = key(item.key, &arena)
        out.encoded_key = arena.put(item.key.bytes)
        out.accessibility = UInt32(item.accessibility.rawValue)
        if let device = item.device {
            out.is_device_bound = 1
            fill(&out.device, device.bytes.bytes)
        }
        out.created = item.created
        out.modified = item.modified
        out.revision = item.revision
        let attributes = item.attributes
        var list: [vaultfmt_attribute] = []
        attributes.forEach { name, value in list.append(vaultfmt_attribute(name: arena.put(name), value: arena.put(value))) }
        out.attributes = arena.put(list)
        out.attribute_count = list.count
        out.sealed_attribute_count = secret == nil ? item.largeAttributes : 0
        out.secret = secret ?? vaultfmt_bytes()
        out.secret_status = refusal
        return out
    }

    private static func key(_ key: ItemKey, _ arena: inout Arena) -> vaultfmt_key {
        var out = vaultfmt_key()
        out.item_class = UInt32(key.itemClass.rawValue)
        out.synchronizable = key.synchronizable ? 1 : 0
        out.group = arena.put(key.group)
        switch key.fields {
        case .genericPassword(let service, let account):
            out.service = arena.put(service)
            out.account = arena.put(account)
        case .internetPassword(let server, let `protocol`, let port, let path, let account, let securityDomain, let authenticationType):
            out.server = arena.put(server)
            out.protocol = arena.put(`protocol`)
            out.port = port
            out.path = arena.put(path)
            out.account = arena.put(account)
            out.security_domain = arena.put(securityDomain)
            out.authentication_type = arena.put(authenticationType)
        case .certificate(let type, let issuer, let serialNumber), .identity(let type, let issuer, let serialNumber):
            out.type = type
            out.issuer = arena.put(issuer)
            out.serial_number = arena.put(serialNumber)
        case .key(let keyClass, let keyType, let label, let tag, let size, let effectiveSize):
            out.key_class = keyClass
            out.key_type = keyType
            out.application_label = arena.put(label)
            out.application_tag = arena.put(tag)
            out.size_in_bits = size
            out.effective_size = effectiveSize
        }
        return out
    }

    static func slot(_ slot: SlotInfo, _ arena: inout Arena) -> vaultfmt_slot {
        var out = vaultfmt_slot()
        fill(&out.id, slot.id.bytes.bytes)
        out.factors = UInt32(slot.factors.rawValue)
        out.is_full = slot.isFull ? 1 : 0
        out.opened_this = slot.openedThis ? 1 : 0
        out.is_weak = slot.isWeak ? 1 : 0
        out.kdf_memory = slot.cost?.memoryKiB ?? 0
        out.kdf_passes = slot.cost?.passes ?? 0
        out.kdf_lanes = slot.cost?.lanes ?? 0
        if let name = slot.name { out.name = arena.put(name) }
        if let groups = slot.groups {
            var list: [vaultfmt_bytes] = []
            for group in groups { list.append(arena.put(group)) }
            out.groups = arena.put(list)
            out.group_count = list.count
        }
        return out
    }

    static func slots(_ slots: [SlotInfo], _ arena: inout Arena) -> UnsafePointer<UnsafePointer<vaultfmt_slot>?>? {
        var list: [vaultfmt_slot] = []
        for slot in slots { list.append(self.slot(slot, &arena)) }
        return arena.putPointers(list)
    }

    /// The kind of a tail, and its size.
    static func tail(_ tail: TailState) -> (kind: UInt32, size: UInt64) {
        switch tail {
        case .clean: (UInt32(VAULTFMT_TAIL_CLEAN), 0)
        case .writeInProgress: (UInt32(VAULTFMT_TAIL_WRITE_IN_PROGRESS), 0)
        case .damaged(let bytes): (UInt32(VAULTFMT_TAIL_DAMAGED), bytes)
        case .damagedCommit(let bytes): (UInt32(VAULTFMT_TAIL_DAMAGED_COMMIT), bytes)
        case .incomplete: (UInt32(VAULTFMT_TAIL_INCOMPLETE), 0)
        }
    }

    /// Fills an array of fixed size, which C gives as a tuple: as much as fits, the rest stays zero.
    static func fill<Tuple>(_ tuple: inout Tuple, _ bytes: [UInt8]) {
        withUnsafeMutableBytes(of: &tuple) { $0.copyBytes(from: bytes.prefix($0.count)) }
    }
}
