import Fuzzing
import ImportFuzzing

/// What libFuzzer calls first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeRawPointer?, _ arguments: UnsafeRawPointer?) -> Int32 {
    VectorSeeds.writeIfAsked(ImportTarget.seed)
    return 0
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    ImportTarget.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
