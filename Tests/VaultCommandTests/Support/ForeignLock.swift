import CTestSupport
import Foundation

/// A writer's lock on a vault, held by somebody else than the binary.
final class ForeignLock {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = test_lock(path)
        guard descriptor >= 0 else { throw Failure("cannot lock \(path): error \(-descriptor)") }
    }

    func release() { close(descriptor) }
}
