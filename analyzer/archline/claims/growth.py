"""How derived costs grow: closed forms as expressions that the growth prover reads, and its answers about claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from archline.algebra import atoms as a
from archline.algebra.division import divide_exactly
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import shortened, to_tree
from archline.algebra.relax import bound_away, floor_by_number
from archline.algebra.sums.pairs import pair_of
from archline.analysis.communication.floors import without_rounded_powers
from archline.analysis.cost import FEW_LINES, Cost, Costs, Regime
from archline.claims.growth_cases import GrowthCase, in_cases, shown
from archline.claims.verdict import TOO_LONG
from archline.expr import build as b
from archline.growth import rules
from archline.growth.growths import Growth, dominated
from archline.growth.is_big_o import Proved, Refuted, Undecided
from archline.growth.log_domain import Domain
from archline.growth.simplify import is_number
from archline.ir.conditions import with_all
from archline.ir.layout import LINE, ONE_LINE, WORDS
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression, parse_facts
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.exact.base_cases import bounded_below, growing, uncapped

_facts_of: WeakKeyDictionary[Facts, tuple[s.Fact, ...]] = WeakKeyDictionary()
"""Cases as facts, for as long as the cases: all metrics ask about the same ones."""


@lru_cache(maxsize=64)
def domain_of(facts: tuple[s.Fact, ...]) -> Domain | None:
    """The sizes that satisfy the facts; None where there are none from 1 on."""
    try:
        return Domain(facts)
    except ArchlineError as problem:
        if problem.diagnostics[0].rule is rules.NO_SIZES:
            return None
        raise


def pieces(costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts, blocks: bool = False) -> list[Growth]:
    """The cost in the growth prover's terms, by regimes where it has them; `known` is what the declaration promises.

    With `blocks` the upper bound keeps m*floor(e/m), which is e at most.
    """
    if not cost.regimes:
        assert cost.lower is not None
        assert cost.upper is not None
        return [_piece(costs, ("", facts), (cost.lower, cost.upper), known, blocks)]
    return [
        _piece(costs, (each.when, (*facts, *facts_of_case(case))), (each.lower, each.upper), case, blocks)
        for each in cost.regimes
        for case in each.cases
    ]


def pieces_by_cases(
    costs: Costs, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> Iterator[list[tuple[Growth, GrowthCase]]]:
    """The same of an exact form in cases of its sizes, in one way or another."""
    assert cost.lower is not None
    some = cost.metric in WHERE_SOME or known.positive(cost.lower)
    for cases in in_cases(cost.lower, known):
        found = []
        for case in cases:
            low = case.lower
            if some and (less := low.constant_term) < 0:
                # A count that is never 0 is 1 at least: (c + 1)*e >= c + e.
                low = (low - less) / (1 - less)
            where = (shown([case]), (*facts, *facts_of_case(case.facts)))
            found.append((_piece(costs, where, (low, case.upper), case.facts, True), replace(case, lower=low)))
        yield found


def _piece(
    costs: Costs, where: tuple[str, tuple[s.Fact, ...]], ends: tuple[Poly, Poly], known: Facts, blocks: bool
) -> Growth:
    below, above = _ends(costs, ends, known, blocks)
    if any(map(_is_rounded_power, s.nodes((below, above)))):
        most = without_conditions(ends[1], known)
        plain = -without_rounded_powers(-ends[0], known), without_rounded_powers(most, known)
        below, above = _ends(costs, plain, known, blocks)
    when, facts = where
    return Growth(below, above, facts, when)


def _is_rounded_power(expr: s.Node) -> bool:
    """Whether it is a number to a rounded logarithm, of which the prover knows nothing inside of a factor."""
    match expr:
        case s.Binary(op="^", right=s.Call(function="ceil", arguments=(s.Call(function="log2"),))):
            return True
        case _:
            return False


def _ends(costs: Costs, ends: tuple[Poly, Poly], known: Facts, blocks: bool) -> tuple[s.Expr, s.Expr]:
    low, high = ends
    found = cast(dict[object, tuple[s.Expr, s.Expr]], known.found.setdefault(_ends, {}))
    if (key := (costs.parameters, ends, blocks)) not in found:
        above = without_conditions(high, known)
        above = above if blocks else without_blocks(above, known, floors=False)
        if low == high:
            found[key] = _lower(costs, low, known), _tree(costs, above, True)
        else:
            found[key] = at_least(costs, low, known), at_most(costs, above, known)
    return found[key]


def without_conditions(value: Poly, known: Facts) -> Poly:
    """At least the value, with 1 in place of the indicators that are added; in nested maxima they may cancel."""
    maxima = sorted((each for each in value.atoms_within() if isinstance(each, a.PositivePart)), key=str)
    for atom in maxima if value.atoms() >= set(maxima) else ():
        pair = pair_of(value, atom, known)
        if pair is not None and known.nonnegative(pair.weight):
            return without_conditions(pair.rest + pair.weight * pair.most, known)
    return value


# Leaves of a fixed size: their bounds cut sizes off at numbers, of which growth knows nothing.
def at_least(costs: Costs, value: Poly, known: Facts) -> s.Expr:
    """An expression for the growth prover that a lower bound is at least a constant times."""
    return _lower(costs, growing(value, known), known)


def at_most(costs: Costs, value: Poly, known: Facts) -> s.Expr:
    """An expression for the growth prover that an upper bound is at most a constant times."""
    return _tree(costs, uncapped(value, known, upper=True), True)


def over_range(
    indices: IndexRange | None, cost: Cost, facts: tuple[s.Fact, ...], known: Facts
) -> tuple[Cost, tuple[s.Fact, ...], Facts] | None:
    """A cost, and what is known, in terms of the length of a range; None without one, or where its place matters."""
    if indices is None or cost.lower is None or cost.upper is None:
        return None
    moved = tuple(
        Regime(each.when, tuple(map(indices.facts, each.cases)), indices.moved(each.lower), indices.moved(each.upper))
        for each in cost.regimes
    )
    found = replace(cost, lower=indices.moved(cost.lower), upper=indices.moved(cost.upper), regimes=moved)
    ends = (found.lower, found.upper, *(end for each in moved for end in (each.lower, each.upper)))
    if any(end is not None and indices.low in end.names for end in ends):
        return None
    return found, indices.written_facts(facts), indices.facts(known)


def pieces_of_time(costs: Costs, processors: str, facts: tuple[s.Fact, ...], known: Facts) -> list[Growth]:
    """The time on so many processors in the growth prover's terms, by the regimes of work and of span."""
    work, span = (pieces(costs, costs[metric], facts, known) for metric in ("work", "span"))
    found = []
    for one, other in product(work, span):
        assert one.lower is not None
        assert one.upper is not None
        assert other.lower is not None
        assert other.upper is not None
        least, most = (b.binary("/", each, b.name(processors)) for each in (one.lower, one.upper))
        when = " and ".join(dict.fromkeys(each for each in (one.when, other.when) if each))
        together = tuple(dict.fromkeys((*one.facts, *other.facts)))
        found.append(Growth(b.call("max", other.lower, least), b.binary("+", other.upper, most), together, when))
    return found


