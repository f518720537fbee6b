"""Changes of printed forms: each makes another form of it, so that a row that held differs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archline.expr.text import format_expression, format_fact
from archline.language import syntax as s
from archline.papers.rows import PrintedRow
from archline.records import replace

TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "<"}
RANGE = ("machines", "cases")
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*"}


def changes(row: PrintedRow) -> Iterator[PrintedRow]:
    """The row with other texts printed; of claims also over a wider range."""
    yield from map(row.with_printed, changed_texts(row))
    if row.kind in ("claim", "run"):
        yield from widened(row)


def changed_texts(row: PrintedRow) -> Iterator[str]:
    """Texts that a row might print instead."""
    match row.kind:
        case "cell" | "crossing":
            yield from changed_numbers(row)
        case "units":
            yield from changed_units(row)
        case "claim" | "run":
            yield from changed_claims(row)
        case "growth":
            yield from changed_orders(row)
        case _:
            # A name by itself has the exponent 1.
            yield from [written(each) for each in changed(row.relation)] or [f"{written(row.relation)}^2"]


def written(expr: s.Expr) -> str:
    return format_fact(expr) if isinstance(expr, s.Binary) and expr.op in TURNED else format_expression(expr)


def changed(expr: s.Expr) -> Iterator[s.Expr]:
    """Each constant, sign, operator and relation of a form changed, one at a time."""
    match expr:
        case s.Integer(value=value):
            yield replace(expr, value=value + 1)
        case s.Real(text=text):
            yield replace(expr, text=f"1{text}")
        case s.Unary(operand=operand):
            yield operand
            yield from (replace(expr, operand=each) for each in changed(operand))
        case s.Binary(op=op, left=left, right=right):
            if op in OTHER:
                yield replace(expr, op=OTHER[op])
            elif op in TURNED and not (op == "==" and isinstance(left, s.Name)):
                yield replace(expr, op=TURNED[op])
            yield from (replace(expr, left=each) for each in changed(left))
            yield from (replace(expr, right=each) for each in changed(right))
        case s.Call(arguments=arguments):
            for place, argument in enumerate(arguments):
                for each in changed(argument):
                    yield replace(expr, arguments=(*arguments[:place], each, *arguments[place + 1 :]))
        case _:
            pass


def changed_numbers(row: PrintedRow) -> Iterator[str]:
    amount = row.amount
    digits = list(re.finditer(r"\d", amount.numeral.lower().partition("e")[0]))
    for change in (1, -1):
        last = digits[-1]
        digit = int(last[0]) + change
        if 0 <= digit <= 9:
            yield f"{amount.numeral[: last.start()]}{digit}{amount.numeral[last.end() :]} {amount.unit}"
    for place in digits[:-1]:
        yield f"{amount.numeral[: place.start()]}{(int(place[0]) + 1) % 10}{amount.numeral[place.end() :]} {amount.unit}"


def changed_units(row: PrintedRow) -> Iterator[str]:
    yield f"{row.printed}/s"
    for unit, other in (("bit", "B"), ("B", "word")):
        if unit in row.printed:
            yield row.printed.replace(unit, other)
            break


def changed_claims(row: PrintedRow) -> Iterator[str]:
    relation = row.relation
    assert isinstance(relation, s.Binary)
    if row.quantifier != "some":
        yield f"{row.quantifier}: {written(replace(relation, op=TURNED[relation.op]))}"
    yield f"{'every' if row.quantifier == 'no' else 'no'}: {written(relation)}"


def widened(row: PrintedRow) -> Iterator[PrintedRow]:
    """A claim that holds for every case, without one of its facts, or for all positive reals.

    A row that has `widest` says why that is no change of it.
    """
    if row.quantifier != "every" or row.has("widest"):
        return
    facts = row.texts("where")
    for place in range(len(facts)):
        yield replace(row, inputs={**row.inputs, "where": facts[:place] + facts[place + 1 :]})
    if not facts:
        yield replace(row, kind="claim", inputs={key: each for key, each in row.inputs.items() if key not in RANGE})


def changed_orders(row: PrintedRow) -> Iterator[str]:
    for name in sorted(set(s.find_names(row.expr)) or {"Z"}):
        if row.text("relation", "Theta") != "O":
            yield f"({written(row.expr)})*{name}"
        if row.text("relation", "Theta") != "Omega":
            yield f"({written(row.expr)})/{name}"
