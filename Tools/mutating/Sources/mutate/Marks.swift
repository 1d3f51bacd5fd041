import SwiftOperators
import SwiftParser
import SwiftSyntax

/// The checks of one file, and its text with a mark at each.
struct Marks {
    enum Kind: String {
        /// A Boolean operand of a `guard` that refuses if it is false.
        case needed
        /// A Boolean operand of an `if` that refuses if it is true.
        case refused
        /// A statement that is only a call which may throw.
        case call
        /// Such a call that has no other effect.
        case check
        /// A refusal that no Boolean decides: of an optional binding, a pattern or a case. It is not mutated; whether
        /// it is reached is told.
        case reached
    }

    struct Mark {
        let kind: Kind
        let line: Int
        let text: String
        fileprivate let start: Int
        fileprivate let end: Int
    }

    private(set) var all: [Mark] = []
    private let bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
        let parsed = Parser.parse(source: text)
        // Operators have a precedence from here on; what is not foldable stays as it is.
        let folded = OperatorTable.standardOperators.foldAll(parsed) { _ in }
        let finder = Finder(SourceLocationConverter(fileName: "", tree: folded))
        finder.walk(folded)
        all = finder.marks.sorted { $0.start < $1.start }
    }

    func rewritten(from first: Int) -> String {
        var inserted: [(at: Int, order: Int, text: String)] = []
        for (index, mark) in all.enumerated() {
            let number = first + index
            switch mark.kind {
            case .needed, .refused:
                inserted.append((mark.start, index, "mutant_check(\(number), "))
                inserted.append((mark.end, -index, ")"))
            case .call, .check:
                inserted.append((mark.start, index, "if mutant_entered(\(number)) { "))
                inserted.append((mark.end, -index, "; mutant_left(\(number)) }"))
            case .reached: inserted.append((mark.start, index, " mutant_reached(\(number)); "))
            }
        }
        // At one place, what ends comes before what begins; of several that end, the innermost first.
        inserted.sort { ($0.at, $0.order) < ($1.at, $1.order) }
        var out: [UInt8] = Array("internal import CMutants\n".utf8)
        var position = 0
        for one in inserted {
            out += bytes[position..<one.at]
            out += one.text.utf8
            position = one.at
        }
        return String(decoding: out + bytes[position...], as: UTF8.self)
    }

    /// Walks through a file's syntax.
    private final class Finder: SyntaxVisitor {
        private(set) var marks: [Mark] = []
        private let converter: SourceLocationConverter

        init(_ converter: SourceLocationConverter) {
            self.converter = converter
            super.init(viewMode: .sourceAccurate)
        }

        private func mark(_ kind: Kind, _ node: some SyntaxProtocol, at start: AbsolutePosition? = nil) {
            let start = start ?? node.positionAfterSkippingLeadingTrivia
            let text = node.trimmedDescription.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            marks.append(
                Mark(
                    kind: kind, line: converter.location(for: node.positionAfterSkippingLeadingTrivia).line, text: text,
                    start: start.utf8Offset, end: node.endPositionBeforeTrailingTrivia.utf8Offset))
        }

        override func visit(_ node: GuardStmtSyntax) -> SyntaxVisitorContinueKind {
            if refuses(node.body) { take(node.conditions, .needed, node.body) }
            return .visitChildren
        }

        override func visit(_ node: IfExprSyntax) -> SyntaxVisitorContinueKind {
            if refuses(node.body), node.elseBody == nil { take(node.conditions, .refused, node.body) }
            return .visitChildren
        }

        override func visit(_ node: SwitchCaseSyntax) -> SyntaxVisitorContinueKind {
            if let first = node.statements.first, first.item.is(ThrowStmtSyntax.self), node.statements.count == 1 {
                mark(.reached, first)
            }
            return .visitChildren
        }

        override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
            if let name = called(node.item), !isValue(node) {
                mark(Self.pure.contains(name) ? .check : .call, node.item)
            }
            return .visitChildren
        }

        /// Functions whose one effect is to throw.
        private static let pure: Set = ["check", "checkHash", "checkText", "finish", "requireSound", "text"]

        /// What writes is not a part of reading.
        override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
            ["encode", "encoded", "seal", "make", "wrap"].contains(node.name.text) ? .skipChildren : .visitChildren
        }

        /// Whether it ends in refusing: it throws, or returns that it found nothing, for its caller to throw.
        private func refuses(_ body: CodeBlockSyntax) -> Bool {
            guard let last = body.statements.last?.item else { return false }
            if last.is(ThrowStmtSyntax.self) { return true }
            guard let value = last.as(ReturnStmtSyntax.self)?.expression else { return false }
            return value.is(NilLiteralExprSyntax.self)
                || value.as(BooleanLiteralExprSyntax.self)?.literal.text == "false"
        }

        private func take(_ conditions: ConditionElementListSyntax, _ kind: Kind, _ body: CodeBlockSyntax) {
            var isPattern = false
            for element in conditions {
                if case .expression(let expression) = element.condition {
                    operands(of: expression, kind)
                } else {
                    isPattern = true
                }
            }
            guard isPattern else { return }
            let start = body.leftBrace.endPositionBeforeTrailingTrivia
            mark(.reached, conditions, at: start)
        }

        private func operands(of expression: ExprSyntax, _ kind: Kind) {
            if let both = expression.as(InfixOperatorExprSyntax.self),
                let name = both.operator.as(BinaryOperatorExprSyntax.self)?.operator.text, ["&&", "||"].contains(name)
            {
                operands(of: both.leftOperand, kind)
                return operands(of: both.rightOperand, kind)
            }
            if let inner = expression.as(TupleExprSyntax.self), inner.elements.count == 1,
                let only = inner.elements.first
            {
                return operands(of: only.expression, kind)
            }
            if let tried = expression.as(TryExprSyntax.self), tried.questionOrExclamationMark == nil {
                return operands(of: tried.expression, kind)
            }
            mark(kind, expression)
        }

        /// The name of f in `try f(…)` or `_ = try f(…)`, whose value nobody uses.
        private func called(_ item: CodeBlockItemSyntax.Item) -> String? {
            guard var expression = item.as(ExprSyntax.self) else { return nil }
            if let both = expression.as(InfixOperatorExprSyntax.self), both.operator.is(AssignmentExprSyntax.self),
                both.leftOperand.is(DiscardAssignmentExprSyntax.self)
            {
                expression = both.rightOperand
            }
            guard let call = expression.as(TryExprSyntax.self)?.expression.as(FunctionCallExprSyntax.self) else {
                return nil
            }
            if let name = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text { return name }
            let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName
            return name?.tokenKind == .keyword(.`init`) ? nil : name?.text
        }

        /// Whether this is the only statement of a body that returns its value.
        private func isValue(_ node: CodeBlockItemSyntax) -> Bool {
            guard let list = node.parent?.as(CodeBlockItemListSyntax.self), list.count == 1, let block = list.parent
            else { return false }
            if block.is(ClosureExprSyntax.self) || block.is(AccessorBlockSyntax.self) || block.is(SwitchCaseSyntax.self)
            {
                return true
            }
            guard let owner = block.as(CodeBlockSyntax.self)?.parent else { return false }
            if let function = owner.as(FunctionDeclSyntax.self) { return function.signature.returnClause != nil }
            return owner.is(AccessorDeclSyntax.self) || owner.is(DoStmtSyntax.self)
        }
    }
}
