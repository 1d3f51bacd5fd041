import KeychainAccess

print("x")