def facts_of_case(case: Facts) -> tuple[s.Fact, ...]:
    """What bounds of sizes a case tells, as facts."""
    if case not in _facts_of:
        _facts_of[case] = _known(case)
    return _facts_of[case]


def _known(facts: Facts) -> tuple[s.Fact, ...]:
    """What bounds say of the sizes: n >= 17, n >= m."""
    found: list[s.Fact] = []
    for power in facts.powers:
        known = facts.bounds[power.exponent]
        for relation, values in ((">=", known.lower), ("<=", known.upper)):
            limits = [2 ** (int(each.constant_term.p) * power.every) for each in values if each.is_constant]
            found.extend(b.binary(relation, b.name(power.name), b.number(limit)) for limit in limits)
    for name, bounds in facts.bounds.items():
        if name in facts.quotients or not name.isidentifier():
            continue
        for relation, values in ((">=", bounds.lower), ("<=", bounds.upper)):
            for value in map(facts.restore, values):
                if all(isinstance(atom, Symbol) and atom.name.isidentifier() for atom in value.atoms()):
                    found.append(b.binary(relation, b.name(name), to_tree(value)))
    return tuple(found)


def facts_of(condition: str) -> tuple[s.Fact, ...]:
    """What is known where a condition of a regime holds; nothing of alternatives."""
    return parse_facts(condition) if condition and " or " not in condition else ()


