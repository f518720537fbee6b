"""One formula for all sizes, or one for each case that applies at the root, and the walls where a leaf jumps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.recurrences.asymptotic.logspace.compare import Formula, covered, equals, formula_for
from archline.recurrences.asymptotic.logspace.cones import Cone, Vector, whole
from archline.recurrences.asymptotic.logspace.numbers import approximate, sign
from archline.recurrences.asymptotic.logspace.paths import PathCosts, follow, pieces, regions
from archline.recurrences.asymptotic.logspace.system import LogInequality, System
from archline.recurrences.asymptotic.logspace.text import Printer


@dataclass(frozen=True)
class GrowthRegime:
    """The growth where one of these cases applies at the root."""

    cases: tuple[int, ...]
    formula: Formula


def regimes(system: System, found: Sequence[PathCosts]) -> list[GrowthRegime]:
    """One regime where a formula serves everywhere, else several, the recursion's last. Raises OutOfReachError."""
    for piece in found:
        _refuse_thin(system, piece)
    whole = formula_of(found)
    groups: dict[int, list[PathCosts]] = {}
    for piece in found:
        groups.setdefault(root_case(piece), []).append(piece)
    main = _by_case(system, groups) if whole is None else [GrowthRegime(tuple(groups), whole)]
    return [*_walls(system, main), *main]


def _refuse_thin(system: System, piece: PathCosts) -> None:
    """Raise OutOfReachError where a segment shorter than one level may be left out, though its cost would show."""
    # The root itself is never left out, but only one of the cases of a tie applies there.
    at_root = system.rules[piece.path.segments[0].motion.first].terms if piece.path.segments else ()
    short = {i: each.length for i, each in enumerate(piece.path.segments) if i or len(each.motion.cases) > 1}
    for length in short.values():
        edge = piece.region.face(length)
        if not edge.rays:
            continue
        gone = [i for i, each in short.items() if edge.sign(each) == 0]
        kept = tuple(
            dict.fromkeys(
                cost.term
                for cost in piece.costs
                if cost.segment not in gone or (cost.segment == 0 and cost.source in at_root)
            )
        )
        if not all(covered(term, kept, edge) for term in piece.terms):
            text = Printer(system.names.all).equation(length)
            raise OutOfReachError(f"the growth jumps where {text}: levels that cost much are met only beyond")


def root_case(piece: PathCosts) -> int:
    """The case that applies at the root."""
    return piece.path.segments[0].motion.first if piece.path.segments else piece.path.leaf


def formula_of(found: Sequence[PathCosts], others: Sequence[PathCosts] = ()) -> Formula | None:
    """One formula for all pieces. Terms of others may take part in it."""
    terms = [term for piece in others for term in piece.terms]
    plain = formula_for([(piece.region, piece.terms) for piece in found], terms)
    return formula_for([(piece.region, piece.exact) for piece in found], terms) if plain is None else plain


def _by_case(system: System, groups: dict[int, list[PathCosts]]) -> list[GrowthRegime]:
    """The leaves each by themselves, and the recursion as a whole if it has one formula."""
    leaves = [case for case in sorted(groups) if system.rules[case].step is None]
    inner = [case for case in sorted(groups) if system.rules[case].step is not None]
    result = [_regime((case,), groups[case]) for case in leaves]
    ended = [piece for case in leaves for piece in groups[case]]
    whole = formula_of([piece for case in inner for piece in groups[case]], ended)
    if whole is not None:
        return [*result, GrowthRegime(tuple(inner), whole)] if inner else result
    return [*result, *(_regime((case,), groups[case]) for case in inner)]


def _regime(cases: tuple[int, ...], found: Sequence[PathCosts]) -> GrowthRegime:
    formula = formula_of(found)
    if formula is None:
        raise OutOfReachError("the growth jumps from some sizes to their neighbours, within one case")
    return GrowthRegime(cases, formula)


def _walls(system: System, main: Sequence[GrowthRegime]) -> list[GrowthRegime]:
    """Cases that apply on an edge of the sizes alone, as P <= 1 does, where they differ from the growth beside."""
    formulas = {case: regime.formula for regime in main for case in regime.cases}
    result: dict[int, list[PathCosts]] = {}
    for edge in _edges(system):
        for path in follow(system, edge):
            for piece in pieces(system, path):
                _refuse_thin(system, piece)
                case = root_case(piece)
                if equals(formulas.get(case, main[-1].formula), piece.terms, piece.region):
                    continue
                if case in formulas:
                    raise OutOfReachError("the growth jumps at an edge of the sizes, within one case")
                result.setdefault(case, []).append(piece)
    return [_regime((case,), result[case]) for case in sorted(result)]


def _edges(system: System) -> Iterator[Cone]:
    """The faces of the regions where the row of some condition is just equal, unless the facts keep away from them."""
    rows = [row for rule in system.rules for part in rule.when for row in part]
    facts = [row for fact in system.facts if len(fact) == 1 for row in fact[0]]
    for region in regions(system):
        seen: set[Vector] = set()
        for row in rows:
            line = _line(row)
            if line in seen or region.sign(row.form) in (0, None):
                continue
            seen.add(line)
            edge = region.face(row.form)
            reach = max(_distance(each) for each in rows if _line(each) == line)
            kept_off = max((_distance(each) for each in facts if _line(each) == line and each.shift < 0), default=0.0)
            if edge.rays and kept_off <= reach:
                yield edge


def _line(row: LogInequality) -> Vector:
    """A row's form up to its scale and sign."""
    form = whole(row.form)
    return form if sign(next(x for x in form if x)) > 0 else tuple(-x for x in form)


def _distance(row: LogInequality) -> float:
    """How far from equality of its form a comparison changes, in units of the small whole numbers."""
    scale = next(approximate(y) / approximate(x) for x, y in zip(row.form, whole(row.form), strict=True) if x)
    return abs(row.shift) * scale
