// `Secret`, `VaultError`, `ReaderLimits` and `TailState` are part of this library's interface.
@_exported public import VaultCrypto
@_exported public import VaultStore
