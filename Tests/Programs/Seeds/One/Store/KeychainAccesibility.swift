// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
public enum KeychainAccesibility {
    case whenUnlocked
    case afterFirstUnlock
    case whenPasscodeSetThisDeviceOnly
    case whenUnlockedThisDeviceOnly
    case afterFirstUnlockThisDeviceOnly
}
