internal import Glibc

/// D14: two commands that change the keys, slots or items of one vault, or read it, one of them stopped at each of its
/// system calls in turn while the other runs. Each does what it was asked for, or reports that the vault is busy;
/// neither takes the other's work for a bug, a wrong passphrase or wrong usage.
extension Part {
    static let meetings = Part(
        name: "meetings", about: "changes of key, rotations, changes of slots and readers, stopped at each system call"
    ) { run in
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY").map({ String(cString: $0) }) else {
            return run.skip("VAULTFMT_RELEASE_BINARY does not say where the command is (Tools/harness does)")
        }
        guard Files.status("/usr/bin/strace") != nil, try shell("/usr/bin/strace -o /dev/null /bin/true") == 0 else {
            return run.skip("strace cannot trace here")
        }
        let pairs = Meeting.stopped.flatMap { first in Meeting.others.map { (first, $0) } }
        run.parallel(pairs.count, threads: 6) { index in
            var numbers = run.numbers(UInt64(index))
            let meeting = try Meeting(run, binary, pairs[index].0, pairs[index].1)
            // All of them in the long run. Each day one call of every fourth name: four seeds in a row have each name
            // of each pair.
            for (place, calls) in try meeting.stops().enumerated() {
                let isDue = (UInt64(place + index) &+ run.seed) % 4 == 0
                for stop in run.isLong ? calls : isDue ? [calls.randomElement(using: &numbers) ?? calls[0]] : [] {
                    if run.isOver { return }
                    try meeting.check(stop)
                }
            }
        }
    }
}
