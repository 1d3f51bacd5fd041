import VaultBytes
import VaultFmt
import VectorMaking

/// `check`: once with arguments, or a line of them at a time from standard input.
enum CheckCommand {
    static func run(_ arguments: [String]) throws {
        guard arguments.isEmpty else {
            print(try answer(arguments), terminator: "")
            return
        }
        while let line = readLine() {
            print(try answer(line.split(separator: " ").map(String.init)) + ".")
            flush()
        }
    }

    private static func answer(_ arguments: [String]) throws -> String {
        var request = ReadRequest()
        var rest = arguments[...]
        while let option = rest.first, option.hasPrefix("--") {
            guard rest.count >= 3 else { throw UsageError("\(option) needs a value, and a file after it") }
            guard request.take(String(option.dropFirst(2)), rest[rest.startIndex + 1]) else {
                throw UsageError("\(option) is unknown, or its value malformed")
            }
            rest = rest.dropFirst(2)
        }
        guard rest.count == 1, let path = rest.first else { throw UsageError("one file is needed") }
        let reading = try Reading(path, request)
        return ([reading.verdict.rawValue] + reading.dump).map { $0 + "\n" }.joined()
    }
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
