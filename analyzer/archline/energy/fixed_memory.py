"""How the energy grows in P where a processor keeps its memory: perfect strong scaling in energy, decided in symbols.

Copies of the data tie P to the memory M of a processor: with c copies of n^2 words M = c*n^2/P, so that c = M*P/n^2.
Written in P and M, the energy that is free of P is the same on all numbers of processors for which the algorithm has
sizes: Demmel, Gearhart, Lipshitz and Schwartz (IPDPS 2013), section III. Beyond them M has to fall with P.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import mul

from archline.algebra.reals import NOTHING, OutOfReachError
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import FormulaBounds, bounds_of, names_in
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.expr.build import ONE, ZERO, total
from archline.expr.text import format_expression
from archline.expr.tree import substituted
from archline.growth.candidates import ONE as ONE_SHAPE
from archline.growth.candidates import Shape, size
from archline.growth.growths import (
    Growth,
    added_terms,
    dominated,
    holds,
    monomial,
    plus,
    reduced,
    reduced_sum,
    simplified,
)
from archline.growth.is_big_o import Proved, is_O
from archline.growth.log_domain import Domain
from archline.growth.monomials import factor
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import record, replace

MEMORY, PROCESSORS = "M", "P"
Bounds = Mapping[str, FormulaBounds[s.Expr]]


@record
class TermGrowth:
    """What a term of the energy is O of; None where that has no short form."""

    name: str
    upper: s.Expr | None

    @property
    def text(self) -> str | None:
        """The form as text."""
        return None if self.upper is None else format_expression(self.upper)

    @property
    def depends(self) -> bool:
        """Whether P is in it."""
        return self.upper is None or PROCESSORS in names_in(self.upper)


@record
class Beyond:
    """Where M falls with P, as `memory` says: a term of the energy that is Omega of `lower`, which grows with P."""

    memory: str
    term: str
    lower: str
    proof: Proved


@record
class FixedMemory:
    """The growth of the energy in P and M; `reason` says why it is not known.

    `sizes` are those of the grid in terms of P and M, `least` and `most` bound M by P, and `facts` are what else is
    taken of the sizes. Where `growth` is known, the energy is Theta of it, which is free of P, by `proofs`.
    """

    sizes: Mapping[str, str]
    facts: tuple[str, ...]
    least: tuple[str, ...]
    most: tuple[str, ...]
    growth: str | None
    terms: tuple[TermGrowth, ...] = ()
    proofs: tuple[Proved, ...] = ()
    beyond: Beyond | None = None
    reason: str = ""


def unknown(reason: str) -> FixedMemory:
    """No growth, and why."""
    return FixedMemory({}, (), (), (), None, reason=reason)


@record
class Subject:
    """An algorithm on a grid: bounds of its metrics in its sizes, the extents of its grid, and facts of sizes."""

    bounds: Bounds
    extents: tuple[s.Expr, ...]
    facts: tuple[s.Fact, ...]
    more: tuple[str, ...]


def at_fixed_memory(subject: Subject, on: ModelOnMachine) -> FixedMemory:
    """The energy of an algorithm on a machine where M is the memory of a processor, in P."""
    try:
        values = _solved(subject)
        if isinstance(values, str):
            return unknown(values)
        exprs = {name: each.tree() for name, each in values.items()}
        facts = tuple(_compared(subject.facts, exprs))
        bounds = {
            name: FormulaBounds(substituted(each.lower, exprs), substituted(each.upper, exprs))
            for name, each in subject.bounds.items()
        }
        return _decided(subject, on, bounds, facts, {name: each.text() for name, each in values.items()})
    except ArchlineError as problem:
        return unknown(problem.diagnostics[0].message)
    except OutOfReachError as problem:
        return unknown(str(problem))


def _decided(
    subject: Subject, on: ModelOnMachine, bounds: Bounds, facts: tuple[s.Fact, ...], sizes: Mapping[str, str]
) -> FixedMemory:
    domain = Domain(facts)
    whole = _ends(on, on.complete(on.model.expanded(on.model.expression)), bounds)
    terms = {name: _ends(on, on.formula(name), bounds) for name in on.model.energy}
    shown = tuple(
        TermGrowth(name, _short(each.upper, domain)) for name, each in terms.items() if not _is_zero(each.upper)
    )
    least, most = _limits(facts)
    limits = tuple(each.text() for each in least), tuple(each.text() for each in most)
    known = FixedMemory(sizes, subject.more, *limits, None, shown)
    found = _growth(whole, domain)
    if found is None:
        return replace(known, reason="no growth free of P is proved")
    growth, proofs = found
    beyond = next((each for end in most for each in _beyond(end, on, terms, facts)), None)
    return replace(known, growth=growth, proofs=proofs, beyond=beyond)


def _is_zero(expr: s.Expr) -> bool:
    return isinstance(expr, s.Integer) and expr.value == 0


# The sizes of the grid in P and M
def _solved(subject: Subject) -> dict[str, Shape] | str:
    """The sizes that the extents of the grid are made of as products of powers of P, M and the other sizes."""
    extents = [monomial(each) for each in subject.extents]
    memory = _leading(subject.bounds["memory"], subject.facts)
    if memory is None:
        return "the memory of a processor is not known to grow like a product of sizes"
    known = [each for each in extents if each is not None]
    if len(known) < len(extents):
        return "an extent of the grid is not a product of sizes"
    own = sorted({base.key for each in known for base in each.powers} - {PROCESSORS})
    equations = [memory.inverse() * size(MEMORY)]
    if not any(factor(PROCESSORS) in each.powers for each in known):
        equations.append(reduce(mul, known, ONE_SHAPE).inverse() * size(PROCESSORS))
    solved = _solve(own, equations)
    if solved is None:
        return "no size of the grid ties more memory of a processor to more processors"
    return solved


def _leading(memory: FormulaBounds[s.Expr], facts: tuple[s.Fact, ...]) -> Shape | None:
    terms = [each.tree() for each in added_terms(memory.lower)]
    found = simplified(Growth(memory.lower, memory.upper), terms, Domain(facts))
    return monomial(found.upper) if found.tight and found.upper is not None else None


def _solve(unknowns: Sequence[str], equations: Sequence[Shape]) -> dict[str, Shape] | None:
    """Each unknown as a product of powers of the other names, where each of the equations' products is 1."""
    if len(unknowns) != len(equations):
        return None
    rows = list(equations)
    for index, name in enumerate(unknowns):
        pivot = next((each for each in range(index, len(rows)) if factor(name) in rows[each].powers), None)
        if pivot is None:
            return None
        rows[index], rows[pivot] = rows[pivot], rows[index]
        own = rows[index].power(rows[index].powers[factor(name)].inverse())
        rows = [
            own if each is rows[index] else each / own.power(each.powers.get(factor(name), NOTHING)) for each in rows
        ]
    return {name: size(name) / row for name, row in zip(unknowns, rows, strict=True)}


