"""Represent lattices, max and min of monomials: products of sizes and logarithms to constant powers.

Up to a constant factor every positive expression of + * / ^ min max log is such a lattice, since a sum of k terms
lies between its largest term and k times that: (a + b)*c ~ max(a*c, b*c), 1/(a + b) ~ min(1/a, 1/b).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Literal, TypeAlias

from archline.algebra.reals import ONE_CONSTANT, Constant, OutOfReachError
from archline.growth.monomials import Monomial, make_monomial
from archline.numbers import fmpq
from archline.records import record

MAX_LEAVES = 1000


@record(eq=False, slots=True)
class GrowthAtom:
    """A quantity of at least 1: a size, log2(2 + argument), or a power (of 2, a size or a logarithm) that grows.

    `key` writes it in the language's syntax. `exponent` of a power is its logarithm, up to a constant factor: n of 2^n,
    n*log2(n) of n^n. Where 2^n occurs, the size n is read as its logarithm, with 2^n as `argument`.
    """

    key: str
    argument: Powers | None = None
    exponent: Powers | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowthAtom) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: GrowthAtom) -> bool:
        return (self.argument is not None, self.key) < (other.argument is not None, other.key)

    def __str__(self) -> str:
        return self.key


Powers: TypeAlias = Monomial[GrowthAtom]
ONE: Powers = Monomial({})


def make_size_power(name: str) -> Powers:
    """Return a size to the power 1."""
    return make_monomial(GrowthAtom(name))


def make_exponential(name: str) -> Powers:
    """Return 2^size."""
    return make_monomial(GrowthAtom(f"2^{name}", exponent=make_size_power(name)))


def power_of_atom(base: GrowthAtom | None, by: Powers) -> Powers:
    """Raise an atom, or 2 if `base` is None, to a product of atoms that grows, up to a constant factor.

    2^(x*log2(n)) is n^x for x = n or log2(n): logarithms are read as log2(2 + n), and (1 + 2/n)^x is bounded. Raises
    OutOfReachError where the exponent is not known to grow.
    """
    depths = _tabulate_log_depths(by)
    if depths is None or not all(map(_is_growing, depths.values())):
        raise OutOfReachError(f"`{by}` as an exponent is not known to grow")
    for atom in by.powers if base is None else ():
        rest = by / make_monomial(atom)
        if atom.argument is not None and rest in (atom.argument, make_monomial(atom)) and is_single_size(atom.argument):
            (base,), by = atom.argument.powers, rest
    # A size may be 1, and its powers too: only of powers of it alone is the logarithm known from below.
    sure = base is None or base.key.startswith("log2(") or depths.keys() == {base.key}
    exponent = by if base is None else by * take_logarithm(base)
    return make_monomial(GrowthAtom(f"({2 if base is None else base}^({by}))", exponent=exponent if sure else None))


def is_single_size(monomial: Powers) -> bool:
    """Whether a monomial is a size alone."""
    return len(monomial.powers) == 1 and str(monomial).isidentifier()


def find_dominating_exponent(small: GrowthAtom, large: GrowthAtom, slow: fmpq) -> fmpq | None:
    """Return a p with small <= C*large^p: `slow` if all p > 0 qualify, or 1; None if unknown.

    All qualify where log(large)/log(small) grows with each size in it, and has all sizes of log(small).
    """
    above, below = large.exponent, take_logarithm(small)
    if above is None or (str(small) + str(large)).find("(") < 0:
        return None
    of_below, ratio = _tabulate_log_depths(below), _tabulate_log_depths(above / below)
    if of_below and ratio and of_below.keys() <= ratio.keys() and all(map(_is_growing, ratio.values())):
        return slow
    one_base = str(small).strip("(").partition("^")[0] == str(large).strip("(").partition("^")[0]
    return fmpq(1) if small.exponent and one_base and (above / small.exponent).never_shrinks else None


def _is_growing(powers: Mapping[int, Constant]) -> bool:
    """Whether a product of powers of 2^n, n, log2(n), ..., by depth (-1, 0, 1, ...), grows with n."""
    return powers[min(powers)].sign() > 0


def _tabulate_log_depths(monomial: Powers) -> dict[str, dict[int, Constant]] | None:
    """Return for each size n the powers of 2^n, n, log2(n), ... by depth (-1, 0, 1, ...); None for other atoms."""
    depths: dict[str, dict[int, Constant]] = {}
    for atom, power in monomial.powers.items():
        logs = str(atom).count("log2(")
        name = str(atom).removeprefix("log2(" * logs).removesuffix(")" * logs)
        is_exponent = name.startswith("2^")
        if not name.removeprefix("2^").isidentifier():
            return None
        depths.setdefault(name.removeprefix("2^"), {})[logs - is_exponent] = power
    return depths


def make_exponent_size(name: str) -> Powers:
    """Return a size that is the logarithm of 2^size."""
    return make_monomial(GrowthAtom(name, make_exponential(name)))


def take_logarithm(atom: GrowthAtom) -> Powers:
    """Return the logarithm of an atom, up to a constant factor."""
    if atom.exponent is None:
        return make_monomial(GrowthAtom(f"log2({atom})", make_monomial(atom)))
    return make_exponent_size(str(atom.exponent)) if is_single_size(atom.exponent) else atom.exponent


@record(slots=True)
class Extremum:
    """The maximum or the minimum of two or more parts."""

    op: Literal["max", "min"]
    parts: tuple[Lattice, ...]


@record(slots=True)
class Product:
    """A product of two or more maxima and minima, not multiplied out, so that both clause forms stay short."""

    parts: tuple[Extremum, ...]


Lattice: TypeAlias = Powers | Extremum | Product


def make_extremum(op: Literal["max", "min"], parts: Iterable[Lattice]) -> Lattice:
    """Return the maximum or minimum of parts, flattened. Raises OutOfReachError for more than MAX_LEAVES parts."""
    flat: dict[Lattice, None] = {}
    for part in parts:
        if isinstance(part, Extremum) and part.op == op:
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    if len(flat) > MAX_LEAVES:
        raise OutOfReachError("the expression has too many terms")
    return next(iter(flat)) if len(flat) == 1 else Extremum(op, tuple(flat))


def multiply_lattices(left: Lattice, right: Lattice) -> Lattice:
    """Return left*right."""
    match left, right:
        case Monomial(), Monomial():
            return left * right
        case Product(), Product():
            return Product((*left.parts, *right.parts))
        case Product(), Extremum():
            return Product((*left.parts, right))
        case Extremum(), Extremum() if left.op != right.op:
            return Product((left, right))
        case Extremum(), Monomial() | Extremum():
            return make_extremum(left.op, [multiply_lattices(part, right) for part in left.parts])
        case Product(parts=(first, *rest)), Monomial():
            return Product((Extremum(first.op, tuple(multiply_lattices(part, right) for part in first.parts)), *rest))
        case _:
            return multiply_lattices(right, left)


def power_of_lattice(base: Lattice, exponent: Constant) -> Lattice:
    """Return base^exponent."""
    if isinstance(base, Monomial):
        return base.power(exponent)
    sign = exponent.sign()
    if not sign:
        return ONE
    if isinstance(base, Product):
        raised: list[Lattice] = [power_of_lattice(part, exponent) for part in base.parts]
        return reduce(multiply_lattices, raised)
    op: Literal["max", "min"] = base.op if sign > 0 else ("min" if base.op == "max" else "max")
    return make_extremum(op, [power_of_lattice(part, exponent) for part in base.parts])


def take_lattice_logarithm(argument: Lattice) -> Lattice:
    """Return log2(2 + argument), up to a constant factor: of a product of sizes the maximum of their logarithms."""
    if isinstance(argument, Product):
        opened, *factors = argument.parts
        rest = factors[0] if len(factors) == 1 else Product(tuple(factors))
        return make_extremum(
            opened.op, [take_lattice_logarithm(multiply_lattices(part, rest)) for part in opened.parts]
        )
    if isinstance(argument, Extremum):
        return make_extremum(argument.op, [take_lattice_logarithm(part) for part in argument.parts])
    if argument.never_grows:
        return ONE
    if argument.never_shrinks:
        return make_extremum("max", [take_logarithm(atom) for atom in argument.powers])
    first = min(argument.powers, key=lambda atom: atom.key)
    scale = argument.powers[first]
    scaled = argument.power((scale if scale.sign() > 0 else -scale).inverse())
    return Monomial({GrowthAtom(f"log2({scaled})", scaled): ONE_CONSTANT})


Clause: TypeAlias = frozenset[Powers]


def to_maximum_of_minima(value: Lattice) -> list[Clause]:
    """Return the lattice as the maximum of several clauses, each the minimum of its monomials."""
    return _build_clauses(value, "max")


def to_minimum_of_maxima(value: Lattice) -> list[Clause]:
    """Return the lattice as the minimum of several clauses, each the maximum of its monomials."""
    return _build_clauses(value, "min")


def _build_clauses(value: Lattice, outer: Literal["max", "min"]) -> list[Clause]:
    if isinstance(value, Monomial):
        return [frozenset((value,))]
    if isinstance(value, Product):
        return reduce(_multiply_clauses, [_build_clauses(part, outer) for part in value.parts])
    parts = [_build_clauses(part, outer) for part in value.parts]
    if value.op == outer:
        return _drop_covered_clauses([clause for part in parts for clause in part])
    clauses: list[Clause] = [frozenset()]
    for part in parts:
        clauses = _drop_covered_clauses([old | new for old in clauses for new in part])
        if len(clauses) > MAX_LEAVES:
            raise OutOfReachError("the expression has too many cases")
    return clauses


def _multiply_clauses(left: list[Clause], right: list[Clause]) -> list[Clause]:
    """Multiply clauses: the minimum of one times the minimum of another, and likewise for maxima."""
    if len(left) * len(right) > MAX_LEAVES:
        raise OutOfReachError("the expression has too many cases")
    return _drop_covered_clauses(
        [frozenset(a * b for a in first for b in second) for first in left for second in right]
    )


def _drop_covered_clauses(clauses: list[Clause]) -> list[Clause]:
    """Drop the clauses that contain another clause, which decides alone."""
    minimal: list[Clause] = []
    for clause in sorted(dict.fromkeys(clauses), key=len):
        if not (len(clause) > 1 and any(smaller <= clause for smaller in minimal)):
            minimal.append(clause)
    return minimal
