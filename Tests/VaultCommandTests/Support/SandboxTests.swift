import Foundation
import Testing

@Suite("A test's sandbox")
struct SandboxTests {
    @Test("is removed although a program that is ending still writes to it")
    func removal() throws {
        let folder: String
        do {
            let sandbox = try Sandbox()
            folder = sandbox.folder
            // Ends early where the folder is gone.
            try sandbox.okShell("(for number in $(seq 50); do mkdir -p made/$number; done) >/dev/null 2>&1 &")
        }
        #expect(access(folder, F_OK) != 0)
    }
}
