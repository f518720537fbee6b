"""How bounds on io come about: which references keep lines of the cache, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.analysis.cache.parallel import Schedule
from archline.analysis.cost import FEW_LINES, InFull, Kept, Orderless, Reached
from archline.claims.any_order_growth import per_line
from archline.claims.optimality import Attained
from archline.claims.published import Published
from archline.report.cost_view import CostView, Row
from archline.report.layout import wrap
from archline.report.numbers import ratio, readable

NEARLY = 1.05
"""Leading terms that are nearer than this are called the same."""
COMPULSORY = {
    "io": "the compulsory misses",
    "writebacks": "each line that is written, once",
    "bytes": "each line once, and twice if it is written",
}
"""What bounds a metric of the cache from below."""


def text(view: CostView, row: Row, width: int) -> Iterator[str]:
    """Each upper bound with what is held and fetched for it, then the lower bounds."""
    yield from wrap(
        f"derivation of the {row.metric} of {view.algorithm}: which references keep lines of the cache", width
    )
    if not row.alternatives:
        yield from _accessed(view, row, width)
    for each in row.alternatives:
        yield ""
        yield from wrap(f"where {each.when}: {row.metric} <= {view.text(each.upper)}", width)
        for kept in each.kept:
            yield from _indented(_told(view, kept), width)
    for found in () if row.reached is None else row.reached():
        yield ""
        yield from _reached(view, found, width)
    assert row.lower is not None
    yield ""
    yield from wrap(f"{row.metric} >= {view.text(row.lower)}, {COMPULSORY[row.metric]}", width)
    for part in row.touched:
        yield from _indented(_in_full(view, part), width)
    if row.touched:
        told = (
            "at sizes: a call fetches its footprint less Z/L lines, or what its calls and the loops between them fetch"
        )
        yield from wrap(told, width)
    if row.orderless is not None:
        yield from _any_order(view, row.orderless, width)
    for looked, lower in row.lowers:
        yield from wrap(
            f"{row.metric} >= {view.text(lower)}, by {looked}: each fetches its footprint less Z/L lines", width
        )
    if row.published is not None:
        yield ""
        yield from _published(row.published, width)


def _reached(view: CostView, found: Reached, width: int) -> Iterator[str]:
    """What a call by indices reaches, and what pays for it."""
    for array, box in found.parts:
        ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in box)
        yield from wrap(
            f"a call of `{found.algorithm}` accesses {array}[{ends}] at most, and fetches that where it fits",
            width,
        )
    if found.most is not None:
        where = f"where Z >= {FEW_LINES}*L"
        yield from wrap(f"{where}: its io <= {view.text(found.most)}, with that of all calls in it", width)


def _any_order(view: CostView, found: Orderless, width: int) -> Iterator[str]:
    """What any order of the same iterations has to fetch."""
    for each in found.floors:
        count = view.text(each.iterations)
        growth = per_line(count if len(each.iterations.terms) == 1 else f"({count})", each.power)
        yield from wrap(
            f"io is Omega({growth}): {count} iterations under any schedule, by the data that they access", width
        )
    if not found.floors and found.reason:
        yield from wrap(f"no lower bound for every schedule: {found.reason}", width)


_BESIDE = {
    "the same": "of the same growth as ours",
    "larger": "larger in growth than ours",
    "smaller": "smaller in growth than ours",
    "unknown": "it is not known whether the growth is the same",
}


def _published(found: Published, width: int) -> Iterator[str]:
    """Bounds of the literature, and how ours compare."""
    yield from wrap(f"published for PolyBench's {found.kernel}, in leading order, lines of one word (L = 1):", width)
    for each in found.bounds:
        beside = _BESIDE[each.relation]
        if each.times is not None:
            beside += f", its leading term is {ratio(each.times)} times ours"
        yield from _indented(f"io >= {each.text} ({each.by}): {beside}", width)
    if any(each.times is not None and each.times > NEARLY for each in found.bounds):
        yield from wrap("ours bounds the footprint of an array by that of each access alone", width)
    if found.because is not None:
        yield from wrap(found.because, width)
    for source in dict.fromkeys(f"{each.by}: {each.source}" for each in found.bounds):
        yield from _indented(source, width)


def attained(found: Attained) -> Iterator[tuple[str, str]]:
    """How near io is to what any order of the same iterations fetches, a line a regime."""
    name = "optimality"
    if found.floors:
        yield name, "Omega(" + " + ".join(found.floors) + ") for any schedule, and the compulsory misses"
        name = ""
    under = " and ".join(found.under)
    for each in found.regimes:
        where = " and ".join(filter(None, (under, each.when)))
        yield name, f"{each.text} where {where}" if where and each.factor is not None else each.text
        name = ""


def factors(row: Row) -> Iterator[str]:
    """The factors between the values of bounds, and to the lower bound for any schedule."""
    if row.values is None or not row.any_order or not row.values.lower:
        return
    upper, lower = Fraction(row.values.upper), Fraction(row.values.lower)
    said = f"{row.metric}: the upper bound is {ratio(upper / lower)} times the lower one"
    least = Fraction(row.any_order)
    if least != lower:
        said += f", and {ratio(upper / least)} times {readable(row.any_order)}, the lower bound for any schedule"
    yield said


def _in_full(view: CostView, found: InFull) -> str:
    """What each call touches in full."""
    ends = ", ".join(f"{view.text(low)}..{view.text(high + 1)}" for low, high in found.box)
    side = {"lower": " on its diagonal and below it", "upper": " on its diagonal and above it"}
    part = side.get(found.half, "")
    large = view.large(found)
    where = f" where {' and '.join(large)}" if large else ""
    return f"each call touches all of {found.array}[{ends}]{part}{where}"


def _accessed(view: CostView, row: Row, width: int) -> Iterator[str]:
    """By the number of accesses."""
    why = "" if row.why is None else f", as they cannot be followed: {row.why} ({row.place})"
    yield ""
    yield from wrap(f"every access counts as a miss{why}", width)
    for each in row.regimes:
        where = "" if each.when == "otherwise" else "where "
        yield from wrap(f"{where}{each.when}: io <= {view.text(each.upper)}", width)
    if not row.regimes and row.upper is not None:
        yield from wrap(f"io <= {view.text(row.upper)}", width)
    less = "at sizes, Z and L: no more than the lines of calls whose arrays fit, and what the others access themselves"
    yield from wrap(f"{less}, where loops share the lines that they walk along", width)


def _told(view: CostView, kept: Kept) -> str:
    where = f"line {kept.places[0]}" if len(kept.places) == 1 else f"lines {', '.join(map(str, kept.places))}"
    fetched = f"{view.text(kept.fetched)} fetched"
    if not kept.held:
        return f"{kept.array} ({where}): fetched at every access, {fetched}"
    through = "all through the run" if kept.loop is None else f"through the iterations of {kept.loop}"
    if kept.given_up:
        through += " but not within " + " and ".join(kept.given_up)
    lines = "1 line" if kept.held.is_constant and kept.held.constant_term == 1 else f"{view.text(kept.held)} lines"
    return f"{kept.array} ({where}): {lines} held {through}, {fetched}"


def _indented(line: str, width: int) -> Iterator[str]:
    for part in wrap(line, width - 4):
        yield f"    {part}"


def schedules(known: Sequence[Schedule], width: int) -> Iterator[str]:
    """What io is on several processors, by schedule."""
    for each in known:
        yield from _indented(f"{each.name}: {each.bound} ({each.source})", width)
