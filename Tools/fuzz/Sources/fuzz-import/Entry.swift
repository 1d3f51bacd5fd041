import Fuzzing
import Glibc
import ImportFuzzing

/// Which target this process fuzzes: `VAULTFMT_FUZZ_TARGET`, `import` or `age`.
private let isAge = getenv("VAULTFMT_FUZZ_TARGET").map { String(cString: $0) } == "age"

/// What libFuzzer calls first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeRawPointer?, _ arguments: UnsafeRawPointer?) -> Int32 {
    VectorSeeds.writeIfAsked(isAge ? AgeTarget.seed : ImportTarget.seed)
    return 0
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    isAge ? AgeTarget.run(input) : ImportTarget.run(input)
    return 0
}
