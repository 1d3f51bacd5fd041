// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation
import Logging

func Log() -> Logger { Logger(label: "com.example.app") }

/// What is stored between the snippet's two halves.
func useOfStore() -> (before: Data?, after: Data?) {
    var keychain = KeychainStore(service: "", groupId: nil, accesibility: .afterFirstUnlock, securityClass: .genericPassword, logger: Log())
    let dataToBeSaved: Data = Data("bytes".utf8)
    _ = keychain.save(data: dataToBeSaved, key: "yourKey")
    let before = keychain.fetch(key: "yourKey")

    // To Delete
    _ = keychain.delete(key: "yourKey")
    return (before, keychain.fetch(key: "yourKey"))
}