# Facts about P and M
def _compared(facts: Sequence[s.Fact], values: Mapping[str, s.Expr]) -> Iterator[s.Fact]:
    """The comparisons, in P and M."""
    for fact in facts:
        if isinstance(fact, s.Binary) and fact.op in ("<=", "<", ">=", ">", "=="):
            left, right = (substituted(each, values) for each in (fact.left, fact.right))
            yield s.Binary(fact.op, left, right, span=fact.span)


def _limits(facts: Sequence[s.Fact]) -> tuple[list[Shape], list[Shape]]:
    """What bounds M from below and from above, up to constants, in terms of P."""
    least: list[Shape] = []
    most: list[Shape] = []
    for fact in facts:
        found = _limit(fact)
        if found is not None:
            above, end = found
            ends = most if above else least
            if end not in ends:
                ends.append(end)
    return least, most


def _limit(fact: s.Fact) -> tuple[bool, Shape] | None:
    """Whether a fact bounds M from above, and what by; None where it is not about M and P."""
    assert isinstance(fact, s.Binary)
    left, right = (monomial(each) for each in (fact.left, fact.right))
    if left is None or right is None or fact.op == "==":
        return None
    small, large = (left, right) if fact.op in ("<=", "<") else (right, left)
    # M^power times the rest is 1 at least.
    ratio = large / small
    power = ratio.powers.get(factor(MEMORY), NOTHING)
    if not power or factor(PROCESSORS) not in ratio.powers:
        return None
    return power.sign() < 0, size(MEMORY) / ratio.power(power.inverse())