def fits(cost: Cost, known: Facts) -> bool:
    """Whether all arrays of a recursive algorithm are known to fit, in caches of however few lines."""
    return any(each.needs != (ONE_LINE,) and all(map(known.nonnegative, each.needs)) for each in cost.alternatives)


def growth_of_recurrence(cost: Cost, facts: tuple[s.Fact, ...]) -> tuple[Growth, ...] | str:
    """What the recurrence of io with a cut-off is O of under conditions, or why that is not known."""
    found = "" if cost.orders is None else cost.orders(facts)
    if isinstance(found, str):
        return found
    return tuple(Growth(None, parse_expression(each), (*facts, *facts_of(when)), when) for when, each in found)


def in_any_cache(costs: Costs, cost: Cost, growth: Growth, facts: tuple[s.Fact, ...], scope: Scope) -> bool:
    """Whether the growth of io under a condition is known of caches of few lines too; `scope` knows the facts."""
    there = with_all(scope.facts, facts_of(growth.when), scope)
    assert growth.upper is not None
    return fits(cost, there) or in_small_caches(costs, growth.upper, facts, scope.facts)


def in_small_caches(costs: Costs, bound: s.Expr, facts: tuple[s.Fact, ...], known: Facts) -> bool:
    """Whether io is O of a bound in tall caches of few lines, where Z and L are below constants.

    There it is compared as work, of which it is at most a constant times, or where that is unknown as what it is at
    most in any cache.
    """
    if known.nonnegative(WORDS - LINE.scaled(FEW_LINES)):
        return True
    small = ((b.name("Z"), FEW_LINES**2), (b.name("L"), FEW_LINES))
    few = (*facts, *(b.binary("<=", name, b.number(most)) for name, most in small))
    both = filter(None, (costs["work"], costs.metrics.get("io")))
    compared = next((each for each in both if each.lower is not None and each.upper is not None), None)
    if compared is None:
        return False
    return decide_growth("O", pieces(costs, compared, few, known), bound, lambda *_: False).outcome == "holds"


WHERE_SOME = ("work", "span")
"""The outermost call counts."""
SHARES = (fmpq(1, 4), fmpq(1, 64), fmpq(1, 1024))
MAX_PROOF = 20_000
MAX_NODES, MAX_NESTING = 8_000, 200
"""Longer bounds take minutes to compare, most of them in vain."""
UNDECIDED = "the derived bounds do not decide it"
Outcome = Literal["holds", "fails", "unknown"]


class Decided(NamedTuple):
    """Whether a cost grows as is claimed, why, and the proofs where it does."""

    outcome: Outcome
    reason: str
    proofs: tuple[Proved, ...] = ()


Confirm = Callable[[str, Mapping[str, object]], bool]
"""Whether a counterexample to O or Omega stands at its own sizes, the cost itself evaluated there."""


def decide_growth(relation: str, pieces: Sequence[Growth], bound: s.Expr, confirm: Confirm) -> Decided:
    """Whether a cost is O, Omega or Theta of an expression."""
    unknown, proofs = "", tuple[Proved, ...]()
    for piece in pieces:
        for side in sides_of(relation):
            outcome, reason, found = _one(side, piece, bound, confirm)
            proofs += found
            place = f"where {piece.when}: " if piece.when and piece.when != "otherwise" else ""
            if outcome == "fails":
                return Decided(outcome, place + reason)
            if outcome == "unknown":
                unknown = unknown or place + reason
    return Decided("unknown", unknown) if unknown else Decided("holds", "proved for all sizes", proofs)


def sides_of(relation: str) -> tuple[str, ...]:
    """The directions that a relation claims."""
    return ("O", "Omega") if relation == "Theta" else (relation,)


