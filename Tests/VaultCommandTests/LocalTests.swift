import Foundation
import Testing
import VaultFmt

/// What a machine keeps about vaults, as the command shows it: the device file, descriptors, folders of other users,
/// keys that are kept.
@Suite("This machine")
struct LocalTests {
    @Test("M1: the same vault on two machines: a rotation on one is followed on the other, and not undone there")
    func twoMachines() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s".utf8)
        let (one, two) = (sandbox.path("state"), sandbox.path("two"))
        sandbox.environment["XDG_STATE_HOME"] = two
        #expect(try sandbox.ok("get", "svc").error.contains("has not seen this vault before"))
        let old = try sandbox.read("test.vault")
        sandbox.environment["XDG_STATE_HOME"] = one
        try sandbox.ok("rekey", "--rotate")
        #expect(try sandbox.ok("get", "svc").error == "")
        sandbox.environment["XDG_STATE_HOME"] = two
        let followed = try sandbox.ok("get", "svc")
        #expect(followed.output == "s" && followed.error == "")
        try sandbox.write("test.vault", old)
        // Under the key that was handed over, nothing goes on.
        try sandbox.fails(65, "other owners", "get", "svc")
        try sandbox.fails(65, "other owners", "set", "svc", input: "leaked".utf8)
        #expect(try sandbox.read("test.vault") == old)
        try sandbox.ok("anchor", "--accept")
        #expect(try sandbox.ok("get", "svc").output == "s")
    }

    @Test("E10: a damaged device file costs the items of this device only, and no others")
    func damagedDevice() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "free", input: "f".utf8)
        try sandbox.ok("set", "bound", "--accessible", "when-unlocked-this-device-only", input: "b".utf8)
        let device = try sandbox.read("state/vaultfmt/device")
        for bytes in [
            Array(device.dropLast()), [], [UInt8](repeating: 0, count: 48), [UInt8](repeating: 7, count: 5000),
        ] {
            try sandbox.write("state/vaultfmt/device", bytes)
            let run = try sandbox.ok("get", "free")
            #expect(
                run.output == "f" && run.error.contains("warning: the device file") && run.error.contains("damaged"))
            try sandbox.fails(69, "device", "get", "bound")
            try sandbox.fails(
                65, "is damaged", "set", "more", "--accessible", "when-unlocked-this-device-only", input: "m".utf8)
        }
        try sandbox.write("state/vaultfmt/device", device)
        #expect(try sandbox.ok("get", "bound").output == "b")
    }

    @Test(
        "H2: a descriptor that a passphrase came from is closed: no program that is started reads it again",
        arguments: ["--passphrase-fd 3", "--passphrase-file /dev/fd/3", "--passphrase-file /proc/self/fd/3"])
    func descriptor(_ option: String) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.ok("set", "svc", input: "s".utf8)
        try sandbox.write("p", Sandbox.passphrase.utf8)
        sandbox.forgetPassphrase()
        let run = try sandbox.shell("exec 3<p; vaultfmt run \(option) --env X=svc -- sh -c 'cat <&3' 2>&1; true")
        #expect(!run.output.contains(Sandbox.passphrase), "\(run.output)")
        let kept = try sandbox.shell("exec 3<p; vaultfmt get svc \(option)")
        #expect(kept.output == "s", "\(kept.error)")
    }

    @Test(
        "E7: as root with a user's HOME nothing is made there, and the cause is named",
        .enabled(if: geteuid() == 0, "needs root"))
    func othersHome() throws {
        let sandbox = try Sandbox()
        let home = sandbox.path("home")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        sandbox.environment["XDG_DATA_HOME"] = nil
        sandbox.environment["XDG_STATE_HOME"] = nil
        let vault = sandbox.vault
        sandbox.environment["HOME"] = home
        sandbox.environment["VAULTFMT_VAULT"] = nil
        #expect(chown(home, 4711, 4711) == 0)
        try sandbox.fails(74, "belongs to user 4711", "create", "--kdf", "testing")
        let made = try sandbox.ok("create", "--kdf", "testing", vault)
        #expect(made.error.contains("could not be remembered") && made.error.contains("belongs to user 4711"))
        try sandbox.ok("set", "svc", "-f", vault, input: "s".utf8)
        #expect(try sandbox.ok("get", "svc", "-f", vault).output == "s")
        #expect(try FileManager.default.contentsOfDirectory(atPath: home) == [])
    }

    @Test("E7: what root has left in a user's folder names its owner", .enabled(if: geteuid() == 0, "needs root"))
    func rootsFiles() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.ok("list")
        chmod(sandbox.folder, 0o755)
        for name in try FileManager.default.subpathsOfDirectory(atPath: sandbox.folder) + [""]
        where !name.hasPrefix("state/vaultfmt/anchors/") {
            lchown(sandbox.path(name), 4711, 4711)
        }
        chmod(sandbox.path("state/vaultfmt/anchors"), 0o755)
        let run = try sandbox.shell("setpriv --reuid 4711 --regid 4711 --clear-groups vaultfmt list")
        #expect(
            run.status == 74 && run.error.contains("belongs to user 0") && run.error.contains("chown"), "\(run.error)")
    }
}