# Growth
def _ends(on: ModelOnMachine, formula: s.Expr, bounds: Bounds) -> FormulaBounds[s.Expr]:
    """Bounds of a formula in P and M, with 1 for the quantities of the machine, 0 for those that are 0."""
    quantities = dict.fromkeys((*QUANTITIES, *CONSTANTS), ONE)
    nothing = {name: ZERO for name, value in on.machine.values.items() if value == 0}
    plain = reduced(substituted(formula, {**quantities, **nothing}))
    if _is_zero(plain):
        return FormulaBounds(ZERO, ZERO)
    held = {name: each for name, each in bounds.items() if name in names_in(plain)}
    return bounds_of(plain, held)


def _growth(energy: FormulaBounds[s.Expr], domain: Domain) -> tuple[str, tuple[Proved, ...]] | None:
    """An expression without P that the energy is proved to be Theta of."""
    free = [each for each in added_terms(energy.lower) if factor(PROCESSORS) not in each.powers]
    candidate = None if not free else reduced_sum(total((False, each.tree()) for each in free), domain)
    if candidate is None:
        return None
    known, order = Growth(energy.lower, energy.upper), Growth(candidate, candidate)
    above, below = dominated(known, order, domain), dominated(order, known, domain)
    if not isinstance(above, Proved) or not isinstance(below, Proved):
        return None
    return format_expression(candidate), (above, below)


def _short(expr: s.Expr, domain: Domain) -> s.Expr | None:
    """What an upper bound is O of, in short: one of its terms, or the sum of those that no others dominate."""
    terms = [each.tree() for each in added_terms(expr)]
    whole = None if not terms else reduced_sum(reduce(plus, terms), domain)
    found = simplified(Growth(expr, expr), (*terms, *((whole,) if whole is not None else ())), domain).upper
    return None if found is expr else found


def _beyond(
    end: Shape, on: ModelOnMachine, terms: Mapping[str, FormulaBounds[s.Expr]], facts: Sequence[s.Fact]
) -> Iterator[Beyond]:
    """The terms of the energy that are known to grow with P where M is as large as the sizes allow."""
    values = {MEMORY: end.tree()}
    # What bounds M from above is met up to a constant.
    others = [fact for fact in facts if (limit := _limit(fact)) is None or not limit[0]]
    domain = Domain(tuple(_compared(others, values)))
    for name in on.model.energy:
        lower = substituted(terms[name].lower, values)
        parts = [(powers, powers.tree()) for powers in added_terms(lower)]
        steady = [each for powers, each in parts if not _rises(powers)]
        for powers, each in parts:
            # What grows below a term that does not is not seen.
            if powers.powers.get(factor(PROCESSORS), NOTHING).sign() <= 0 or (
                steady and holds(each, reduce(plus, steady), domain)
            ):
                continue
            proof = is_O(each, lower, domain)
            if isinstance(proof, Proved):
                yield Beyond(end.text(), name, powers.text(), proof)


def _rises(shape: Shape) -> bool:
    """Whether it grows with P."""
    return shape.powers.get(factor(PROCESSORS), NOTHING).sign() > 0
