// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation

func callSave() {
    let accessToken = "dummy-access-token"
    let data = Data(accessToken.utf8)
    KeychainHelper.standard.save(data, service: "access-token", account: "facebook")
}

func callRead() {
    let data = KeychainHelper.standard.read(service: "access-token", account: "facebook")!
    let accessToken = String(data: data, encoding: .utf8)!
    print(accessToken)
}

func callDelete() {
    KeychainHelper.standard.delete(service: "access-token", account: "facebook")
}
