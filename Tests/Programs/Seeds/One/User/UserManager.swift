// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation

public class UserManager {

    private static let keychain = KeychainRepository()

    static var currentUser: User? {
        get {
            if let serializedUserJson = keychain.getCredential(.currentUser) {
                let serializedUserData = Data(serializedUserJson.utf8)
                let decoder = JSONDecoder()
                return try? decoder.decode(User.self, from: serializedUserData)
            }
            return nil

        }
        set {
            if let user = newValue {
                // If there is a new value, set it
                let encoder = JSONEncoder()
                if let serializedUserData = try? encoder.encode(user), let serializedUserJson = String(data: serializedUserData, encoding: .utf8) {
                    keychain.storeCredential(serializedUserJson, type: .currentUser)
                }
            } else {
                // Otherwise delete from cache
                keychain.delete(.currentUser)
            }
        }
    }
}
