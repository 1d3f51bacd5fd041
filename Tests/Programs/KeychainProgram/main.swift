import Foundation
import KeychainAccess
import SecItem

// Does one thing with the vault that its environment says, as any program would, and prints what came out: a process of
// its own for tests.

let arguments = Array(CommandLine.arguments.dropFirst())
let keychain = Keychain(service: "program")

func argument(_ index: Int) -> String { index < arguments.count ? arguments[index] : "" }

/// Of the item that a command's first argument names.
func query(_ more: [String: Any] = [:]) -> [String: Any] {
    let item: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "program",
        kSecAttrAccount as String: argument(1),
    ]
    return item.merging(more) { _, new in new }
}

do {
    switch argument(0) {
    case "set": try keychain.set(argument(2), key: argument(1))
    case "set-on-this-device":
        try keychain.accessibility(.whenUnlockedThisDeviceOnly).set(argument(2), key: argument(1))
    case "get": print(try keychain.get(argument(1)) ?? "nothing")
    case "remove": try keychain.remove(argument(1))
    case "keys": for key in keychain.allKeys() { print(key) }
    case "fill":
        // Many small changes of its own, and of one item that others change too.
        for number in 0..<(Int(argument(2)) ?? 0) {
            try keychain.set("\(number)", key: "\(argument(1))-\(number)")
            try keychain.set(argument(1), key: "shared")
        }
    case "lock-and-get":
        try Keychain.lock()
        print((try? keychain.get(argument(1))) ?? "refused")
        try Keychain.unlock()
        print(try keychain.get(argument(1)) ?? "nothing")
    case "service": print(Keychain().service)
    case "status":
        let query =
            [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "program",
                kSecReturnData as String: true,
            ]
            as CFDictionary
        print(SecItemCopyMatching(query as CFDictionary, nil))
    case "secitem-get":
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query([kSecReturnData as String: true]) as CFDictionary, &result)
        guard status == errSecSuccess, let data = result as? Data else { throw Status(status: status) }
        print(String(decoding: data, as: UTF8.self))
    case "secitem-set":
        let status = SecItemUpdate(
            query() as CFDictionary, [kSecValueData as String: Data(argument(2).utf8)] as CFDictionary)
        guard status == errSecSuccess else { throw Status(status: status) }
    case "readme": try passwords()
    default: print("no such command")
    }
} catch let status as Status {
    print("status \(status.rawValue): \(Keychain.lastFailure ?? "")")
    exit(1)
}
