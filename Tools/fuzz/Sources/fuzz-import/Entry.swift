import ImportFuzzing

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    ImportTarget.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
