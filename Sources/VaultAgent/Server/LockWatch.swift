/// What tells the agent when its vault is to be locked, in the agent's thread: such as logind, when the session is locked.
package protocol LockWatch: AnyObject {
    /// What to wait for, as for poll(2); nil if for nothing.
    var wait: (descriptor: Int32, events: Int16)? { get }
    /// When to serve at the latest, in milliseconds of the agent's clock; nil if nothing expires.
    var nextEnd: UInt64? { get }
    /// Takes what it has been told, without waiting, and locks the vault if it must be. It is called before each wait.
    func serve(_ vault: ServedVault, now: UInt64)
}
