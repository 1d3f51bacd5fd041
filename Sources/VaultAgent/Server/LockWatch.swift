/// Tells the agent, in the agent's thread, when to lock its vault: for example, when logind reports that the session is
/// locked.
package protocol LockWatch: AnyObject {
    /// The descriptor and events to wait for, as for poll(2); nil if there are none.
    var wait: (descriptor: Int32, events: Int16)? { get }
    /// When to call `serve` at the latest, in milliseconds of the agent's clock; nil if nothing expires.
    var nextEnd: UInt64? { get }
    /// Processes incoming events without waiting, and locks the vault if necessary. It is called before each wait.
    func serve(_ vault: ServedVault, now: UInt64)
}
