// The work of a vault, as peer/sqlcipher.c does it: one JSON object on standard output; microseconds and bytes.
//
//     bench work NAME PATH ITEMS [VARIANT]    one kind of work; `fill` makes the vault: usual, forgetful or scoped
//     bench shape PATH                        what a vault consists of
//     bench growth PATH ITEMS CHANGES         so many random changes of a vault that is there
//     bench large set|get PATH                one secret of 16 MiB
//     bench slots raw|passphrases PATH         a vault of 64 slots
//     bench merge NAME PATH ITEMS CHANGES      two copies with so many changes each: prepare, merge, transaction
//     bench operation NAME PATH ITEMS COUNT   one kind of work so many times, for profilers
import Glibc
import VaultFmt

func number(_ index: Int) -> Int {
    guard index < CommandLine.arguments.count, let value = Int(CommandLine.arguments[index]) else {
        preconditionFailure("a number is missing")
    }
    return value
}

do throws(VaultError) {
    let arguments = CommandLine.arguments
    switch arguments.count > 2 ? arguments[1] : "" {
    case "work":
        if arguments.count > 5 {
            guard let variant = Variant(rawValue: arguments[5]) else {
                preconditionFailure("usual, forgetful or scoped")
            }
            Workload.variant = variant
        }
        print(try Work.run(arguments[2], arguments[3], items: number(4)).json)
    case "shape": print(try Shape.figures(arguments[2]).json)
    case "growth": print(try Growth.run(arguments[2], items: number(3), changes: number(4)).json)
    case "large": print(try Large.run(arguments[2], arguments[3]).json)
    case "slots": print(try Slots.run(arguments[2], arguments[3]).json)
    case "merge": print(try Merge.run(arguments[2], arguments[3], items: number(4), changes: number(5)).json)
    case "operation": try Operations.run(arguments[2], arguments[3], items: number(4), count: number(5))
    default: preconditionFailure("work, shape, growth, large, slots, merge or operation")
    }
} catch {
    print("bench: \(error)")
    exit(1)
}
