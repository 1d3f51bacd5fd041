// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation
import SecItem

final class KeychainHelper {
    
    static let standard = KeychainHelper()
    private init() {}
    
    func save(_ data: Data, service: String, account: String) {
    
        // Create query
        let query = [
            kSecValueData: data,
            kSecClass: kSecClassGenericPassword,
            kSecAttrService: service,
            kSecAttrAccount: account,
        ] as CFDictionary
    
        // Add data in query to keychain
        let status = SecItemAdd(query, nil)
    
        if status != errSecSuccess {
            // Print out the error
            print("Error: \(status)")
        }
    }
}
