// The snippet as it is; README.md beside this folder lists what was added.
// swift-format-ignore-file
import Foundation

struct User: Codable, Equatable {
    var name: String
    var email: String
}

enum ConnectionManager {
    static func getCurrentUser(_ completion: (User?) -> Void) { completion(User(name: "Ann Example", email: "ann@example.org")) }
}

func refreshCurrentUser() {
ConnectionManager.getCurrentUser { user in
  UserManager.currentUser = user
}
}