def _one(side: str, cost: Growth, bound: s.Expr, confirm: Confirm) -> Decided:
    """One direction: proved from the bound on that side, refuted from the one on the other side."""
    claim = Growth(bound, bound)
    if any(each is not None and _is_long(each) for each in (cost.lower, cost.upper)):
        return Decided("unknown", TOO_LONG)
    if side == "O" and cost.is_zero:
        return Decided("holds", "")
    try:
        domain = domain_of(cost.facts)
    except ArchlineError as problem:
        return Decided("unknown", problem.diagnostics[0].message)
    if domain is None:
        # Sizes of 0: growth is about sizes from 1 on.
        return Decided("holds", "")
    match dominated(cost, claim, domain) if side == "O" else dominated(claim, cost, domain):
        case Proved() as proof:
            return Decided("holds", "", (proof,))
        case Refuted() as refuted if confirm(side, refuted.counterexample):
            return Decided("fails", counterexample(refuted, side))
        case _ if side == "Omega" and cost.lower is not None and is_number(cost.lower, 0):
            return Decided("unknown", "no lower bound above 0 is known")
        case answer:
            return Decided("unknown", answer.reason if isinstance(answer, Undecided) else UNDECIDED)


def _is_long(expr: s.Expr) -> bool:
    """Whether an expression has too many parts, or calls of functions nested too deeply, to be compared."""
    pending, count = [(expr, 0)], 0
    while pending:
        part, depth = pending.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_NESTING:
            return True
        match part:
            case s.Unary(operand=operand):
                pending.append((operand, depth))
            case s.Binary(left=left, right=right):
                pending += ((left, depth), (right, depth + 1))
            case s.Call(arguments=arguments):
                pending += ((each, depth + 1) for each in arguments)
            case _:
                pass
    return False


def counterexample(refuted: Refuted, side: str) -> str:
    """The sizes at which the ratio passes any constant, as one can check by hand."""
    found = refuted.counterexample
    above, below = ("cost", "claim") if side == "O" else ("claim", "cost")
    if found["kind"] == "point":
        at = ", ".join(f"{name} = {value}" for name, value in found["at"].items())  # type: ignore[attr-defined]
        return f"at {at} the {above} is {found['f']} and the {below} {found['g']}"
    samples: list[dict[str, object]] = found["samples"]  # type: ignore[assignment]
    curve = ", ".join(f"{name} = {value}" for name, value in found["curve"].items())  # type: ignore[attr-defined]
    shown = "; ".join(_sample(each) for each in samples[:3])
    return f"the {above} over the {below} passes every constant along {curve}" + (f": {shown}" if shown else "")


def _sample(sample: dict[str, object]) -> str:
    at = ", ".join(f"{name} = {value}" for name, value in sample["at"].items())  # type: ignore[attr-defined]
    return f"{sample['ratio']} at {at}"


# Closed forms as the prover reads them
def _tree(costs: Costs, value: Poly, upper: bool) -> s.Expr:
    """An expression that the value is at most (upper) or at least, with powers of logarithms as powers of sizes."""
    if not upper:
        value = _without_maxima(value, fmpq(1)) if len(value.terms) <= 2 else value
    merged = _merged(value, upper)
    # Of b*floor((n - 1)/b), which is n at most, b*ceil(n/b) is not to be made: that may be b.
    terms = shortened(merged, blocks=not upper).terms.items()
    return b.total((number < 0, _term(costs, each, number, upper == (number > 0))) for each, number in terms)


def _lower(costs: Costs, value: Poly, facts: Facts) -> s.Expr:
    """An expression without differences that the value is at least, if one is proved for the integer sizes."""
    return without_differences(costs, value, facts) or _below(costs, value, value, facts)


def _below(costs: Costs, part: Poly, value: Poly, facts: Facts) -> s.Expr:
    """A part that a value is at least, without a number less: what is at least 1 and e - d is at least e/(1 + d)."""
    merged = _merged(part, False)
    less = min(fmpq(0), merged.constant_term)
    if less and merged != part and is_at_least(value, ONE, facts):
        part = (merged - less).scaled(1 / (1 - less))
    return _tree(costs, part, False)


