import VaultAge
package import VaultExchange
package import VaultFmt

extension JSONWriter {
    /// Writes the members that describe a vault as seen without a key.
    package mutating func members(of view: Inspection, path: String, authenticated: Bool) throws {
        try member("file", path)
        try member("authenticated", authenticated)
        try member("version", view.version)
        try member("id", view.id.description)
        try member("headerBytes", view.headerBytes)
        try member("fileBytes", view.fileBytes)
        if !authenticated { try slots(view.slots) }
        try array("extensions") { writer in
            for item in view.extensions {
                try writer.object { writer in
                    try writer.member("name", item.name)
                    try writer.member("critical", item.isCritical)
                    try writer.member("readOnly", item.isReadOnly)
                    try writer.member("bytes", item.bytes)
                }
            }
        }
        try object("objects") { writer in
            for kind in view.objects {
                try writer.object(kind.type) { writer in
                    try writer.member("count", kind.count)
                    try writer.member("bytes", kind.bytes)
                }
            }
        }
        try tail(view.tail)
    }

    /// Writes the members that only a key holder can read.
    package mutating func members(of view: InsideView) throws {
        let figures = view.statistics
        try slots(view.slots)
        try name("access")
        switch view.access {
        case .owner: try value("owner")
        case .scoped(let groups): try object { writer in try writer.member("groups", groups) }
        }
        try member("owners", view.owners.description)
        try member("generation", figures.generation)
        try member("anchor", view.anchor.description)
        try member("items", figures.items)
        try object("itemsByClass") { writer in
            for (itemClass, count) in figures.itemsByClass { try writer.member(itemClass.name, count) }
        }
        try member("itemsWithPast", figures.itemsWithPast)
        try member("keptVersions", figures.keptVersions)
        try member("forgottenValues", figures.forgottenValues)
        if let replicas = figures.replicas { try member("replicas", replicas) }
        try array("compartments") { writer in
            for compartment in figures.compartments {
                try writer.object { writer in
                    try writer.member("group", compartment.group)
                    try writer.member("accessible", compartment.accessibility.name)
                    if let device = compartment.device { try writer.member("device", device.description) }
                    try writer.member("items", compartment.items)
                }
            }
        }
        try member("liveBytes", figures.liveBytes)
        try member("deadBytes", figures.deadBytes)
        try member("treeHeight", figures.treeHeight)
        try member("memoryLocked", figures.memoryLocked)
        if let blocked = figures.compactionBlocked { try member("compactionBlocked", blocked) }
    }

    /// Writes the member `slots`.
    package mutating func slots(_ slots: [SlotInfo]) throws {
        try array("slots") { writer in
            for slot in slots { try writer.slot(slot) }
        }
    }

    private mutating func slot(_ slot: SlotInfo) throws {
        try object { writer in
            try writer.member("id", slot.id.description)
            if let name = slot.name { try writer.member("name", name) }
            try writer.member("full", slot.isFull)
            try writer.member("kind", slot.kind.name)
            try writer.member("factors", slot.factors.description)
            if let provider = slot.provider { try writer.member("provider", provider) }
            if let age = RecipientList.slot(slot) {
                try writer.member("recipientKinds", age.stanzaTypes)
                if let recipients = age.recipients { try writer.member("recipients", recipients.map(\.text)) }
                if let isPostQuantum = age.isPostQuantum { try writer.member("postQuantum", isPostQuantum) }
            }
            try writer.member("strength", SlotText.strength(slot))
            if let cost = slot.cost {
                try writer.object("kdf") { writer in
                    try writer.member("memoryKiB", cost.memoryKiB)
                    try writer.member("passes", cost.passes)
                    try writer.member("lanes", cost.lanes)
                }
            }
            try writer.member("weak", slot.isWeak)
            if let groups = slot.groups { try writer.member("groups", groups) }
            if slot.openedThis { try writer.member("openedThis", true) }
        }
    }

    private mutating func member(_ key: String, _ texts: [String]) throws {
        try array(key) { writer in
            for text in texts { try writer.value(text) }
        }
    }

    /// Writes the member `tail`.
    package mutating func tail(_ tail: TailState) throws {
        try object("tail") { writer in
            switch tail {
            case .clean: try writer.member("state", "clean")
            case .writeInProgress: try writer.member("state", "writeInProgress")
            case .torn(let bytes):
                try writer.member("state", "torn")
                try writer.member("bytes", bytes)
            case .damaged(let bytes):
                try writer.member("state", "damaged")
                try writer.member("bytes", bytes)
            case .incomplete(let generation):
                try writer.member("state", "incomplete")
                try writer.member("generation", generation)
            }
        }
    }
}
