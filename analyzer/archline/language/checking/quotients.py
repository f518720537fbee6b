"""Quotients of `int` data are reported, with a proposal that the place of their value decides.

Where an integer belongs, `//` alone can be meant; elsewhere a real division can, and the author has to choose.
"""

from __future__ import annotations

import re

from archline.language import syntax as s
from archline.language import type_rules as rules
from archline.language.checking.context import BodyContext
from archline.language.checking.scopes import SymbolEntry
from archline.language.proposals import propose_operator, propose_quotient
from archline.language.words import BIT_FUNCTIONS
from archline.records import replace

_INTEGER_TYPE = re.compile(r"[^=]*(?::|^)\s*(?:(?:in|out|inout)\s+)?(?:const\s+)?(?:int|size|index)\b")


def report_quotient(body: BodyContext, expr: s.Binary) -> None:
    """Report a quotient of integers; `expect_integer` improves the hint once the use of the value is known."""
    if any(earlier.rule is rules.INT_DIVISION and earlier.span == expr.span for earlier in body.findings.diagnostics):
        return
    body.report(rules.INT_DIVISION, "`/` of `int` data may round", expr.span, propose_quotient(expr))
    last = body.findings.diagnostics[-1]
    if last.span == expr.span:
        body.quotients[expr] = last


def report_divided_place(body: BodyContext, symbol: SymbolEntry, statement: s.Assign) -> None:
    """Report an update `/=` of an integer register or element."""
    words = "write `{}`, which rounds down"
    hint: str = propose_operator(statement.target, "/=", "//=", words)
    if not is_place_of_integers(body, symbol):
        words += f", or let `{symbol.name}` be a real from the start"
        # A register that begins with a quotient is a real once that is one.
        starts = (local.value for local in s.find_nodes(body.algorithm.body, s.Local) if local.name == symbol.name)
        real = any(quotient.op == "/" for start in starts for quotient in s.find_nodes(start, s.Binary))
        hint = propose_operator(statement.target, "/=", "//=", words, safe=False)
        hint = str(hint) if real else hint
    body.report(rules.INT_DIVISION, "`/=` of `int` data may round", statement.span, hint)


def expect_integer(body: BodyContext, expr: s.Expr) -> None:
    """Propose `//` for the reported quotients in an expression whose value has to be an integer."""
    if isinstance(expr, s.Binary) and expr in body.quotients:
        reported = body.quotients.pop(expr)
        hint = propose_operator(expr.left, "/", "//", "write `{}`, which rounds down")
        body.findings.replace(reported, replace(reported, hint=hint))
    if body.quotients:
        for part in _list_integer_operands(expr):
            expect_integer(body, part)


def _list_integer_operands(expr: s.Expr) -> tuple[s.Expr, ...]:
    """Return the operands that have to be integers if the value has; that of `ceil`, which rounds up, has not."""
    match expr:
        case s.Unary(operand=operand):
            return (operand,)
        case s.Binary(op="+" | "-" | "*" | "/" | "//" | "%", left=left, right=right):
            return left, right
        case s.Call(function=function, arguments=arguments) if function in ("min", "max", "abs", "floor"):
            return arguments
        case s.Call(function=function, arguments=arguments) if function in BIT_FUNCTIONS:
            return arguments
        case _:
            return ()


def is_place_of_integers(body: BodyContext, symbol: SymbolEntry) -> bool:
    """Whether a register or an array is declared for integers, or is used as an index, a bound or the like."""
    return _INTEGER_TYPE.match(symbol.span.text) is not None or _is_used_as_integer(body, symbol.name)


def is_result_type_written(algorithm: s.Algorithm) -> bool:
    """Whether the author wrote the type of an algorithm's result."""
    name = algorithm.name_span
    return re.search(r"->|\breturns\b", name.source.lines[name.line - 1]) is not None


def _is_used_as_integer(body: BodyContext, name: str) -> bool:
    """Whether a name is part of a subscript, a bound, an exponent or an operation on integers, or passed as one."""
    for node in s.iterate_nodes(body.algorithm.body):
        match node:
            case s.Element(subscripts=parts):
                used: tuple[s.Node | None, ...] = parts
            case s.Loop(lo=lo, hi=hi, step=step):
                used = lo, hi, step
            case s.Binary(op="//" | "%", left=left, right=right):
                used = left, right
            case s.Binary(op="^", right=exponent):
                used = (exponent,)
            case s.Call(function=function, arguments=arguments) if function in BIT_FUNCTIONS:
                used = arguments
            case s.Call(function=function, arguments=arguments) if function in body.library.visible:
                header = body.library.visible[function].header
                used = tuple(
                    argument
                    for parameter, argument in zip(header, arguments, strict=False)
                    if isinstance(argument, s.Name) and getattr(parameter.type, "element", "int") == "int"
                )
            case _:
                # Other nodes take reals too.
                continue
        if name in s.find_names(tuple(part for part in used if part is not None)):
            return True
    return False