@Suite("What is kept unlocked", .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
struct KeptTests {
    @Test("E5: lock works by what was unlocked, though the file is gone, cut or another one; else it mentions --all")
    func lockWithoutFile() throws {
        let ruin: [(String, (Sandbox) throws -> Void)] = [
            ("gone", { try FileManager.default.removeItem(atPath: $0.vault) }),
            ("cut", { try $0.write("test.vault", []) }),
            (
                "other",
                { sandbox in
                    try FileManager.default.removeItem(atPath: sandbox.vault)
                    try sandbox.ok("create", "--kdf", "testing")
                }
            ),
        ]
        for (name, ruin) in ruin {
            let sandbox = try Sandbox.withVault()
            try sandbox.unlock()
            let whole = try sandbox.read("test.vault")
            sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
            try ruin(sandbox)
            sandbox.forgetPassphrase()
            #expect(try sandbox.ok("lock").error.contains("is locked"), "\(name)")
            try sandbox.write("test.vault", whole)
            try sandbox.fails(77, "there is no terminal", "list")
            if name == "gone" {
                try FileManager.default.removeItem(atPath: sandbox.vault)
                try sandbox.fails(66, "lock --all", "lock")
            }
        }
    }

    @Test("E6, S4: a kept key goes with its slot, whoever removes it, and opens no older copy")
    func slotGone() throws {
        let sandbox = try Sandbox.withVault()
        let key = try sandbox.write("raw", (0..<32).map { UInt8($0) })
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--name", "raw")
        let old = try sandbox.read("test.vault")
        try sandbox.ok("unlock", "--raw-key-file", key)
        let removed = try sandbox.ok("slot", "remove", "raw", "--yes")
        #expect(removed.error.contains("the vault is locked"))
        #expect(try sandbox.ok("lock").error.contains("was not unlocked"))

        // Removed elsewhere, and seen by an ordinary command.
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--name", "raw")
        try sandbox.ok("unlock", "--raw-key-file", key)
        let plain = try Vault.open(
            sandbox.vault, factors: Factors(passphrase: Secret(text: Sandbox.passphrase)),
            options: {
                var options = OpenOptions(); options.writable = true; return options
            }())
        let slot = try #require(try plain.slots().first { $0.name == "raw" })
        try plain.removeSlot(slot.id)
        try sandbox.ok("list")
        #expect(try sandbox.ok("lock").error.contains("was not unlocked"))
        try sandbox.write("test.vault", old)
        sandbox.forgetPassphrase()
        try sandbox.fails(77, "there is no terminal", "list")
    }

    @Test("E10: a planted kept key opens nothing, goes, and says so", .enabled(if: Machine.has("keyctl")))
    func planted() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.unlock()
        let id = try #require(try sandbox.ok("inspect").lines.first { $0.hasPrefix("id: ") }?.dropFirst(4))
        let run = try sandbox.shell(
            """
            key=$(keyctl search @u user vaultfmt:\(id))
            keyctl pipe $key >payload
            head -c 17 payload >planted; head -c 32 /dev/zero >>planted; tail -c +50 payload >>planted
            keyctl pupdate $key <planted
            vaultfmt list --no-input
            """)
        #expect(
            run.status == 77 && run.error.contains("does not open") && !run.error.contains("backup"), "\(run.error)")
        let again = try sandbox.shell("keyctl search @u user vaultfmt:\(id)")
        #expect(again.status != 0)
    }

    @Test("E10: within a user namespace of its own, lock does not say that nothing was unlocked")
    func apart() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.unlock()
        for command in ["lock", "lock --all"] {
            let run = try sandbox.shell("unshare --user --map-root-user vaultfmt \(command)")
            #expect(run.status == 69 && run.error.contains("has its own keyrings"), "\(run.error)")
        }
        #expect(try sandbox.ok("lock").error.contains("is locked"))
    }
}
