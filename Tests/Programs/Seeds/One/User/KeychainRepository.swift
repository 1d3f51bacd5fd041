// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation
import KeychainAccess

public enum KeychainCredentialType: String, CaseIterable {
    case pin, token, currentUser
}

public protocol KeychainRepositoryType: class {
    func storeCredential(_ string: String, type: KeychainCredentialType)
    func getCredential(_ type: KeychainCredentialType) -> String?
    func delete(_ type: KeychainCredentialType)
    func deleteAll()
}

public class KeychainRepository: KeychainRepositoryType {

    private let keychain = Keychain(service: "com.example.app")

    public func storeCredential(_ string: String, type: KeychainCredentialType) {
        do {
            try keychain.set(string, key: type.rawValue)
        } catch {
            print(error.localizedDescription)
        }
    }

    public func getCredential(_ type: KeychainCredentialType) -> String? {
        return keychain[type.rawValue]
    }

    public func delete(_ type: KeychainCredentialType) {
        keychain[type.rawValue] = nil
    }

    public func deleteAll() {
        for type in KeychainCredentialType.allCases {
            keychain[type.rawValue] = nil
        }
    }

}
