import Foundation
import KeychainAccess

@testable import SeedsOne
@testable import SeedsThree
@testable import SeedsTwo

/// Prints one line for each thing that a snippet did, for the test to compare.
func line(_ what: String, _ value: Any?) { print("\(what): \(value ?? "nothing")") }

let user = SeedsOne.KeychainRepository()
line("user before", UserManager.currentUser?.name)
refreshCurrentUser()
line("user", UserManager.currentUser?.name)
line("user stored", user.getCredential(.currentUser).map { $0.contains("ann@example.org") })
UserManager.currentUser = nil
line("user after", user.getCredential(.currentUser))

let token = SeedsThree.KeychainRepository()
token.storeCredential("t0ken", type: .token)
token.storeCredential("1234", type: .pin)
token.storeCredential("t0ken 2", type: .token)
line("token", token.getCredential(.token))
line("token elsewhere", user.getCredential(.token))
token.delete(.token)
line("token after", token.getCredential(.token))
line("pin", token.getCredential(.pin))

SeedsTwo.applicationHasLaunched()
line("pin after the first run", token.getCredential(.pin))
token.storeCredential("5678", type: .pin)
SeedsTwo.applicationHasLaunched()
line("pin after the second run", token.getCredential(.pin))
token.deleteAll()
line("pin after all", token.getCredential(.pin))

let store = SeedsOne.useOfStore()
line("store", store.before.map { String(decoding: $0, as: UTF8.self) })
line("store after", store.after)
let certificates = SeedsOne.KeychainStore(accesibility: .whenUnlocked, securityClass: .genericPassword, logger: nil)
line("store saves", certificates.save(data: Data("1".utf8), key: "k"))
line("store saves again", certificates.save(data: Data("2".utf8), key: "k"))
line("store updates", certificates.update(data: Data("3".utf8), key: "k"))
line("store has", SeedsOne.KeychainStore().fetch(key: "k").map { String(decoding: $0, as: UTF8.self) })

SeedsTwo.callSave()
SeedsOne.callRead()
SeedsTwo.callSave()
SeedsOne.KeychainHelper.standard.save(Data("updated".utf8), service: "access-token", account: "facebook")
SeedsOne.callRead()
SeedsOne.callDelete()
line("helper after", SeedsOne.KeychainHelper.standard.read(service: "access-token", account: "facebook"))
SeedsOne.callSave()
SeedsOne.callRead()
