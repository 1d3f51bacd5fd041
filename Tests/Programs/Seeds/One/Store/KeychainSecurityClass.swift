// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
public enum KeychainSecurityClass {
    case internetPassword
    case genericPassword
    case certificate
    case key
    case identity
}
