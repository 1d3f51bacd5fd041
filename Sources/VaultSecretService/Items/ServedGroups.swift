/// The access groups that are served as collections: those named by the user, and those whose names consist of the
/// default group's name, a slash, and further text. Clients cannot create collections in any other group.
package struct ServedGroups: Sendable {
    /// The groups named by the user; the first one is the default collection.
    package let named: [String]

    /// - `named`: Must not be empty. Duplicates are ignored.
    package init(_ named: [String]) {
        precondition(!named.isEmpty, "one collection must be the default one")
        var unique: [String] = []
        for group in named where !unique.contains(where: { $0.isSame(as: group) }) { unique.append(group) }
        self.named = unique
    }

    var defaultGroup: String { named[0] }

    /// Returns the group for a collection to which a client gave a name.
    func group(ofCollection name: String) -> String { defaultGroup + "/" + name }

    /// Returns the named groups that a slot does not grant, and whether the slot grants none of the collections.
    package func missing(in granted: [String]) -> (groups: [String], isAll: Bool) {
        let missing = named.filter { group in !granted.contains { $0.isSame(as: group) } }
        return (missing, !granted.contains(where: include))
    }

    func include(_ group: String) -> Bool {
        named.contains { $0.isSame(as: group) } || isWithinDefault(group)
    }

    private func isWithinDefault(_ group: String) -> Bool {
        let start = Array((defaultGroup + "/").utf8)
        return group.utf8.count > start.count && group.utf8.starts(with: start)
    }

    /// Returns a collection's label: the group's name, or the part of it that a client chose.
    func label(_ group: String) -> String {
        guard !named.contains(where: { $0.isSame(as: group) }), isWithinDefault(group) else {
            return group.isEmpty ? "default" : group
        }
        return String(decoding: group.utf8.dropFirst(defaultGroup.utf8.count + 1), as: UTF8.self)
    }
}
