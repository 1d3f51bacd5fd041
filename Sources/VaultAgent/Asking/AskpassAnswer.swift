/// The answer of a program such as ssh-askpass, which has its question as an argument.
///
/// It is yes if the program ends with 0 and writes nothing or `yes`: a program that only asks for a passphrase writes
/// what was typed, `no` as well. It is no if the program ends with 1, or writes something else; a program that ends in
/// another way has failed, and nobody need have seen the question.
struct AskpassAnswer {
    private var output: [UInt8] = []
    private var isTooLong = false

    private static let longest = "yes\r\n".utf8.count

    /// Notes what the program has written. More than the longest yes is not kept: it may be a passphrase, and this
    /// memory is not wiped.
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
