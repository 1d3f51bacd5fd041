internal import Fuzzing
internal import VaultAgent
internal import VaultCrypto

/// What strangers send to the ssh agent, and what it reads of items: the first byte says which.
public enum AgentTarget {
    /// The inputs, in the order of the first byte.
    public enum Form: UInt8, CaseIterable, Sendable {
        /// Messages of one connection, each after its length.
        case messages
        /// The secret of an item.
        case key
        /// The line of a certificate.
        case certificate
    }

    /// Runs one input; traps if a property does not hold, or if it takes too long.
    public static func run(_ input: UnsafeRawBufferPointer) {
        do { try InputTime.limited(bytes: input.count) { try check(input) } } catch { fatalError("agent: \(error)") }
    }

    /// Checks that each message has one reply of a known kind, and that what is refused is refused in one line; throws if
    /// it is not so.
    public static func check(_ input: UnsafeRawBufferPointer) throws {
        guard let first = input.first, let form = Form(rawValue: first % UInt8(Form.allCases.count)) else { return }
        let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        do throws(AgentError) {
            switch form {
            case .messages: break
            case .key: _ = try StoredKey.read(Secret(copying: rest)).publicKey
            case .certificate: _ = try Certificate.read(line: String(decoding: rest, as: UTF8.self))
            }
        } catch {
            guard !error.message.isEmpty, !error.message.contains("\n") else {
                throw Mismatch("a refusal is not one line: \(error.message)")
            }
        }
        if form == .messages { try converse(rest) }
    }

    /// The kinds of replies: failure, success, identities, a signature, and those of extensions.
    private static let replies: Set<UInt8> = [5, 6, 12, 14, 28, 29]

    private static func converse(_ input: UnsafeRawBufferPointer) throws {
        let vault = ServedVault(
            path: "none", groups: [], limits: .init(), vault: nil, isKept: false, now: 0, reopening: { nil })
        let service = AgentService(vault, canConfirm: true)
        var client = AgentService.Client(peer: AgentPeer(process: 1, program: "fuzz"), isControl: false)
        var rest = input[...]
        var now: UInt64 = 0
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
            let message = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length)))
            rest = rest.dropFirst(message.count)
            now += 1000
            for isConfirmed in [false, true] {
                let answer = service.answer(message, from: &client, isConfirmed: isConfirmed, now: now)
                guard case .reply(let reply) = answer else { continue }
                guard let kind = reply.first, replies.contains(kind), reply.count <= AgentMessage.longest else {
                    throw Mismatch(
                        "a reply of \(reply.count) bytes begins with \(reply.first.map(String.init) ?? "none")")
                }
                break
            }
        }
    }
}
