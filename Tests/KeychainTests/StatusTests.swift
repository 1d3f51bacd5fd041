import Foundation
import KeychainAccess
import KeychainCore
import SecItem
import Testing
import VaultFmt

extension KeychainTests {
    @Suite("The status of a call")
    struct StatusTests {
        private let used: Used
        private let keychain = Keychain(service: "s")

        init() throws { used = try Used() }

        @Test("tells every kind of error that a vault has, by one of Apple's codes")
        func mapping() {
            let expected: [(VaultError.Code, Status)] = [
                (.notAVault, .invalidKeychain), (.unsupportedVersion, .wrongSecVersion),
                (.unsupportedCritical, .invalidKeychain),
                (.headerInvalid, .invalidKeychain), (.kdfLimit, .notAvailable), (.noSlotOpens, .authFailed),
                (.authenticationFailed, .decode),
                (.structureInvalid, .invalidKeychain), (.limitExceeded, .dataTooLarge),
                (.deviceBound, .dataNotAvailable),
                (.tampered, .invalidKeychain), (.rolledBack, .invalidKeychain), (.forked, .invalidKeychain),
                (.noSuchItem, .itemNotFound),
                (.duplicateItem, .duplicateItem), (.noSuchFile, .noSuchKeychain), (.fileExists, .param), (.io, .io),
                (.noSpace, .diskFull),
                (.busy, .notAvailable), (.readOnly, .readOnly), (.locked, .interactionNotAllowed),
                (.notPermitted, .authFailed),
                (.outcomeUnknown, .io), (.cannotReplace, .notAvailable), (.lastSlot, .param), (.noSuchSlot, .param),
                (.keyFileInvalid, .authFailed), (.passphraseInvalid, .authFailed), (.weakKDF, .param),
                (.invalidArgument, .param),
                (.outOfMemory, .allocate), (.noKernelKeyring, .notAvailable), (.otherProcess, .notAvailable),
                (.noSecret, .dataNotAvailable), (.foreignOwner, .invalidKeychain),
                (.memoryDamaged, .invalidKeychain),
                (.unsupportedForm, .wrongSecVersion), (.damagedTail, .invalidKeychain), (.readOnlyExtension, .readOnly),
            ]
            #expect(expected.map(\.0) == VaultError.Code.allCases)
            for (code, status) in expected {
                #expect(KeychainFailure(VaultError(code, "why")).status == status.rawValue, "\(code)")
            }
            // Each code is one that the API's own table has.
            for code in KeychainFailure.Code.allCases { #expect(Status(rawValue: code.rawValue) != nil) }
        }

        @Test("is caught as Status, and bridged by 'as NSError', but not caught as NSError, as the guide says (K4)")
        func catching() throws {
            used.use(try openVault(used.path, writable: false))
            var caught: [String] = []
            do { try keychain.set("1", key: "k") } catch let error as NSError
                where error.domain == KeychainAccessErrorDomain
            {
                caught.append("NSError")
            } catch let error as Status {
                caught.append("Status \(error.errorCode)")
            }
            do { try keychain.set("1", key: "k") } catch { caught.append("\((error as NSError).code)") }
            #expect(caught == ["Status -25292", "-25292"])
        }

        @Test("has a sentence for every errSec name, and Apple's number (K3)")
        func names() throws {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("Sources/Keychain/SecItem")
            var names: [String: OSStatus] = [:]
            let source = try String(contentsOf: folder.appendingPathComponent("StatusConstants.swift"), encoding: .utf8)
            for match in source.matches(of: /public let (errSec\w+): OSStatus = (-?\d+)/) {
                names[String(match.output.1)] = OSStatus(match.output.2)
            }
            for (name, code) in names { #expect(SecCopyErrorMessageString(code, nil) != nil, "\(name)") }
            // Apple's numbers go on without a gap from -67585 to -67903.
            #expect(Set(names.values).isSuperset(of: -67903 ... -67585) && names.count > 390)
            #expect(
                errSecCertificateDuplicateExtension == -67903 && errSecInvalidEncoding == -67853
                    && errSecRestrictedAPI == -34020)
            #expect(
                errSecServiceNotAvailable == -67585 && errSecSMIMENoEmailAddress == -67627
                    && errSecOCSPNoSigner == -67640)
            #expect(errSecDskFull == errSecDiskFull && errSecInvaldCRLAuthority == errSecInvalidCRLAuthority)
            #expect(
                errSecInvalidTupleCredendtials == errSecInvalidTupleCredentials && errSecCoreFoundationUnknown == -4960)
        }

