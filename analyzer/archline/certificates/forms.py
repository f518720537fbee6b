"""Represent the bounds up to constant factors: largest of smallest, or smallest of largest, of monomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import TypeAlias

from archline.certificates.constants import Number, RejectedError, constant, rational, read, require
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.records import record

_MAX_CLAUSES, _MAX_MONOMIALS = 2000, 50_000


@record
class Atom:
    """A size, log2(2 + `of`), or a power; every atom is at least 1. The `exponent` is the logarithm of a power."""

    text: str
    of: Monomial | None = None
    exponent: Monomial | None = None

    @property
    def base(self) -> str:
        """The text of the atom as the base of a power."""
        return f"({self.text})" if "^" in self.text else self.text


@record
class Monomial:
    """A product of atoms with powers other than 0, in the order of the atoms' texts."""

    powers: tuple[tuple[Atom, Number], ...] = ()

    def __mul__(self, other: Monomial) -> Monomial:
        total = dict(self.powers)
        for atom, times in other.powers:
            total[atom] = total[atom] + times if atom in total else times
        powers_ = (pair for pair in total.items() if not pair[1].is_zero)
        return Monomial(tuple(sorted(powers_, key=lambda pair: pair[0].text)))

    def __pow__(self, by: Number) -> Monomial:
        return Monomial() if by.is_zero else Monomial(tuple((atom, times * by) for atom, times in self.powers))

    def __str__(self) -> str:
        """Return a text for people, and to sort by."""
        parts = (atom.text if by == rational(1) else f"{atom.base}^{_exponent(by)}" for atom, by in self.powers)
        return "*".join(parts) or "1"

    @property
    def at_least_one(self) -> bool:
        """Whether no power is negative."""
        return all(times.sign > 0 for _, times in self.powers)


ONE = Monomial()
Clause: TypeAlias = frozenset[Monomial]
# Largest of smallest for an upper bound, smallest of largest for a lower one.
Form: TypeAlias = frozenset[Clause]


def form(monomial: Monomial) -> Form:
    """Return the form of a single monomial."""
    return frozenset([frozenset([monomial])])


def outer(*parts: Form) -> Form:
    """Return the largest of upper bounds, or the smallest of lower bounds."""
    return _reduced({clause for part in parts for clause in part})


def inner(*parts: Form) -> Form:
    """Return the smallest of upper bounds, or the largest of lower bounds."""
    return reduce(lambda a, b: _paired(a, b, lambda x, y: x | y), parts)


def times(a: Form, b: Form) -> Form:
    """Return the product of two forms."""
    return _paired(a, b, lambda x, y: frozenset(left * right for left in x for right in y))


def to_power(bound: Form, by: Number) -> Form:
    """Return a power of a form; a negative power exchanges upper and lower bounds."""
    return frozenset(frozenset(factor**by for factor in clause) for clause in bound)


def _paired(a: Form, b: Form, pair: Callable[[Clause, Clause], Clause]) -> Form:
    if sum(map(len, a)) * sum(map(len, b)) > _MAX_MONOMIALS:
        raise RejectedError("the expression has too many clauses to check")
    return _reduced({pair(x, y) for x in a for y in b})


def _reduced(clauses: set[Clause]) -> Form:
    """Return the clauses that contain no other clause, as one that does is bounded by it. Raises RejectedError."""
    if len(clauses) > _MAX_CLAUSES:
        raise RejectedError("the expression has too many clauses to check")
    minimal: list[Clause] = []
    for clause in sorted(clauses, key=len):
        if not any(smaller <= clause for smaller in minimal):
            minimal.append(clause)
    return frozenset(minimal)


# Logarithms
def size(name: str) -> Monomial:
    """Return a size as a monomial."""
    return alone(Atom(name))


def exponential(name: str) -> Monomial:
    """Return 2^size as a monomial."""
    return alone(Atom(f"2^{name}", exponent=size(name)))


def raised(base: Atom | None, by: Monomial) -> Monomial:
    """Raise a size, a logarithm or 2 to a product of sizes, 2^n and logarithms that grows, all exactly as written.

    2^(x*log2(n)), which is (2 + n)^x, is n^x up to a constant where x is n or log2(n). Raises RejectedError.
    """
    if base is None and _is_size(by):
        return exponential(str(by))
    depths = _depths(by)
    require(depths is not None and all(map(_grows, depths.values())), f"`{by}` is not known to grow")
    for atom, _ in by.powers if base is None else ():
        rest = by * alone(atom) ** rational(-1)
        if atom.of is not None and _is_size(atom.of) and rest in (atom.of, alone(atom)):
            return raised(atom.of.powers[0][0], rest)
    if base is None:
        return alone(Atom(f"2^({by})", exponent=by))
    # The logarithm of a power of a size, which may be 1, is known from below where the exponent is of that size alone.
    sure = base.of is not None or set(depths or ()) == {base.text}
    return alone(Atom(f"{base.text}^({by})", exponent=by * logs(alone(base))[0] if sure else None))