def without_differences(costs: Costs, value: Poly, facts: Facts) -> s.Expr | None:
    """An expression without differences that the value is at least, proved for the integer sizes."""
    inner = _without_maxima(value, fmpq(1))
    if inner == value and all(coefficient > 0 for coefficient in value.terms.values()):
        return _below(costs, value, value, facts)
    # A maximum is at least the mean of what it is the larger of, which tells of both.
    plain = uncapped(value, facts, upper=False)
    first = [] if plain == value else [plain]
    for whole in dict.fromkeys((*first, _without_maxima(value, fmpq(1, 2)), value, inner)):
        positive = whole.positive_terms()
        for kept in (positive, _apart(positive, whole)):
            share = _share(value, kept, facts) if kept else None
            if share is not None:
                return _below(costs, kept.scaled(share), value, facts)
    whole = -without_blocks(-value, facts, floors=True)
    return None if whole == value else without_differences(costs, whole, facts)


def without_blocks(value: Poly, facts: Facts, floors: bool) -> Poly:
    """At least the value: e for m*floor(e/m), and for other `floors` by sizes, where that is added."""

    def is_least(each: Poly) -> bool:
        return facts.nonnegative(each.substitute(facts.rewrites))

    def turned(atom: Atom) -> Poly | None:
        # ceil(n/b) is floor((n - 1)/b) + 1.
        if not isinstance(atom, a.Floor) or atom.modulus.is_constant or not is_least(-atom.argument - 1):
            return None
        return -a.floor_div(-atom.argument - 1, atom.modulus) - 1

    found, pending = ZERO, list(value.map_atoms(turned).terms.items())
    while pending:
        monomial, coefficient = pending.pop()
        term = Poly({monomial: coefficient})
        for atom in (
            term.atoms() if coefficient > 0 and all(is_least(Poly.of_atom(each)) for each in term.atoms()) else ()
        ):
            if isinstance(atom, a.Floor) and not atom.modulus.is_constant and is_least(atom.argument):
                ((power, rest),) = term.coefficients(atom).items()
                divided = divide_exactly(rest, atom.modulus) or (rest if floors else None)
                if power > 0 and divided is not None:
                    term = divided * atom.argument * Poly.of_atom(atom, power - 1)
                    break
        else:
            found = found + term
            continue
        pending.extend(term.terms.items())
    return found


def _share(value: Poly, kept: Poly, facts: Facts) -> fmpq | None:
    """How much of some of its terms a value is proved to be at least; where the least share is not, no other is."""
    most, middle, least = SHARES
    if is_at_least(value, kept.scaled(most), facts):
        return most
    if not is_at_least(value, kept.scaled(least), facts):
        return None
    return middle if is_at_least(value, kept.scaled(middle), facts) else least


def _apart(positive: Poly, whole: Poly) -> Poly:
    """The positive terms that are no multiples of negative ones: (q - 1)*b + r is at least r, as q may be 1."""
    negative = [dict(monomial) for monomial, coefficient in whole.terms.items() if monomial and coefficient < 0]
    return Poly(
        {
            monomial: coefficient
            for monomial, coefficient in positive.terms.items()
            if not any(all(dict(monomial).get(x, 0) >= power for x, power in each.items()) for each in negative)
        }
    )


def _without_maxima(value: Poly, share: fmpq) -> Poly:
    """A share of e for each max(0, e) that is added, which is no less and harder to compare."""
    found = ZERO
    for monomial, coefficient in value.terms.items():
        rest = tuple((atom, power) for atom, power in monomial if not isinstance(atom, a.PositivePart))
        match [(atom, power) for atom, power in monomial if isinstance(atom, a.PositivePart)]:
            case [(a.PositivePart(argument=argument), 1)] if coefficient > 0:
                found = found + Poly({rest: coefficient * share}) * argument
            case _:
                found = found + Poly({monomial: coefficient})
    return found


def is_at_least(value: Poly, part: Poly, facts: Facts) -> bool:
    """Whether one value is proved to be at least another, with limited effort."""
    try:
        with budget(MAX_PROOF):
            rest = (value - part).substitute(facts.rewrites)
            if bounded_below(rest, facts):
                return True
            # max(0, e) is e at least, and so many times as much as its divisors say.
            inner = (_without_maxima(value, fmpq(1)) - part).substitute(facts.rewrites)
            whole = facts.multiplied_out(inner)
            return whole != inner and bounded_below(whole, facts)
    except TooComplexError:
        return False


