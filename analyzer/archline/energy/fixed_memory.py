"""Derive how the energy grows in P if a processor keeps its memory: perfect strong scaling in energy, in symbols.

Copies of the data tie P to the memory M of a processor: with c copies of n^2 words M = c*n^2/P, so that c = M*P/n^2. If
the energy, written in P and M, does not contain P, it is the same on all numbers of processors for which the algorithm
has sizes: Demmel, Gearhart, Lipshitz and Schwartz (IPDPS 2013), section III. Beyond them M has to fall with P.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import mul

from archline.algebra.reals import ZERO_CONSTANT, OutOfReachError
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import FormulaBounds, bound_formula, names_in
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.expr.build import ONE, ZERO, sum_terms
from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.growth.candidates import ONE as ONE_SHAPE
from archline.growth.candidates import Shape, make_size_shape
from archline.growth.growths import (
    Growth,
    decide_dominance,
    find_added_terms,
    is_proved_big_o,
    make_sum,
    read_monomial,
    reduce_sum_by_order,
    simplify_growth,
    simplify_with_unit_constants,
)
from archline.growth.is_big_o import Proved, is_O
from archline.growth.log_domain import Domain
from archline.growth.monomials import make_size_factor
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import record, replace

MEMORY, PROCESSORS = "M", "P"
Bounds = Mapping[str, FormulaBounds[s.Expr]]


@record
class TermGrowth:
    """An upper bound on the growth of a term of the energy; None if it has no short form."""

    name: str
    upper: s.Expr | None

    @property
    def text(self) -> str | None:
        return None if self.upper is None else format_expression(self.upper)

    @property
    def depends(self) -> bool:
        return self.upper is None or PROCESSORS in names_in(self.upper)


@record
class GrowthBeyond:
    """A proof that a term of the energy grows with P: it is Omega(`lower`) where M falls with P as in `memory`."""

    memory: str
    term: str
    lower: str
    proof: Proved


@record
class FixedMemory:
    """The growth of the energy in P and M, or the `reason` why it is unknown.

    `sizes` has the sizes of the grid in terms of P and M, `least` and `most` bound M in terms of P, and `facts` are
    further assumptions on the sizes. If `growth` is given, it does not contain P, and `proofs` show that the energy is
    Theta of it.
    """

    sizes: Mapping[str, str]
    facts: tuple[str, ...]
    least: tuple[str, ...]
    most: tuple[str, ...]
    growth: str | None
    terms: tuple[TermGrowth, ...] = ()
    proofs: tuple[Proved, ...] = ()
    beyond: GrowthBeyond | None = None
    reason: str = ""


def make_unknown(reason: str) -> FixedMemory:
    """Return a result without growth, with the reason why it is unknown."""
    return FixedMemory({}, (), (), (), None, reason=reason)


@record
class GridSubject:
    """An algorithm on a grid: bounds of its metrics in sizes, the extents of its grid, facts, and `more` as text."""

    bounds: Bounds
    extents: tuple[s.Expr, ...]
    facts: tuple[s.Fact, ...]
    more: tuple[str, ...]


def derive_fixed_memory(subject: GridSubject, on: ModelOnMachine) -> FixedMemory:
    """Return the growth of the energy of an algorithm on a machine in P and the memory M of a processor."""
    try:
        values = _solve_sizes_in_m_and_p(subject)
        if isinstance(values, str):
            return make_unknown(values)
        exprs = {name: shape.tree() for name, shape in values.items()}
        facts = tuple(_substitute_comparisons(subject.facts, exprs))
        bounds = {
            name: FormulaBounds(substitute_names(bound.lower, exprs), substitute_names(bound.upper, exprs))
            for name, bound in subject.bounds.items()
        }
        return _derive_fixed_memory(subject, on, bounds, facts, {name: shape.text() for name, shape in values.items()})
    except ArchlineError as problem:
        return make_unknown(problem.diagnostics[0].message)
    except OutOfReachError as problem:
        return make_unknown(str(problem))


def _derive_fixed_memory(
    subject: GridSubject, on: ModelOnMachine, bounds: Bounds, facts: tuple[s.Fact, ...], sizes: Mapping[str, str]
) -> FixedMemory:
    domain = Domain(facts)
    energy = _bound_formula(on, on.replace_unknown_names(on.model.expand_formula(on.model.expression)), bounds)
    terms = {name: _bound_formula(on, on.formula(name), bounds) for name in on.model.energy}
    shown = tuple(
        TermGrowth(name, _shorten_bound(bound.upper, domain))
        for name, bound in terms.items()
        if not _is_zero(bound.upper)
    )
    lower_limits, upper_limits = _derive_memory_limits(facts)
    limits = tuple(shape.text() for shape in lower_limits), tuple(shape.text() for shape in upper_limits)
    result = FixedMemory(sizes, subject.more, *limits, None, shown)
    proved = _prove_growth_without_p(energy, domain)
    if proved is None:
        return replace(result, reason="no growth without P could be proved")
    growth, proofs = proved
    beyond = next((term for limit in upper_limits for term in _iterate_growing_terms(limit, on, terms, facts)), None)
    return replace(result, growth=growth, proofs=proofs, beyond=beyond)


def _is_zero(expr: s.Expr) -> bool:
    return isinstance(expr, s.Integer) and expr.value == 0


# The sizes of the grid in P and M
def _solve_sizes_in_m_and_p(subject: GridSubject) -> dict[str, Shape] | str:
    """Express the sizes in the extents of the grid as products of powers of P, M and the other sizes."""
    extents = [read_monomial(extent) for extent in subject.extents]
    memory = _derive_leading_monomial(subject.bounds["memory"], subject.facts)
    if memory is None:
        return "the memory of a processor is not known to grow like a product of sizes"
    shapes = [shape for shape in extents if shape is not None]
    if len(shapes) < len(extents):
        return "an extent of the grid is not a product of sizes"
    names = sorted({base.key for shape in shapes for base in shape.powers} - {PROCESSORS})
    equations = [memory.inverse() * make_size_shape(MEMORY)]
    if not any(make_size_factor(PROCESSORS) in shape.powers for shape in shapes):
        equations.append(reduce(mul, shapes, ONE_SHAPE).inverse() * make_size_shape(PROCESSORS))
    solved = _solve_equations(names, equations)
    if solved is None:
        return "no size of the grid relates the memory of a processor to the number of processors"
    return solved


def _derive_leading_monomial(memory: FormulaBounds[s.Expr], facts: tuple[s.Fact, ...]) -> Shape | None:
    terms = [term.tree() for term in find_added_terms(memory.lower)]
    growth = simplify_growth(Growth(memory.lower, memory.upper), terms, Domain(facts))
    return read_monomial(growth.upper) if growth.tight and growth.upper is not None else None


def _solve_equations(unknowns: Sequence[str], equations: Sequence[Shape]) -> dict[str, Shape] | None:
    """Express each unknown as a product of powers of the other names such that each equation's product is 1.

    None if there are not as many equations as unknowns, or the equations do not determine them.
    """
    if len(unknowns) != len(equations):
        return None
    rows = list(equations)
    for index, name in enumerate(unknowns):
        pivot = next(
            (position for position in range(index, len(rows)) if make_size_factor(name) in rows[position].powers), None
        )
        if pivot is None:
            return None
        rows[index], rows[pivot] = rows[pivot], rows[index]
        solved = rows[index].power(rows[index].powers[make_size_factor(name)].inverse())
        rows = [
            solved if row is rows[index] else row / solved.power(row.powers.get(make_size_factor(name), ZERO_CONSTANT))
            for row in rows
        ]
    return {name: make_size_shape(name) / row for name, row in zip(unknowns, rows, strict=True)}


# Facts about P and M
def _substitute_comparisons(facts: Sequence[s.Fact], values: Mapping[str, s.Expr]) -> Iterator[s.Fact]:
    """Yield the facts that are comparisons, with `values` substituted for sizes."""
    for fact in facts:
        if isinstance(fact, s.Binary) and fact.op in ("<=", "<", ">=", ">", "=="):
            left, right = (substitute_names(side, values) for side in (fact.left, fact.right))
            yield s.Binary(fact.op, left, right, span=fact.span)


def _derive_memory_limits(facts: Sequence[s.Fact]) -> tuple[list[Shape], list[Shape]]:
    """Return lower and upper bounds of M, up to constants, in terms of P."""
    lower_limits: list[Shape] = []
    upper_limits: list[Shape] = []
    for fact in facts:
        limit = _derive_memory_limit(fact)
        if limit is not None:
            is_upper, monomial = limit
            monomials = upper_limits if is_upper else lower_limits
            if monomial not in monomials:
                monomials.append(monomial)
    return lower_limits, upper_limits


def _derive_memory_limit(fact: s.Fact) -> tuple[bool, Shape] | None:
    """Return whether a fact bounds M from above, and the bound; None unless it is about M and P."""
    assert isinstance(fact, s.Binary)
    left, right = (read_monomial(side) for side in (fact.left, fact.right))
    if left is None or right is None or fact.op == "==":
        return None
    small, large = (left, right) if fact.op in ("<=", "<") else (right, left)
    # The ratio, a power of M times other powers, is at least 1.
    ratio = large / small
    power = ratio.powers.get(make_size_factor(MEMORY), ZERO_CONSTANT)
    if not power or make_size_factor(PROCESSORS) not in ratio.powers:
        return None
    return power.sign() < 0, make_size_shape(MEMORY) / ratio.power(power.inverse())


# Growth
def _bound_formula(on: ModelOnMachine, formula: s.Expr, bounds: Bounds) -> FormulaBounds[s.Expr]:
    """Return bounds of a formula in P and M, in which nonzero quantities of the machine are replaced by 1."""
    quantities = dict.fromkeys((*QUANTITIES, *CONSTANTS), ONE)
    zeros = {name: ZERO for name, value in on.machine.values.items() if value == 0}
    simplified = simplify_with_unit_constants(substitute_names(formula, {**quantities, **zeros}))
    if _is_zero(simplified):
        return FormulaBounds(ZERO, ZERO)
    used = {name: bound for name, bound in bounds.items() if name in names_in(simplified)}
    return bound_formula(simplified, used)


def _prove_growth_without_p(energy: FormulaBounds[s.Expr], domain: Domain) -> tuple[str, tuple[Proved, ...]] | None:
    """Return an expression without P that the energy is proved to be Theta of, and the proofs; None if none is."""
    free = [term for term in find_added_terms(energy.lower) if make_size_factor(PROCESSORS) not in term.powers]
    candidate = None if not free else reduce_sum_by_order(sum_terms((False, term.tree()) for term in free), domain)
    if candidate is None:
        return None
    energy_growth, order = Growth(energy.lower, energy.upper), Growth(candidate, candidate)
    above, below = decide_dominance(energy_growth, order, domain), decide_dominance(order, energy_growth, domain)
    if not isinstance(above, Proved) or not isinstance(below, Proved):
        return None
    return format_expression(candidate), (above, below)


def _shorten_bound(expr: s.Expr, domain: Domain) -> s.Expr | None:
    """Return a term, or the sum of leading terms, with the growth of an upper bound; None if neither has it."""
    terms = [term.tree() for term in find_added_terms(expr)]
    leading_sum = None if not terms else reduce_sum_by_order(reduce(make_sum, terms), domain)
    shorter = simplify_growth(
        Growth(expr, expr), (*terms, *((leading_sum,) if leading_sum is not None else ())), domain
    ).upper
    return None if shorter is expr else shorter


def _iterate_growing_terms(
    end: Shape, on: ModelOnMachine, terms: Mapping[str, FormulaBounds[s.Expr]], facts: Sequence[s.Fact]
) -> Iterator[GrowthBeyond]:
    """Yield the terms of the energy that grow with P if M is at its upper limit `end`."""
    values = {MEMORY: end.tree()}
    # The upper bound of M is attained up to a constant.
    unlimited = [fact for fact in facts if (limit := _derive_memory_limit(fact)) is None or not limit[0]]
    domain = Domain(tuple(_substitute_comparisons(unlimited, values)))
    for name in on.model.energy:
        lower = substitute_names(terms[name].lower, values)
        parts = [(powers, powers.tree()) for powers in find_added_terms(lower)]
        steady = [term for powers, term in parts if not _grows_with_processors(powers)]
        for powers, term in parts:
            # A part that grows no faster than the constant ones does not count.
            if powers.powers.get(make_size_factor(PROCESSORS), ZERO_CONSTANT).sign() <= 0 or (
                steady and is_proved_big_o(term, reduce(make_sum, steady), domain)
            ):
                continue
            proof = is_O(term, lower, domain)
            if isinstance(proof, Proved):
                yield GrowthBeyond(end.text(), name, powers.text(), proof)


def _grows_with_processors(shape: Shape) -> bool:
    return shape.powers.get(make_size_factor(PROCESSORS), ZERO_CONSTANT).sign() > 0
