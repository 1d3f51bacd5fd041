// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import KeychainAccess
import SecItem

extension Idiom {
    /// Accessibilities and access controls: the protection is the one asked for.
    static let protecting: [Idiom] = [
        Idiom(
            "makes an access control with kCFAllocatorDefault and a bare constant: nobody who refuses gets the secret",
            seen: "auth0/SimpleKeychain SimpleKeychain/SimpleKeychain.swift"
        ) { _ in
            SecItemVault.setAuthentication { _ in false }
            let accessible: CFString = kSecAttrAccessibleAfterFirstUnlock
            let flags: SecAccessControlCreateFlags? = .userPresence
            var item = generic("k", [kSecValueData as String: bytes("1")])
            if let flags, let access = SecAccessControlCreateWithFlags(kCFAllocatorDefault, accessible, flags, nil) {
                item[kSecAttrAccessControl as String] = access
            }
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            var result: AnyObject?
            return SecItemCopyMatching(generic("k", [kSecReturnData as String: true]) as CFDictionary, &result)
                == errSecAuthFailed
                && result == nil
        },
        Idiom(
            "reads with the access control in the query, a prompt and a context: asked once, and the secret is there",
            seen: "Ostorlab/KB MOBILE_CLIENT/IOS/_HIGH/kEYCHAIN_LACK_PROTECTION/recommendation.md"
        ) { _ in
            let asked = Lines()
            SecItemVault.setAuthentication {
                asked.add("\($0.flags.rawValue) \($0.prompt ?? "none")")
                return true
            }
            func access() -> SecAccessControl {
                var error: Unmanaged<CFError>?
                let access = SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, .biometryCurrentSet, &error)
                precondition(access != nil, "SecAccessControlCreateWithFlags failed")
                return access!
            }
            let item =
                [
                    kSecClass as String: kSecClassGenericPassword as String, kSecAttrAccount as String: "k",
                    kSecAttrAccessControl as String: access(), kSecValueData as String: bytes("1"),
                ] as CFDictionary
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k",
                kSecReturnData as String: kCFBooleanTrue as Any, kSecAttrAccessControl as String: access(),
                kSecMatchLimit as String: kSecMatchLimitOne,
            ]
            query[kSecUseOperationPrompt as String] = "Unlock"
            var result: AnyObject?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            return status == noErr && text(result) == "1" && asked.all == ["8 Unlock"]
        },
        Idiom(
            "protects with .userPresence in [String: AnyObject], and replaces what is there by deleting first",
            seen: "futuredapp/FTPropertyWrappers Sources/FTPropertyWrappers/KeychainStorage.swift"
        ) { _ in
            SecItemVault.setAuthentication { $0.flags == .userPresence }
            for secret in ["1", "2"] {
                var item: [String: AnyObject] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k" as AnyObject,
                ]
                SecItemDelete(item as CFDictionary)
                item[kSecValueData as String] = bytes(secret) as AnyObject
                let control = SecAccessControlCreateWithFlags(
                    kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .userPresence, nil)
                item[kSecAttrAccessControl as String] = control!
                guard SecItemAdd(item as CFDictionary, nil) == noErr else { return false }
            }
            return stored("k") == "2"
        },
        Idiom(
            "names any biometry by its older and newer names, which are the same flags",
            seen: "OWASP/owasp-mastg demos/ios/MASVS-AUTH/MASTG-DEMO-0045/MASTG-DEMO-0045.md"
        ) { _ in
            let names: [SecAccessControlCreateFlags] = [
                .biometryAny, .touchIDAny, .biometryCurrentSet, .touchIDCurrentSet, .watch, .companion,
            ]
            return names.map(\.rawValue) == [2, 2, 8, 8, 32, 32]
                && SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlocked, [.biometryAny, .or, .devicePasscode], nil) != nil
        },
        Idiom(
            "gets a CFError for what is no accessibility",
            seen: "Ostorlab/KB MOBILE_CLIENT/IOS/_HIGH/kEYCHAIN_LACK_PROTECTION/recommendation.md"
        ) { _ in
            var error: Unmanaged<CFError>?
            let control = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, "no such" as CFString, .userPresence, &error)
            guard control == nil, let thrown = error?.takeRetainedValue() as Error? else { return false }
            return (thrown as NSError).code == Int(errSecParam)
        },
        Idiom(
            "stores with an accessibility in [CFString: Any]: readable when it says, and it is returned",
            seen: "cely-tools/docs docs/includes/understanding_keychain/5_accessibility.md"
        ) { used in
            for (account, accessible) in [
                ("a", kSecAttrAccessibleWhenUnlocked), ("b", kSecAttrAccessibleAfterFirstUnlock),
            ] {
                let item: [CFString: Any] = [
                    kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecAttrAccessible: accessible,
                    kSecValueData: bytes(account),
                ]
                guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            }
            used.vault.lock()
            var result: CFTypeRef?
            SecItemCopyMatching(generic("b", [kSecReturnAttributes as String: true]) as CFDictionary, &result)
            return stored("a") == nil && stored("b") == "b"
                && (result as? [CFString: Any])?[kSecAttrAccessible] as? String as CFString?
                    == kSecAttrAccessibleAfterFirstUnlock
        },
        Idiom(
            "names an accessibility and an access control that disagree: refused in every function, every time",
            seen: "Apple, Security (open source) SecDbQuery.c: conflicting protections are an error"
        ) { _ in
            SecItemVault.setAuthentication { _ in true }
            add("k")
            let control = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, .userPresence, nil)!
            let both: [String: Any] = [
                kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked, kSecAttrAccessControl as String: control,
            ]
            // The order of a dictionary depends on its capacity.
            for round in 0..<50 {
                var more = both
                more.reserveCapacity(1 << (round % 10))
                guard SecItemAdd(generic("new", more) as CFDictionary, nil) == errSecParam,
                    SecItemUpdate(generic("k") as CFDictionary, more as CFDictionary) == errSecParam,
                    SecItemCopyMatching(generic("k", more) as CFDictionary, nil) == errSecParam,
                    SecItemDelete(generic("k", more) as CFDictionary) == errSecParam
                else { return false }
            }
            return count() == 1
        },
        Idiom(
            "adds again what it read, attributes as they are: accessibility and access control agree",
            seen: "Apple, SecItemCopyMatching: attribute results"
        ) { _ in
            add("k", service: "s")
            var result: CFTypeRef?
            let query = generic(
                "k", service: "s", [kSecReturnAttributes as String: true, kSecReturnData as String: true])
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                var item = result as? [String: Any]
            else {
                return false
            }
            guard SecItemDelete(generic("k", service: "s") as CFDictionary) == errSecSuccess else { return false }
            item[kSecClass as String] = kSecClassGenericPassword
            return SecItemAdd(item as CFDictionary, nil) == errSecSuccess && stored("k", service: "s") == "secret k"
        },
        Idiom(
            "skips or fails where somebody would be asked",
            seen: "square/Valet Sources/SecureEnclave.swift"
        ) { _ in
            SecItemVault.setAuthentication { _ in true }
            let control = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .touchIDAny, nil)!
            SecItemAdd(generic("k", [kSecAttrAccessControl as String: control]) as CFDictionary, nil)
            func status(_ more: [String: Any]) -> OSStatus {
                SecItemCopyMatching(generic("k", more) as CFDictionary, nil)
            }
            return status([kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail])
                == errSecInteractionNotAllowed
                && status([kSecUseAuthenticationUI as String: kSecUseAuthenticationUISkip]) == errSecItemNotFound
                && status([kSecUseNoAuthenticationUI as String: true]) == errSecInteractionNotAllowed
                && status([kSecUseAuthenticationUI as String: kSecUseAuthenticationUIAllow]) == errSecSuccess
        },
    ]
}
