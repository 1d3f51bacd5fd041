import Foundation
import InMemoryLogging
import KeychainAccess
import KeychainStores
import Logging
import SecItem
import Testing

extension KeychainTests {
    @Suite("The stores on top")
    struct StoreTests {
        private let used: Used
        private let log = InMemoryLogHandler()

        init() throws { used = try Used() }

        private var logger: Logger {
            var logger = Logger(label: "test") { _ in log }
            logger.logLevel = .trace
            return logger
        }

        private var logged: String {
            log.entries.map { "\($0.level) \($0.message) \($0.metadata.map { "\($0)=\($1)" }.sorted())" }.joined(
                separator: "\n")
        }

        @Test("keep bytes by key in every class", arguments: KeychainSecurityClass.allCases)
        func classes(_ securityClass: KeychainSecurityClass) throws {
            let store = KeychainStore(
                service: "service", groupId: "group", accesibility: .afterFirstUnlock, securityClass: securityClass,
                logger: logger)
            let secret = Data("s3cret".utf8)
            #expect(!store.update(data: secret, key: "k") && store.fetch(key: "k") == nil && !store.delete(key: "k"))
            #expect(store.save(data: Data("s3cret 0".utf8), key: "k") && store.save(data: secret, key: "k"))
            #expect(store.save(data: Data("2".utf8), key: "other") && store.fetch(key: "k") == secret)
            #expect(
                store.update(data: Data("s3cret 2".utf8), key: "k") && store.fetch(key: "k") == Data("s3cret 2".utf8))
            let elsewhere = KeychainStore(
                service: "service", accesibility: .afterFirstUnlock, securityClass: securityClass, logger: nil)
            #expect(elsewhere.fetch(key: "k") == nil && elsewhere.save(data: Data(), key: "k"))
            #expect(
                store.delete(key: "k") && store.fetch(key: "k") == nil && store.fetch(key: "other") == Data("2".utf8))
            #expect(elsewhere.fetch(key: "k") == Data())
            #expect(logged.contains("key=k") && logged.contains("service=service") && !logged.contains("s3cret"))
            #expect(!logged.contains(secret.base64EncodedString()) && !logged.contains("error keychain item failed"))
            used.use(try openVault(used.path, writable: false))
            #expect(
                !store.save(data: secret, key: "k") && logged.contains("error keychain item failed")
                    && logged.contains("status=-25292"))
        }

        @Test("keep them with every accessibility", arguments: KeychainAccesibility.allCases)
        func accessibilities(_ accesibility: KeychainAccesibility) throws {
            let used = try Used(device: .random())
            let store = KeychainStore(
                service: "s", accesibility: accesibility, securityClass: .genericPassword, logger: nil)
            #expect(store.save(data: Data([1]), key: "k") && store.update(data: Data([2]), key: "k"))
            let constants: [KeychainAccesibility: String] = [
                .whenUnlocked: kSecAttrAccessibleWhenUnlocked as String,
                .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock as String,
                .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String,
                .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String,
                .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String,
            ]
            #expect(Keychain(service: "s")[attributes: "k"]?.accessible == constants[accesibility])
            used.vault.lock()
            let isOpen = accesibility == .afterFirstUnlock || accesibility == .afterFirstUnlockThisDeviceOnly
            #expect(store.fetch(key: "k") == (isOpen ? Data([2]) : nil) && !store.delete(key: "k"))
        }

        @Test("are for this program unless another service is named")
        func service() {
            #expect(KeychainStore().save(data: Data([1]), key: "k"))
            #expect(
                Keychain().allKeys() == ["k"]
                    && Keychain(service: ProcessInfo.processInfo.processName)[data: "k"] == Data([1]))
            #expect(
                KeychainStore(logger: logger).fetch(key: "k") == Data([1]) && logged.contains("debug keychain item"))
        }

        private struct Settings: Codable, Equatable {
            var name: String
            var numbers: [Int]
        }

        /// Any encoder will do.
        private struct Lines: ObjectEncoder, ObjectDecoder {
            func encode<T: Encodable>(_ value: T) throws -> Data {
                Data("coded\n".utf8) + (try JSONEncoder().encode(value))
            }

            func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
                try JSONDecoder().decode(type, from: data.dropFirst(6))
            }
        }

        @Test("keep Codable values with any encoder")
        func objects() throws {
            let bytes = KeychainStore(
                service: "s", accesibility: .afterFirstUnlock, securityClass: .genericPassword, logger: nil)
            let store: some CodableKeyValueStore = ObjectKeyValueStore(
                encoder: JSONEncoder(), decoder: JSONDecoder(), store: bytes)
            let value = Settings(name: "a", numbers: [1, 2])
            #expect(
                try store.fetch(key: "json", type: Settings.self) == nil && !store.update(element: value, key: "json"))
            #expect(try store.save(element: value, key: "json") && store.save(element: value, key: "json"))
            #expect(try store.fetch(key: "json", type: Settings.self) == value)
            #expect(try store.update(element: Settings(name: "b", numbers: []), key: "json"))
            #expect(try store.fetch(key: "json", type: Settings.self)?.name == "b")
            let lists = ObjectKeyValueStore(
                encoder: PropertyListEncoder(), decoder: PropertyListDecoder(), store: bytes)
            #expect(
                try lists.save(element: value, key: "plist") && lists.fetch(key: "plist", type: Settings.self) == value)
            let own = ObjectKeyValueStore(encoder: Lines(), decoder: Lines(), store: bytes)
            #expect(try own.save(element: value, key: "own") && own.fetch(key: "own", type: Settings.self) == value)
            #expect(bytes.fetch(key: "own")?.starts(with: Data("coded\n".utf8)) == true)
            #expect(throws: DecodingError.self) { _ = try store.fetch(key: "plist", type: Settings.self) }
            #expect(throws: EncodingError.self) { _ = try store.save(element: Double.nan, key: "nan") }
            #expect(store.delete(key: "json") && !store.delete(key: "json") && bytes["json"] == nil)
            // JSON unless said otherwise.
            #expect(
                try ObjectKeyValueStore(store: bytes).save(element: [1, 2], key: "array")
                    && bytes["array"] == Data("[1,2]".utf8))
        }

        /// A store of somebody else's, that has the four functions only.
        private struct OwnStore: KeyValueStore {
            let inner: KeychainStore

            func save(data: Data, key: String) -> Bool { inner.save(data: data, key: key) }
            func update(data: Data, key: String) -> Bool { inner.update(data: data, key: key) }
            func delete(key: String) -> Bool { inner.delete(key: key) }
            func fetch(key: String) -> Data? { inner.fetch(key: key) }
        }

        @Test("replace what a key has when it is saved again, and have a subscript (D12)")
        func replacing() throws {
            let store = KeychainStore(
                service: "s", accesibility: .whenUnlocked, securityClass: .genericPassword, logger: nil)
            store["k"] = Data("1".utf8)
            let reference = Keychain(service: "s")[attributes: "k"]?.persistentRef
            store["k"] = Data("2".utf8)
            #expect(store["k"] == Data("2".utf8) && reference != nil)
            // The same item, with the store's accessibility.
            let other = KeychainStore(
                service: "s", accesibility: .afterFirstUnlock, securityClass: .genericPassword, logger: nil)
            #expect(other.save(data: Data("3".utf8), key: "k"))
            let attributes = Keychain(service: "s")[attributes: "k"]
            #expect(
                attributes?.persistentRef == reference
                    && attributes?.accessible == kSecAttrAccessibleAfterFirstUnlock as String)
            store["k"] = nil
            #expect(store["k"] == nil && Keychain(service: "s").allKeys().isEmpty)
            var own = OwnStore(inner: store)
            own["k"] = Data("4".utf8)
            own = OwnStore(inner: other)
            #expect(own["k"] == Data("4".utf8))
        }

        private enum Credential: String, CaseIterable, Sendable {
            case pin, token, currentUser
        }

        @Test("keep credentials by type")
        func credentials() throws {
            let credentials = CredentialRepository<Credential>(service: "app", logger: logger)
            let other = CredentialRepository<Credential>(keychain: Keychain(service: "app", accessGroup: "g"))
            #expect(credentials.getCredential(.pin) == nil && credentials.delete(.pin))
            credentials.storeCredential("1234", type: .pin)
            #expect(
                credentials.storeCredential("5678", type: .pin) && credentials.storeCredential("t0ken", type: .token))
            #expect(credentials.getCredential(.pin) == "5678" && other.getCredential(.pin) == nil)
            try Keychain(service: "app").set("kept", key: "no type")
            credentials.delete(.token)
            #expect(
                credentials.getCredential(.token) == nil && credentials.deleteAll()
                    && credentials.getCredential(.pin) == nil)
            #expect(
                Keychain(service: "app")["no type"] == "kept" && !logged.contains("5678") && !logged.contains("t0ken"))
            #expect(logged.contains("type=pin") && logged.contains("action=store"))
            credentials.storeCredential("1", type: .pin)
            used.use(try openVault(used.path, writable: false))
            #expect(
                !credentials.storeCredential("2", type: .pin) && !credentials.delete(.pin) && !credentials.deleteAll())
            #expect(
                credentials.getCredential(.pin) == "1" && logged.contains("error credential failed")
                    && logged.contains("-25292"))
        }

        @Test("are wiped on a program's first run, and only then")
        func firstRun() throws {
            let name = "vaultfmt-test-\(UUID().uuidString)"
            let defaults = try #require(UserDefaults(suiteName: name))
            defer { defaults.removePersistentDomain(forName: name) }
            let credentials = CredentialRepository<Credential>(service: "app")
            credentials.storeCredential("left behind", type: .token)
            used.use(try openVault(used.path, writable: false))
            #expect(!FirstRun(defaults: defaults).wipe(credentials))
            used.use(used.vault)
            #expect(FirstRun(defaults: defaults).wipe(credentials) && credentials.getCredential(.token) == nil)
            credentials.storeCredential("new", type: .token)
            #expect(FirstRun(defaults: defaults).wipe(credentials) && credentials.getCredential(.token) == "new")
            #expect(
                FirstRun(defaults: defaults, key: "another").wipe(credentials)
                    && credentials.getCredential(.token) == nil)
        }
    }
}
