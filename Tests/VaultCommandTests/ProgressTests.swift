import Testing

@testable import VaultConsole

@Suite("Progress")
struct ProgressTests {
    @Test("a line says what is done, the share and the count, as far as they are known")
    func lines() {
        #expect(Progress.text("opening", nil, done: nil, of: nil) == "opening …")
        #expect(Progress.text("importing", "items", done: 120, of: nil) == "importing 120 items …")
        #expect(Progress.text("verifying", nil, done: 45, of: 100) == "verifying 45 % …")
        #expect(Progress.text("compacting", "items", done: 450, of: 1000) == "compacting 45 %, 450 of 1000 items …")
        #expect(Progress.text("merging", "items", done: 7, of: 5) == "merging 100 %, 5 of 5 items …")
        #expect(Progress.text("merging", "items", done: 0, of: 0) == "merging 100 %, 0 of 0 items …")
    }
}
