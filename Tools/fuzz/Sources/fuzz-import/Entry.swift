import Fuzzing
import Glibc
import ImportFuzzing

/// Which target this process fuzzes: `VAULTFMT_FUZZ_TARGET`, `import`, `age`, `agent` or `secret-service`.
private let target = getenv("VAULTFMT_FUZZ_TARGET").map { String(cString: $0) }

/// What libFuzzer calls first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeRawPointer?, _ arguments: UnsafeRawPointer?) -> Int32 {
    switch target {
    case "age": VectorSeeds.writeIfAsked(AgeTarget.seed)
    // No vector holds a message to an agent, or a call of the bus.
    case "agent", "secret-service": VectorSeeds.writeIfAsked { _ in nil }
    default: VectorSeeds.writeIfAsked(ImportTarget.seed)
    }
    return 0
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    switch target {
    case "age": AgeTarget.run(input)
    case "agent": AgentTarget.run(input)
    case "secret-service": SecretServiceTarget.run(input)
    default: ImportTarget.run(input)
    }
    return 0
}
