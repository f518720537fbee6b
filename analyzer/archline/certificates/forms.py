"""Represent bounds up to constant factors: a max of mins of monomials (upper), or a min of maxima (lower)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import TypeAlias

from archline.certificates.constants import (
    Number,
    RejectedError,
    evaluate_constant,
    make_rational,
    read_constant,
    require,
)
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.records import record

_MAX_CLAUSES, _MAX_MONOMIALS = 2000, 50_000


@record
class Atom:
    """A size, a logarithm log2(2 + `of`), or a power with logarithm `exponent`; every atom is at least 1."""

    text: str
    of: Monomial | None = None
    exponent: Monomial | None = None

    @property
    def base(self) -> str:
        """The text of the atom as the base of a power, in parentheses if it is a power itself."""
        return f"({self.text})" if "^" in self.text else self.text


@record
class Monomial:
    """A product of powers of atoms, sorted by the atoms' texts; no exponent is 0."""

    powers: tuple[tuple[Atom, Number], ...] = ()

    def __mul__(self, other: Monomial) -> Monomial:
        total = dict(self.powers)
        for atom, times in other.powers:
            total[atom] = total[atom] + times if atom in total else times
        nonzero_powers = (pair for pair in total.items() if not pair[1].is_zero)
        return Monomial(tuple(sorted(nonzero_powers, key=lambda pair: pair[0].text)))

    def __pow__(self, by: Number) -> Monomial:
        return Monomial() if by.is_zero else Monomial(tuple((atom, times * by) for atom, times in self.powers))

    def __str__(self) -> str:
        """Return a text, for messages and as a sort key."""
        parts = (
            atom.text if by == make_rational(1) else f"{atom.base}^{_format_exponent(by)}" for atom, by in self.powers
        )
        return "*".join(parts) or "1"

    @property
    def is_at_least_one(self) -> bool:
        """Whether all exponents are positive, so that the monomial is at least 1."""
        return all(times.sign > 0 for _, times in self.powers)


ONE = Monomial()
Clause: TypeAlias = frozenset[Monomial]
# A max of mins of monomials for an upper bound, a min of maxima for a lower one.
Form: TypeAlias = frozenset[Clause]


def make_form(monomial: Monomial) -> Form:
    """Return the form of a single monomial."""
    return frozenset([frozenset([monomial])])


def take_outer_extremum(*parts: Form) -> Form:
    """Return the max of upper bounds, or the min of lower bounds."""
    return _remove_redundant({clause for part in parts for clause in part})


def take_inner_extremum(*parts: Form) -> Form:
    """Return the min of upper bounds, or the max of lower bounds."""
    return reduce(lambda a, b: _combine_clause_pairs(a, b, lambda x, y: x | y), parts)


def multiply_forms(a: Form, b: Form) -> Form:
    """Return the product of two forms."""
    return _combine_clause_pairs(a, b, lambda x, y: frozenset(left * right for left in x for right in y))


def power_of_form(bound: Form, by: Number) -> Form:
    """Return a power of a form; a negative one turns an upper bound into a lower one, and the reverse."""
    return frozenset(frozenset(factor**by for factor in clause) for clause in bound)


def _combine_clause_pairs(a: Form, b: Form, pair: Callable[[Clause, Clause], Clause]) -> Form:
    if sum(map(len, a)) * sum(map(len, b)) > _MAX_MONOMIALS:
        raise RejectedError("the expression has too many clauses to check")
    return _remove_redundant({pair(x, y) for x in a for y in b})


def _remove_redundant(clauses: set[Clause]) -> Form:
    """Remove clauses that contain another clause, which bounds them. Raises RejectedError if there are too many."""
    if len(clauses) > _MAX_CLAUSES:
        raise RejectedError("the expression has too many clauses to check")
    minimal: list[Clause] = []
    for clause in sorted(clauses, key=len):
        if not any(smaller <= clause for smaller in minimal):
            minimal.append(clause)
    return frozenset(minimal)


# Logarithms
def make_size(name: str) -> Monomial:
    """Make the monomial of a size."""
    return make_monomial(Atom(name))


def make_exponential(name: str) -> Monomial:
    """Make the monomial 2^size."""
    return make_monomial(Atom(f"2^{name}", exponent=make_size(name)))


def raise_to_monomial(base: Atom | None, by: Monomial) -> Monomial:
    """Raise an atom, or 2 (`base` None), exactly to a growing product of sizes, powers 2^n and logarithms.

    2^(x*log2(n)) is (2 + n)^x, and n^x up to a constant if x is n or log2(n). Raises RejectedError.
    """
    if base is None and _is_size(by):
        return make_exponential(str(by))
    depths = _tabulate_depth_powers(by)
    require(depths is not None and all(map(_is_growing_product, depths.values())), f"`{by}` is not known to grow")
    for atom, _ in by.powers if base is None else ():
        rest = by * make_monomial(atom) ** make_rational(-1)
        if atom.of is not None and _is_size(atom.of) and rest in (atom.of, make_monomial(atom)):
            return raise_to_monomial(atom.of.powers[0][0], rest)
    if base is None:
        return make_monomial(Atom(f"2^({by})", exponent=by))
    # A size may be 1: the logarithm of its power has a lower bound only if the exponent is of that size alone.
    sure = base.of is not None or set(depths or ()) == {base.text}
    return make_monomial(
        Atom(f"{base.text}^({by})", exponent=by * expand_log(make_monomial(base))[0] if sure else None)
    )


def _is_size(monomial: Monomial) -> bool:
    return len(monomial.powers) == 1 and str(monomial).isidentifier()


