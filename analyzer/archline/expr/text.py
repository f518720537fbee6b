"""Writes the canonical text of expressions, facts and types: no needless brackets, `*` tight, `+` spaced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from archline.expr import tree as s

# Levels of precedence, as the grammar nests its rules from `expr` (loosest) to `atom`.
_DISJUNCTION, _CONJUNCTION, _NEGATION, _COMPARISON, SUM, _PRODUCT, _FACTOR, _POWER, _ATOM = range(1, 10)
_LEVELS = {
    "or": _DISJUNCTION, "and": _CONJUNCTION,
    "=": _COMPARISON, "==": _COMPARISON, "!=": _COMPARISON, "<": _COMPARISON, "<=": _COMPARISON,
    ">": _COMPARISON, ">=": _COMPARISON,
    "+": SUM, "-": SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "@": _PRODUCT, "^": _POWER,
}  # fmt: skip


def format_expression(expr: s.Expr) -> str:
    """Return the canonical text of an expression; parsing it gives a tree of equal structure."""
    return _format_at_level(expr, 0, tight=False)


def format_fact(fact: s.Fact) -> str:
    """Return the canonical text of a fact."""
    match fact:
        case s.IsPower(value=value, base=base):
            return f"{format_summand(value)} is power of {format_summand(base)}"
        case s.IsSquare(value=value):
            return f"{format_summand(value)} is square"
        case s.Divides(divisor=divisor, value=value):
            return f"{format_summand(divisor)} divides {format_summand(value)}"
        case _:
            return format_expression(fact)


def format_summand(expr: s.Expr) -> str:
    """Write an expression where the grammar requires a `sum`: comparisons and looser forms are in brackets."""
    return _format_at_level(expr, SUM, tight=False)


def format_bound(expr: s.Expr) -> str:
    """Write an expression next to `..` or `downto`, where sums are tight: `h+1..n`."""
    return _format_at_level(expr, 0, tight=True)


def format_list(exprs: Iterable[s.Expr]) -> str:
    """Write expressions separated by commas."""
    return ", ".join(format_expression(expr) for expr in exprs)


def format_facts(facts: Iterable[s.Fact]) -> str:
    """Write facts separated by commas."""
    return ", ".join(format_fact(fact) for fact in facts)


class Formula(str):
    """A string with the `tree` it writes, so that reports can typeset it; it begins with `relation`, such as `Z >=`."""

    __slots__ = ("relation", "tree")
    tree: s.Fact
    relation: str

    def __new__(cls, tree: s.Fact, relation: str = "") -> Self:
        text = format_fact(tree)
        formula = super().__new__(cls, f"{relation} {text}" if relation else text)
        formula.tree, formula.relation = tree, relation
        return formula

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # Only the text is passed between processes.
        return str, (str(self),)

    @property
    def expr(self) -> s.Expr:
        """The expression, if the formula is not a divisibility fact."""
        assert not isinstance(self.tree, s.IsPower | s.IsSquare | s.Divides)
        return self.tree


class Phrase(str):
    """A string that keeps the pieces it was joined from, texts and formulas, so that reports can typeset formulas."""

    __slots__ = ("pieces",)
    pieces: tuple[str, ...]

    def __new__(cls, pieces: tuple[str, ...]) -> Self:
        text = super().__new__(cls, "".join(pieces))
        text.pieces = pieces
        return text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def split_into_pieces(text: str) -> tuple[str, ...]:
    """Return the formulas of a text and the texts between them."""
    return text.pieces if isinstance(text, Phrase) else (text,) if text else ()


def join_phrases(*parts: str) -> str:
    """Concatenate texts, keeping their formulas."""
    pieces = tuple(piece for part in parts for piece in split_into_pieces(part))
    return pieces[0] if len(pieces) == 1 else Phrase(pieces)


def join_with_mark(parts: Iterable[str], mark: str) -> str:
    """Join texts by a mark, keeping their formulas."""
    return join_phrases(*[piece for part in parts for piece in (mark, part)][1:])


def prefix_relation(relation: str, text: str) -> str:
    """Prefix a formula or another text with a relation."""
    if isinstance(text, Formula):
        return Formula(text.tree, f"{relation} {text.relation}".rstrip())
    return join_phrases(f"{relation} ", text)


def format_conjunction(facts: Iterable[s.Fact]) -> str:
    """Write the conjunction of facts: `n >= 2 and m >= 3`."""
    parts = [conjunct for fact in facts for conjunct in s.iterate_conjuncts(fact)]
    texts = map(Formula, parts)
    is_single = len(parts) == 1
    return join_with_mark(
        (
            join_phrases("(", text, ")") if isinstance(part, s.Binary) and part.op == "or" and not is_single else text
            for part, text in zip(parts, texts, strict=True)
        ),
        " and ",
    )


def format_settings(values: Iterable[tuple[str, s.Expr]]) -> list[str]:
    """Write sizes with their values: `n = 64`."""
    return [f"{name} = {format_expression(value)}" for name, value in values]


def _format_at_level(expr: s.Expr, least: int, *, tight: bool) -> str:
    """Write an expression, in brackets if its level is below `least`. `tight`: sums without spaces."""
    match expr:
        case s.Unary(op=op):
            level = _NEGATION if op == "not" else _FACTOR
            make = _format_unary
        case s.Binary(op=op):
            level = _LEVELS[op]
            make = _format_binary
        case _:
            return _format_atom(expr, tight=tight)
    if level < least:
        return f"({make(expr, tight=False)})"
    return make(expr, tight=tight)


def _format_unary(expr: s.Expr, *, tight: bool) -> str:
    assert isinstance(expr, s.Unary)
    if expr.op == "not":
        return f"not {_format_at_level(expr.operand, _NEGATION, tight=tight)}"
    return f"-{_format_at_level(expr.operand, _FACTOR, tight=tight)}"


def _format_binary(expr: s.Expr, *, tight: bool) -> str:
    assert isinstance(expr, s.Binary)
    level = _LEVELS[expr.op]
    left, right = level, level + 1
    if level == _COMPARISON:
        left = right = SUM
    elif level == _POWER:
        # `a ^ b ^ c` is a ^ (b ^ c), and an exponent may begin with a minus.
        left, right = _ATOM, _FACTOR
    # Iterates over sums of any length: left operands of the same level need no brackets.
    parts: list[str] = []
    first: s.Expr = expr
    while isinstance(first, s.Binary) and _LEVELS[first.op] == level and (first is expr or left == level):
        spaced = level < SUM or (level == SUM and not tight) or first.op == "@"
        op = f" {first.op} " if spaced else first.op
        parts += [_format_at_level(first.right, right, tight=tight), op]
        first = first.left
    parts.append(_format_at_level(first, left, tight=tight))
    return "".join(reversed(parts))


def _format_atom(expr: s.Expr | s.Comprehension, *, tight: bool) -> str:
    match expr:
        case s.Integer(value=value):
            return str(value)
        case s.Real(text=text):
            return text
        case s.Name(id=name):
            # The register of a parameter that is assigned has the parameter's name and a prime.
            return name.removesuffix("'")
        case s.Call(function=function, arguments=(first, *rest), as_method=True):
            return f"{_format_at_level(first, _ATOM, tight=False)}.{function}({format_list(rest)})"
        case s.Call(function=function, arguments=arguments, sizes=sizes):
            parts = [*map(format_expression, arguments), *format_settings(sizes)]
            return f"{function}({', '.join(parts)})"
        case s.Element(array=array, subscripts=subscripts):
            return f"{array}[{', '.join(_format_subscript(subscript, tight=tight) for subscript in subscripts)}]"
        case s.Reshape(base=base, shape=shape):
            return f"{_format_at_level(base, _ATOM, tight=False)} as [{format_list(shape)}]"
        case s.Comprehension():
            return _format_comprehension(expr)
        case s.Unary() | s.Binary():
            raise AssertionError(f"{type(expr).__name__} is not an atom")


def _format_comprehension(part: s.Comprehension) -> str:
    step = f" step {format_bound(part.step)}" if part.step is not None else ""
    condition = f" if {format_expression(part.condition)}" if part.condition is not None else ""
    ends = f"{format_bound(part.lo)}..{format_bound(part.hi)}"
    return f"{format_expression(part.value)} for {part.variable} in {ends}{step}{condition}"


def _format_subscript(subscript: s.Expr | s.Slice, *, tight: bool) -> str:
    if not isinstance(subscript, s.Slice):
        return _format_at_level(subscript, 0, tight=tight)
    step = f" step {format_bound(subscript.step)}" if subscript.step is not None else ""
    if subscript.lo is None or subscript.hi is None:
        ends = ("" if end is None else format_bound(end) for end in (subscript.lo, subscript.hi))
        return f"{':'.join(ends)}{step}"
    if subscript.by_length:
        return f"{format_expression(subscript.lo)} ..+ {format_expression(subscript.hi)}{step}"
    return f"{format_bound(subscript.lo)}..{format_bound(subscript.hi)}{step}"
