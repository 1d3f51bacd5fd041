internal import VaultFmt

// The methods of an item.
extension SecretService {
    func itemCall(_ call: BusCall, of item: ListedItem, now: UInt64) throws(BusError) -> [BusValue] {
        var arguments = BusArguments(call)
        switch call.member {
        case "GetSecret":
            let session = try arguments.path()
            try arguments.end()
            let cipher = try sessions.cipher(session, of: call.client)
            try requireUnlocked(item, for: call.client)
            return [try secret(of: item, session, cipher, for: call.client, now: now).busValue]
        case "SetSecret":
            let secret = try arguments.secret()
            try arguments.end()
            let cipher = try sessions.cipher(secret.session, of: call.client)
            try requireUnlocked(item, for: call.client)
            let type = try checkedType(secret.contentType)
            let plain = try opened(secret, cipher)
            try collections.replace(item, with: plain, contentType: type, now: now)
            noteStored(item.id, replacing: item, by: call.client)
            note("changed the secret \(item.label)", by: call.client)
            return []
        case "Delete":
            try arguments.end()
            guard !collections.isLocked else { throw .isLocked() }
            guard mayDelete(item, call.client) else {
                return [try prompt(.deleteItem(group: item.group, item.id), for: call.client)]
            }
            try delete(item, for: call.client, now: now)
            return [.noPath]
        default: throw .noMethod
        }
    }

    func delete(_ item: ListedItem, for client: BusClient, now: UInt64) throws(BusError) {
        try collections.delete([item], now: now)
        note("deleted the item \(item.label)", by: client)
    }
}
