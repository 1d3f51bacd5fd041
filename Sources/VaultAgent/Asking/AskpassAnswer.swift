/// The answer of a program such as ssh-askpass, which receives its question as an argument.
///
/// The answer is yes if the program exits with 0 and writes nothing or `yes`. A program that can only ask for a
/// passphrase writes whatever was typed, even `no`. The answer is no if the program exits with 1 or writes anything
/// else. If it ends in any other way, it has failed, and perhaps nobody saw the question.
struct AskpassAnswer {
    private var output: [UInt8] = []
    private var isTooLong = false

    private static let longest = "yes\r\n".utf8.count

    /// Records what the program has written, up to the length of the longest yes. The rest is not kept, because it may
    /// be a passphrase, and this memory is not wiped.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        let room = Self.longest - output.count
        if bytes.count > room { isTooLong = true }
        output += bytes.prefix(room)
    }

    /// - `status`: The program's status, as waitpid(2) returns it.
    func answer(endedWith status: Int32) -> PersonAnswer {
        switch status {
        case 0: isYes ? .yes : .no
        // The exit code 1.
        case 1 << 8: .no
        default: .failed("the program that asks for confirmation has failed")
        }
    }

    private var isYes: Bool {
        guard !isTooLong else { return false }
        var line = output[...]
        if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line.isEmpty || String(decoding: line, as: UTF8.self).lowercased() == "yes"
    }
}