        @Test("is an answer, not a failure that is told, for items that are there or not")
        func answers() throws {
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                kSecAttrAccount as String: "k",
            ]
            #expect(SecItemCopyMatching(item as CFDictionary, nil) == errSecItemNotFound)
            #expect(SecItemVault.lastFailure == "the vault '\(used.path)': no item matches (-25300)")
            #expect(
                SecItemAdd(item as CFDictionary, nil) == errSecSuccess
                    && SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
            #expect(try keychain.get("none") == nil && used.said.all.isEmpty)
        }

        @Test("is readOnly for a vault that was opened for reading")
        func readOnly() throws {
            try keychain.set("1", key: "k")
            used.use(try openVault(used.path, writable: false))
            fails(.readOnly, saying: used.path) { try keychain.set("2", key: "k") }
            fails(.readOnly) { try keychain.remove("k") }
            #expect(
                SecItemUpdate([kSecClass as String: kSecClassGenericPassword], [kSecAttrLabel as String: "x"])
                    == errSecReadOnly)
            #expect(try keychain.get("k") == "1")
        }

        @Test("is notAvailable while another writer holds the vault")
        func busy() throws {
            let other = try openVault(used.path)
            var options = OpenOptions()
            options.writable = true
            options.lockWait = .seconds(0.05)
            used.use(try Vault.open(used.path, factors: try rawKey(), options: options))
            try other.transaction { (_) throws(VaultError) in
                fails(.notAvailable, saying: used.path) { try keychain.set("1", key: "k") }
            }
            try keychain.set("1", key: "k")
        }

        @Test("is dataTooLarge for what no item can hold")
        func tooLarge() throws {
            fails(.dataTooLarge) { try keychain.set(Data(count: 16 << 20 | 1), key: "k") }
            fails(.dataTooLarge) { try keychain.set("1", key: String(repeating: "k", count: 4097)) }
            fails(.dataTooLarge) {
                try keychain.comment(String(repeating: "c", count: 16 << 20 | 1)).set("1", key: "k")
            }
            #expect(keychain.allKeys().isEmpty)
            try keychain.set(Data(count: 1 << 20), key: "k")
            #expect(try keychain.getData("k")?.count == 1 << 20)
        }

        @Test("is decode for a damaged secret, and leaves the others")
        func damaged() throws {
            try keychain.set(String(repeating: "a", count: 200), key: "a")
            let generation = try FileHandle(forReadingFrom: URL(fileURLWithPath: used.path)).seekToEnd()
            try keychain.set(String(repeating: "b", count: 200), key: "b")
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: used.path))
            // The record is the first thing that the second commit appended.
            try handle.seek(toOffset: generation + 100)
            try handle.write(contentsOf: Data([0xFF, 0xFE, 0xFD, 0xFC]))
            try handle.close()
            fails(.decode, saying: used.path) { _ = try keychain.get("b") }
            #expect(try keychain.get("a") == String(repeating: "a", count: 200))
        }

        @Test("is noSuchKeychain for a vault that has gone, and invalidKeychain for another in its place")
        func gone() throws {
            try keychain.set("1", key: "k")
            try FileManager.default.removeItem(atPath: used.path)
            fails(.noSuchKeychain, saying: used.path) { _ = try keychain.get("k") }
            _ = try Vault.create(at: used.path, factors: try rawKey(3))
            #expect(throws: Status.self) { _ = try keychain.get("k") }
            #expect(Keychain.lastFailure?.contains(used.path) == true)
            try Data("no vault".utf8).write(to: URL(fileURLWithPath: used.path))
            fails(.invalidKeychain, saying: "not a vault") { _ = try keychain.get("k") }
        }

        @Test("is kept for the thread whose call failed")
        func threads() throws {
            fails(.dataTooLarge) { try keychain.set("1", key: String(repeating: "k", count: 4097)) }
            let mine = Keychain.lastFailure
            let others = Lines()
            let thread = Thread {
                others.add(Keychain.lastFailure ?? "none")
                others.add("done")
            }
            thread.start()
            while others.all.count < 2 { usleep(1000) }
            #expect(others.all == ["none", "done"] && Keychain.lastFailure == mine && mine != nil)
            #expect(Keychain.noticeHandler != nil)
        }
    }
}
