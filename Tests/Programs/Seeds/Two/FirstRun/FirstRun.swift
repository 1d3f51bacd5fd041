// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation

func applicationHasLaunched() {
// Do this first thing after the app has finished launching
let userDefaults = UserDefaults.standard

if userDefaults.bool(forKey: "hasRunBefore") == false {
 // Remove Keychain items
 KeychainRepository().deleteAll()

 // Update the flag indicator
 userDefaults.set(true, forKey: "hasRunBefore")
 userDefaults.synchronize() // Forces the app to update UserDefaults
}
}
