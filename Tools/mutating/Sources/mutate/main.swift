import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

// mutate ROOT COPY TABLE FILE…: rewrites each FILE of ROOT into COPY, so that every check in it can be switched off by
// its number (see Marks.swift), and writes what the numbers are to TABLE, a line each: number, kind, file, line, and
// the check's text, separated by tabs.

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 4 else {
    FileHandle.standardError.write(Data("usage: mutate ROOT COPY TABLE FILE…\n".utf8))
    exit(64)
}
let words = Array(arguments)
var number = 1
var table = ""
for file in words[3...] {
    let text = try String(contentsOfFile: words[0] + "/" + file, encoding: .utf8)
    let marks = Marks(text)
    let out = words[1] + "/" + file
    let rewritten = marks.rewritten(from: number)
    try rewritten.write(toFile: out, atomically: true, encoding: .utf8)
    for (index, mark) in marks.all.enumerated() {
        table += "\(number + index)\t\(mark.kind.rawValue)\t\(file)\t\(mark.line)\t\(mark.text)\n"
    }
    number += marks.all.count
}
try table.write(toFile: words[2], atomically: true, encoding: .utf8)
