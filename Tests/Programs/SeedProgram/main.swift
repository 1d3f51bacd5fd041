import Foundation
import KeychainAccess

@testable import SeedFirstRun
@testable import SeedHelper
@testable import SeedHelperSave
@testable import SeedStore
@testable import SeedToken
@testable import SeedUser

/// Prints one line for each thing that a snippet did, for the test to compare.
func line(_ what: String, _ value: Any?) { print("\(what): \(value ?? "nothing")") }

let user = SeedUser.KeychainRepository()
line("user before", UserManager.currentUser?.name)
refreshCurrentUser()
line("user", UserManager.currentUser?.name)
line("user stored", user.getCredential(.currentUser).map { $0.contains("ann@example.org") })
UserManager.currentUser = nil
line("user after", user.getCredential(.currentUser))

let token = SeedToken.KeychainRepository()
token.storeCredential("t0ken", type: .token)
token.storeCredential("1234", type: .pin)
token.storeCredential("t0ken 2", type: .token)
line("token", token.getCredential(.token))
line("token elsewhere", user.getCredential(.token))
token.delete(.token)
line("token after", token.getCredential(.token))
line("pin", token.getCredential(.pin))

SeedFirstRun.applicationHasLaunched()
line("pin after the first run", token.getCredential(.pin))
token.storeCredential("5678", type: .pin)
SeedFirstRun.applicationHasLaunched()
line("pin after the second run", token.getCredential(.pin))
token.deleteAll()
line("pin after all", token.getCredential(.pin))

let store = SeedStore.useOfStore()
line("store", store.before.map { String(decoding: $0, as: UTF8.self) })
line("store after", store.after)
let certificates = SeedStore.KeychainStore(accesibility: .whenUnlocked, securityClass: .genericPassword, logger: nil)
line("store saves", certificates.save(data: Data("1".utf8), key: "k"))
line("store saves again", certificates.save(data: Data("2".utf8), key: "k"))
line("store updates", certificates.update(data: Data("3".utf8), key: "k"))
line("store has", SeedStore.KeychainStore().fetch(key: "k").map { String(decoding: $0, as: UTF8.self) })

SeedHelperSave.callSave()
SeedHelper.callRead()
SeedHelperSave.callSave()
SeedHelper.KeychainHelper.standard.save(Data("updated".utf8), service: "access-token", account: "facebook")
SeedHelper.callRead()
SeedHelper.callDelete()
line("helper after", SeedHelper.KeychainHelper.standard.read(service: "access-token", account: "facebook"))
SeedHelper.callSave()
SeedHelper.callRead()