def _is_size(of: Monomial) -> bool:
    return len(of.powers) == 1 and str(of).isidentifier()


def below_power(small: Atom, large: Atom, power: Number) -> bool:
    """Test whether small <= C*large^power: the quotient of their logarithms grows with each size in it, and in `small`.

    Alternatively, one power is at most another of the same base.
    """
    if large.exponent is None or power.sign <= 0:
        return False
    (below,) = logs(alone(small))
    sizes, ratio = _depths(below), _depths(large.exponent * below ** rational(-1))
    if sizes and ratio and set(sizes) <= set(ratio) and all(map(_grows, ratio.values())):
        return True
    if small.exponent is None or small.text.partition("^")[0] != large.text.partition("^")[0] or power < rational(1):
        return False
    return (large.exponent * small.exponent ** rational(-1)).at_least_one


def _grows(powers: Mapping[int, Number]) -> bool:
    return powers[min(powers)].sign > 0


def _depths(of: Monomial) -> dict[str, dict[int, Number]] | None:
    """Return by size the powers of 2^n (-1), n (0), log2(n) (1), ...; None if there is another atom."""
    powers: dict[str, dict[int, Number]] = {}
    for atom, by in of.powers:
        depth = 0
        while atom.of is not None and len(atom.of.powers) == 1:
            depth, atom = depth + 1, atom.of.powers[0][0]
        name = atom.text.removeprefix("2^")
        if not name.isidentifier():
            return None
        powers.setdefault(name, {})[depth - (name != atom.text)] = by
    return powers


def is_exponential(monomial: Monomial) -> bool:
    """Test whether the monomial is 2^size."""
    return any("^" in atom.text and atom.of is None and monomial == alone(atom) for atom, _ in monomial.powers)


def argument(log: Monomial) -> Monomial | None:
    """Return the argument of a logarithm, up to a constant factor: a size n of 2^n, as n <= log2(2 + 2^n) <= 2*n."""
    if len(log.powers) != 1:
        return None
    ((atom, by),) = log.powers
    if by != rational(1):
        return None
    return exponential(atom.text) if log == size(atom.text) else atom.of


def alone(atom: Atom) -> Monomial:
    """Return an atom as a monomial."""
    return Monomial(((atom, rational(1)),))


def upper_log(bound: Form) -> Form:
    """Return an upper bound of log2(2 + w) for an upper bound of w >= 0."""
    smallest = (inner(*(outer(*map(form, logs(factor))) for factor in clause)) for clause in bound)
    return outer(form(ONE), *smallest) if not bound else outer(*smallest)


def lower_log(bound: Form) -> Form:
    """Return a lower bound of log2(2 + w) for a lower bound of w."""
    return _reduced({frozenset(log for factor in clause for log in logs(factor)) for clause in bound})


def logs(of: Monomial) -> list[Monomial]:
    """Return monomials whose largest is log2(2 + w), up to constants."""
    if not of.powers or all(by.sign < 0 for _, by in of.powers):
        return [ONE]
    if of.at_least_one:
        return [atom.exponent or _log(alone(atom)) for atom, _ in of.powers]
    first = of.powers[0][1]
    return [_log(of ** (rational(1) / (first if first.sign > 0 else -first)))]


def _log(of: Monomial) -> Monomial:
    return alone(Atom(f"log2({of})", of))


def _exponent(by: Number) -> str:
    return str(by) if str(by).isdigit() else f"({by})"


# What a certificate writes
def monomial(data: Mapping[str, str]) -> Monomial:
    """Return a MONOMIAL of a certificate."""
    return reduce(Monomial.__mul__, (_atom(text) ** read(by) for text, by in data.items()), ONE)


@cache
def _atom(text: str) -> Monomial:
    return _read(parse_expression(text))


def _read(expr: s.Expr) -> Monomial:
    match expr:
        case s.Integer(value=1):
            return ONE
        case s.Name(id=name):
            return size(name)
        case s.Binary(op="*", left=left, right=right):
            return _read(left) * _read(right)
        case s.Binary(op="/", left=left, right=right):
            return _read(left) * _read(right) ** rational(-1)
        case s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
            return exponential(name)
        case s.Binary(op="^", left=s.Integer(value=2), right=right) if s.names(right):
            return raised(None, _read(right))
        case s.Binary(op="^", left=left, right=right) if s.names(right):
            return raised(_read(left).powers[0][0], _read(right))
        case s.Call(function="sqrt", arguments=(of,)):
            return _read(of) ** (rational(1) / rational(2))
        case s.Binary(op="^", left=left, right=right):
            return _read(left) ** constant(right)
        case s.Call(function="log2", arguments=(of,)):
            parts = logs(_read(of))
            if len(parts) == 1 and parts[0].powers:
                return parts[0]
        case _:
            pass
    raise RejectedError(f"`{format_expression(expr)}` is not an atom")
