import Fuzzing
import Glibc

/// Which target this process fuzzes: `VAULTFMT_FUZZ_TARGET`.
private let target: FuzzTarget = {
    guard let name = getenv("VAULTFMT_FUZZ_TARGET"), let target = FuzzTarget(rawValue: String(cString: name)) else {
        fatalError("VAULTFMT_FUZZ_TARGET names no target")
    }
    return target
}()

/// What libFuzzer calls first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeRawPointer?, _ arguments: UnsafeRawPointer?) -> Int32 {
    VectorSeeds.writeIfAsked(target.seed)
    return 0
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    target.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// libFuzzer's own mutation.
@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int, _ most: Int) -> Int

/// What libFuzzer calls for another input; it writes it over the one it is given, and says how long it is.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int, _ most: Int, _ seed: UInt32) -> Int {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let mutation = target.mutation(of: input, most: most, seed: UInt64(seed)) { bytes, most in
        var buffer = bytes + [UInt8](repeating: 0, count: max(most - bytes.count, 0))
        let used = buffer.withUnsafeMutableBufferPointer { mutate($0.baseAddress, bytes.count, $0.count) }
        bytes = Array(buffer[..<used])
    }
    guard let mutation else { return mutate(start, count, most) }
    let used = min(mutation.count, most)
    if let start { for index in 0..<used { start[index] = mutation[index] } }
    return used
}