def is_below_power(small: Atom, large: Atom, power: Number) -> bool:
    """Test whether small <= C*large^power is proved, in one of two ways.

    Either log(large)/log(small) grows with each size in it, among them all sizes in `small`; or both are powers of one
    base, `power` >= 1, and the exponent of `small` is at most that of `large`.
    """
    if large.exponent is None or power.sign <= 0:
        return False
    (below,) = expand_log(make_monomial(small))
    sizes, ratio = _tabulate_depth_powers(below), _tabulate_depth_powers(large.exponent * below ** make_rational(-1))
    if sizes and ratio and set(sizes) <= set(ratio) and all(map(_is_growing_product, ratio.values())):
        return True
    if (
        small.exponent is None
        or small.text.partition("^")[0] != large.text.partition("^")[0]
        or power < make_rational(1)
    ):
        return False
    return (large.exponent * small.exponent ** make_rational(-1)).is_at_least_one


def _is_growing_product(powers: Mapping[int, Number]) -> bool:
    """Test whether a product of powers of 2^n, n, log2(n), ..., by depth (-1, 0, 1, ...), grows with n."""
    return powers[min(powers)].sign > 0


def _tabulate_depth_powers(monomial: Monomial) -> dict[str, dict[int, Number]] | None:
    """Return for each size n its exponents in a monomial, by depth: 2^n (-1), n (0), log2(n) (1) and so on.

    None if there is another atom.
    """
    powers: dict[str, dict[int, Number]] = {}
    for atom, by in monomial.powers:
        depth = 0
        while atom.of is not None and len(atom.of.powers) == 1:
            depth, atom = depth + 1, atom.of.powers[0][0]
        name = atom.text.removeprefix("2^")
        if not name.isidentifier():
            return None
        powers.setdefault(name, {})[depth - (name != atom.text)] = by
    return powers


def is_exponential(monomial: Monomial) -> bool:
    """Test whether the monomial is a single power whose exponent varies, such as 2^n."""
    return any("^" in atom.text and atom.of is None and monomial == make_monomial(atom) for atom, _ in monomial.powers)


def find_log_argument(log: Monomial) -> Monomial | None:
    """Return the argument of a logarithm, else None; a size n counts as that of 2^n, as n <= log2(2 + 2^n) <= 2*n."""
    if len(log.powers) != 1:
        return None
    ((atom, by),) = log.powers
    if by != make_rational(1):
        return None
    return make_exponential(atom.text) if log == make_size(atom.text) else atom.of


def make_monomial(atom: Atom) -> Monomial:
    """Make the monomial of an atom."""
    return Monomial(((atom, make_rational(1)),))


def bound_log_above(bound: Form) -> Form:
    """Return an upper bound of log2(2 + w) for an upper bound of w >= 0."""
    smallest = (
        take_inner_extremum(*(take_outer_extremum(*map(make_form, expand_log(factor))) for factor in clause))
        for clause in bound
    )
    return take_outer_extremum(make_form(ONE), *smallest) if not bound else take_outer_extremum(*smallest)


def bound_log_below(bound: Form) -> Form:
    """Return a lower bound of log2(2 + w) for a lower bound of w."""
    return _remove_redundant({frozenset(log for factor in clause for log in expand_log(factor)) for clause in bound})


def expand_log(monomial: Monomial) -> list[Monomial]:
    """Return monomials whose maximum is log2(2 + w) up to constant factors, for a monomial w."""
    if not monomial.powers or all(by.sign < 0 for _, by in monomial.powers):
        return [ONE]
    if monomial.is_at_least_one:
        return [atom.exponent or _make_log(make_monomial(atom)) for atom, _ in monomial.powers]
    first = monomial.powers[0][1]
    return [_make_log(monomial ** (make_rational(1) / (first if first.sign > 0 else -first)))]


def _make_log(argument: Monomial) -> Monomial:
    return make_monomial(Atom(f"log2({argument})", argument))


def _format_exponent(by: Number) -> str:
    return str(by) if str(by).isdigit() else f"({by})"


# Reading of certificates
def read_monomial(data: Mapping[str, str]) -> Monomial:
    """Read a MONOMIAL of a certificate. Raises RejectedError."""
    return reduce(Monomial.__mul__, (_read_atom(text) ** read_constant(by) for text, by in data.items()), ONE)


@cache
def _read_atom(text: str) -> Monomial:
    return _read_expression(parse_expression(text))


def _read_expression(expr: s.Expr) -> Monomial:
    match expr:
        case s.Integer(value=1):
            return ONE
        case s.Name(id=name):
            return make_size(name)
        case s.Binary(op="*", left=left, right=right):
            return _read_expression(left) * _read_expression(right)
        case s.Binary(op="/", left=left, right=right):
            return _read_expression(left) * _read_expression(right) ** make_rational(-1)
        case s.Binary(op="^", left=s.Integer(value=2), right=s.Name(id=name)):
            return make_exponential(name)
        case s.Binary(op="^", left=s.Integer(value=2), right=right) if s.find_names(right):
            return raise_to_monomial(None, _read_expression(right))
        case s.Binary(op="^", left=left, right=right) if s.find_names(right):
            return raise_to_monomial(_read_expression(left).powers[0][0], _read_expression(right))
        case s.Call(function="sqrt", arguments=(of,)):
            return _read_expression(of) ** (make_rational(1) / make_rational(2))
        case s.Binary(op="^", left=left, right=right):
            return _read_expression(left) ** evaluate_constant(right)
        case s.Call(function="log2", arguments=(of,)):
            parts = expand_log(_read_expression(of))
            if len(parts) == 1 and parts[0].powers:
                return parts[0]
        case _:
            pass
    raise RejectedError(f"`{format_expression(expr)}` is not an atom")