def _merged(value: Poly, upper: bool) -> Poly:
    """One logarithm of each size is enough: ceil(log2(n + c)) is close to ceil(log2(n))."""
    total = ZERO
    for monomial, coefficient in value.terms.items():
        term = Poly.constant(coefficient)
        reduced = False
        for atom, power in monomial:
            factor = Poly.of_atom(atom)
            ends = _nearby(atom) if power > 0 else None
            if ends is not None:
                end = ends[upper == (coefficient > 0)]
                less = end.constant_term < 0
                # An end below 0 bounds no power, and no product with another such end.
                if not less or (power == 1 and not reduced):
                    factor, reduced = end, reduced or less
            term = term * factor**power
        total = total + term
    return total


def _nearby(atom: Atom) -> tuple[Poly, Poly] | None:
    """Bounds of ceil(log2(e)) in ceil(log2(n)), n >= 1, for an e that lies between c*n - d and c*n + d'.

    c*n/(1 + d) <= max(1, c*n - d), and c*n + d' <= n*(c + d').
    """
    if not isinstance(atom, a.CeilLog2):
        return None
    ends = []
    for upper in (False, True):
        value = bound_away(atom.argument, floor_by_number, Facts(), upper)
        size = ZERO if value is None else value - value.constant_term
        if value is None or len(size.terms) != 1:
            return None
        ((monomial, factor),) = size.terms.items()
        if factor <= 0 or not all(isinstance(each, Symbol) and power > 0 for each, power in monomial):
            return None
        more = max(fmpq(0), value.constant_term if upper else -value.constant_term)
        apart = a.ceil_log2(Poly.constant(factor + more if upper else (1 + more) / factor))
        ends.append(a.ceil_log2(Poly({monomial: fmpq(1)})) + (apart if upper else -apart))
    return ends[0], ends[1]


def _term(costs: Costs, monomial: Monomial, coefficient: fmpq, upper: bool) -> s.Expr:
    """A term without its sign."""
    powers: dict[_Level, list[tuple[int, int]]] = {}
    rest: list[tuple[Atom, int]] = []
    for atom, power in monomial:
        level = _level(atom)
        if isinstance(atom, a.Exponential) and level is not None:
            powers.setdefault(level, []).append((atom.base, power))
        else:
            rest.append((atom, power))
    scale = abs(coefficient)
    factors = [to_tree(Poly({tuple(rest): fmpq(1)}), costs.parameters)] if rest else []
    for level, bases in powers.items():
        scale *= level.room(prod((fmpq(number) ** power for number, power in bases), start=fmpq(1)), upper)
        logarithms = ((level.rate * power, b.call("log2", b.number(number))) for number, power in bases)
        exponent = b.total((False, b.product([b.number(times), each])) for times, each in logarithms)
        factors.append(b.power(to_tree(level.argument, costs.parameters), exponent))
    return b.product(factors if scale == 1 and factors else [b.number(scale), *factors])


@record
class _Level:
    """rate*log2(argument), rounded up (1) or down (-1) to an integer, or neither (0)."""

    argument: Poly
    rate: fmpq
    rounding: int

    def room(self, base: fmpq, upper: bool) -> fmpq:
        """What base^(rate*log2(argument)) is multiplied with to bound the power of the rounded exponent.

        b^ceil(y) lies between b^y and b*b^y, whichever is larger, and b^floor(y) between b^y and b^y/b.
        """
        rises = (base > 1) == (self.rounding > 0)
        return base**self.rounding if rises == upper else fmpq(1)


def _level(atom: Atom) -> _Level | None:
    """The exponent of an atom b^log2(x), b^ceil(log2(x)) or b^floor(c*log2(x)/m)."""
    if not isinstance(atom, a.Exponential):
        return None
    match a.single_atom(atom.exponent):
        case a.CeilLog2(argument=argument):
            return _Level(argument, fmpq(1), 1)
        case a.RealFunction(function="log2", argument=argument):
            return _Level(argument, fmpq(1), 0)
        case a.Floor(argument=value, modulus=modulus) if modulus.is_constant and len(value.terms) == 1:
            (factor,) = value.terms.values()
            match a.single_atom(value / factor):
                case a.RealFunction(function="log2", argument=argument) if factor > 0:
                    return _Level(argument, factor / modulus.constant_term, -1)
                case _:
                    pass
        case _:
            pass
    return None
