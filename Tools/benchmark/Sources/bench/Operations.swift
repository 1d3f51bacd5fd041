import VaultFmt

/// One kind of work, so many times, on a vault that is there: for counting instructions and for profilers. What does
/// not belong to it cancels out between two counts.
enum Operations {
    static let names = ["open", "get", "set", "scan", "list", "fill", "rotate", "verify"]

    static func run(_ name: String, _ path: String, items: Int, count: Int) throws(VaultError) {
        var numbers = Numbers()
        if name == "open" {
            for _ in 0..<count {
                try Workload.get(try Workload.open(path, writable: false), Int.random(in: 0..<items, using: &numbers))
            }
            return
        }
        if name == "fill" {
            for number in 0..<count {
                let other = "\(path).\(number)"
                try Workload.fill(try Workload.create(other), items)
                remove(other)
            }
            return
        }
        let vault = try Workload.open(path, writable: true)
        switch name {
        case "get": for _ in 0..<count { try Workload.get(vault, Int.random(in: 0..<items, using: &numbers)) }
        case "set": try Workload.change(vault, items, times: count)
        case "scan": for _ in 0..<count { try Workload.scan(try Workload.open(path, writable: false), items) }
        case "list": for _ in 0..<count { try Workload.list(try Workload.open(path, writable: false), items) }
        case "rotate": for _ in 0..<count { try Workload.rotate(vault) }
        case "verify": for _ in 0..<count { try Workload.verify(vault) }
        default: preconditionFailure("no such operation: \(name)")
        }
    }
}
