"""Build the lower bounds on words and messages, compared with derived costs, and the sentences that reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from archline.analysis.cost import Cost, enclose_count
from archline.claims.communication_bounds import CommunicationBounds, Ends, LowerBound
from archline.claims.communication_nearness import BoundRatio, compare_words_to_bound
from archline.costs.communication import describe_replication
from archline.costs.derived import DerivedCosts
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Number
from archline.expr.text import Formula, format_expression, join_phrases, prefix_relation
from archline.growth.normal_form import expand_with_equal_extrema, format_sum
from archline.language import syntax as s
from archline.language.substitution import build_processor_count
from archline.numbers import format_exact, format_short
from archline.records import field, record
from archline.report.documents import Item, Section, iterate_text_parts
from archline.report.json import pick
from archline.report.layout import render_block

if TYPE_CHECKING:
    from archline.execution.results import RunCounts


@record
class BoundView:
    """A lower bound on words: `cases` of (condition, bound), or its `growth` alone.

    `value` is the bound at the view's point, `near` the ratio of the derived words to the bound.
    """

    kind: str
    source: str
    theorem: str
    assumptions: tuple[str, ...]
    cases: tuple[tuple[str, Formula], ...] = ()
    growth: Formula | None = None
    near: BoundRatio = field(default_factory=BoundRatio)
    value: Ends | None = None

    @staticmethod
    def of(bound: LowerBound, near: BoundRatio, value: Ends | None) -> BoundView:
        """Return the view of a bound, with its ratio to the derived words and its value."""
        cases = tuple((case.condition, case.bound) for case in bound.cases)
        return BoundView(bound.kind, bound.source, bound.theorem, bound.assumptions, cases, bound.growth, near, value)


@record
class CommunicationView:
    """The lower bounds of the problem that an algorithm on a grid solves.

    `where` defines P, M and other letters. If several processors of a run read one element of the input, `replicated`
    has the sizes of the run and `bounds` is empty. `words` and `messages` are the derived or executed counts at the
    point, with the `memory` and the number of `processors` that the bounds are for.
    """

    problem: str
    any: str
    title: str
    where: tuple[str, ...]
    bounds: tuple[BoundView, ...]
    replicated: Mapping[str, Number] | None = None
    words: Ends | None = None
    messages: Ends | None = None
    memory: Fraction | None = None
    processors: Number | None = None

    def __str__(self) -> str:
        return "\n".join(render_block(iterate_text_parts(iterate_page_items(self), 100), 100))

    @property
    def best(self) -> Ends | None:
        """The largest of the bounds on words that have a value; None if none has one."""
        values = [bound.value for bound in self.bounds if bound.value is not None]
        return max(values, default=None)

    @property
    def least_messages(self) -> Ends | None:
        """The lower bound on messages: `best` divided by the memory, rounded up, and at least 0.

        None if either is unknown, or the memory is 0.
        """
        if self.best is None or not self.memory:
            return None
        low, high = (max(Fraction(0), Fraction(ceil(end / self.memory))) for end in self.best)
        return low, high


def format_processor_count(count: Number) -> str:
    """Return a number of processors as text: `on 9 processors`."""
    return f"on {format_exact(count)} processor{'' if count == 1 else 's'}"


def format_ratio_to_bound(count: Ends, bound: Ends) -> str:
    """Compare a count with a bound: `attained`, `within a factor 2.47`; `vacuous` if the bound is not positive.

    A count below a bound shows that an assumption of the bound is wrong, such as that all processors do the same.
    """
    low, high = bound
    if count == bound and low == high:
        return "attained"
    if high <= 0:
        return "vacuous: at most 0"
    if low <= 0:
        return "the bound is not known to be positive"
    if count[1] < low:
        return "below the bound, whose assumptions do not hold"
    return f"within a factor {_format_rounded_up(count[1] / low)}"


def _format_rounded_up(ratio: Fraction) -> str:
    """Format a factor rounded up: below 100 with three decimals, from 100 on as an integer."""
    if ratio >= 10**6:
        return format_short(ratio)
    return f"{-(-ratio * 1000 // 1) / 1000:.3f}".rstrip("0").rstrip(".") if ratio < 100 else str(-(-ratio // 1))


def format_lower_bound(ends: Ends) -> str:
    """Return a lower bound as a number, rounded down unless it is an integer."""
    low, high = ends
    if low == high and low.denominator == 1:
        return format_exact(low)
    return f"{float((low * 1000) // 1) / 1000:.3f}".rstrip("0").rstrip(".") if abs(low) < 10**9 else format_short(low)


def make_bound_formula(ends: Ends) -> Formula:
    """Return the number of a lower bound with its relation, `>= 3`."""
    return Formula(s.Real(format_lower_bound(ends), span=b.DERIVED), ">=")


def describe_nearness(near: BoundRatio) -> Iterator[str]:
    """Yield the proved relations between the derived words and a bound: their ratio, and where the bound is vacuous."""
    if near.attained:
        yield "attained"
    elif near.ratio:
        most = "" if near.exact else "at most "
        yield f"words tend to {most}{near.ratio} times the bound"
    elif near.factor:
        factor = "a constant" if near.factor == "1" else join_phrases("O(", near.factor, ")")
        where = (" where ", near.where) if near.where else ()
        yield join_phrases("words are within ", factor, " of its leading term", *where)
    if near.vacuous:
        yield join_phrases("vacuous where ", near.vacuous)


def make_json_document(view: CommunicationView) -> dict[str, Any]:
    """Return the JSON document of the bounds."""
    result = {
        **pick(view, "problem", "computes=title", "where"),
        "bounds": list(map(_make_bound_document, view.bounds)),
    }
    if view.replicated is not None:
        result["reason"] = describe_replication(view.replicated, True)
    if view.best is not None:
        result["words"] = _make_ratio_document(view.best, view.words)
    if view.least_messages is not None:
        result["messages"] = _make_ratio_document(view.least_messages, view.messages)
    return result


def _make_bound_document(bound: BoundView) -> dict[str, Any]:
    near = pick(bound.near, "ratio", "factor", "factor_where=where", "vacuous_where=vacuous")
    result: dict[str, Any] = {
        "metric": "words",
        "kind": bound.kind,
        "cases": [{"when": when, "bound": text} for when, text in bound.cases],
        **pick(bound, "growth", "source", "theorem", "assumptions", "attained=near.attained"),
        **{name: text or None for name, text in near.items()},
    }
    if bound.value is not None:
        result["value"] = _round_outward(bound.value)
        result["vacuous"] = bound.value[1] <= 0
    return result


def _round_outward(value: Ends) -> dict[str, str]:
    """Return both bounds as text; those of an irrational number are rounded outward to a multiple of 1/10^6."""
    low, high = value
    if low != high:
        low, high = Fraction(low * 10**6 // 1, 10**6), Fraction(-(-high * 10**6 // 1), 10**6)
    return {"lower": format_exact(low), "upper": format_exact(high)}


def _make_ratio_document(bound: Ends, count: Ends | None) -> dict[str, Any]:
    positive = bound[0] > 0
    ratio = (
        None
        if count is None or not positive
        else format_exact(-(-(count[1] / bound[0]) * 10**6 // 1) / Fraction(10**6))
    )
    return {
        "at_least": _round_outward((max(bound[0], Fraction(0)), max(bound[1], Fraction(0))))["lower"],
        "vacuous": bound[1] <= 0,
        "factor": ratio,
    }


def iterate_page_items(view: CommunicationView) -> Iterator[Item]:
    """Yield a section of the problem, and one for each bound, with its value if it has one."""
    yield Section(f"lower bounds on communication, for any {view.any}: {view.title}", view.where)
    if view.replicated is not None:
        yield describe_replication(view.replicated, True)
        return
    for lines in (*(_describe_bound(view, bound) for bound in view.bounds), _describe_message_bound(view)):
        yield from ("", Section("", tuple(lines)))


def _describe_bound(view: CommunicationView, bound: BoundView) -> Iterator[str]:
    if bound.growth is not None:
        yield join_phrases("words are ", bound.growth, f", {bound.kind}")
    for condition, least in bound.cases:
        where = (" where ", condition) if condition else (" otherwise",) if len(bound.cases) > 1 else ()
        yield join_phrases(prefix_relation("words >=", least), *where, f", {bound.kind}")
    if bound.value is not None:
        near = "" if view.words is None else f": {format_ratio_to_bound(view.words, bound.value)}"
        yield f"at these sizes words >= {format_lower_bound(bound.value)}{near}"
    yield from describe_nearness(bound.near)
    yield f"since {bound.theorem}"
    yield f"source: {bound.source}"
    yield f"assumes {'; '.join(bound.assumptions)}"


def _describe_message_bound(view: CommunicationView) -> Iterator[str]:
    yield "messages >= words/M, as a message has M words at most: Demmel et al., IPDPS 2013, equation (4)"
    if view.least_messages is not None:
        near = "" if view.messages is None else f": {format_ratio_to_bound(view.messages, view.least_messages)}"
        yield f"at these sizes messages >= {format_lower_bound(view.least_messages)}{near}"
    yield (
        "the bounds on words are for what some processor receives; the derived words are no fewer, as each step of the "
        "critical path counts the larger of what it sends and receives"
    )


def describe_run_bounds(view: CommunicationView) -> Iterator[str]:
    """Compare the counts of a run with the largest bound: yield a sentence each for words and messages."""
    if view.best is None or view.words is None or view.memory is None:
        return
    kind = next(bound.kind for bound in view.bounds if bound.value == view.best)
    with_ = f"any {view.any} with these {view.memory} words of memory"
    if view.best[1] <= 0:
        near = "attained" if view.words == view.best else "vacuous at these sizes"
        yield f"lower bounds for {with_} are {near}: words >= 0"
        return
    near = format_ratio_to_bound(view.words, view.best)
    yield f"lower bound for {with_}: words >= {format_lower_bound(view.best)}, {near} ({kind})"
    if view.least_messages is not None and view.messages is not None:
        near = format_ratio_to_bound(view.messages, view.least_messages)
        yield f"lower bound on its messages: {format_lower_bound(view.least_messages)}, {near}"


def build_communication_view(derived: DerivedCosts, at: Mapping[str, Number] | None) -> CommunicationView | None:
    """Build the lower bounds, evaluated `at` a point and compared with derived costs; None for an unknown problem."""
    problem, costs = derived.communication, derived.without_io
    bounds = None if problem is None else problem.bounds
    if problem is None or bounds is None:
        return None
    if problem.replicating_run is not None:
        return _make_replicated_view(bounds, problem.replicating_run)
    memory = None if at is None else _evaluate_cost(costs["memory"], at)
    words, messages = (None if at is None else _evaluate_cost(costs[name], at) for name in ("words", "messages"))
    # Words of memory are whole numbers.
    held = None if memory is None else Fraction(floor(memory[1]))
    return _make_view(
        bounds, at, held, words, messages, lambda bound: compare_words_to_bound(problem.module, costs, bounds, bound)
    )


def build_run_bounds(
    derived: DerivedCosts, at: Mapping[str, Number], counts: RunCounts, replicated: bool
) -> CommunicationView | None:
    """Build the lower bounds for the memory of a run, compared with its counts.

    If data is `replicated`, the bounds are shown without the comparison. None if bounds or counts are unknown.
    """
    bounds = None if derived.communication is None else derived.communication.bounds
    if bounds is None or counts.words is None:
        return None
    if replicated:
        return _make_replicated_view(bounds, at)
    words, messages = ((Fraction(count or 0),) * 2 for count in (counts.words, counts.messages))
    # Counts are not compared in symbols here: that takes time, and a run has numbers only.
    return _make_view(bounds, at, Fraction(counts.memory), words, messages, lambda _: BoundRatio())


def _make_replicated_view(bounds: CommunicationBounds, replicated: Mapping[str, Number]) -> CommunicationView:
    problem = bounds.solved.problem
    return CommunicationView(bounds.solved.name, str(problem["any"]), bounds.title, (), (), replicated)


def _make_view(
    bounds: CommunicationBounds,
    at: Mapping[str, Number] | None,
    memory: Fraction | None,
    words: Ends | None,
    messages: Ends | None,
    near: Callable[[LowerBound], BoundRatio],
) -> CommunicationView:
    values = {} if at is None else bounds.evaluate_bounds(at, memory)
    shown = tuple(BoundView.of(bound, near(bound), values.get(bound.kind)) for bound in bounds.bounds)
    placed = {} if at is None else bounds.with_processor_count(at)
    return CommunicationView(
        bounds.solved.name,
        str(bounds.solved.problem["any"]),
        bounds.title,
        tuple(_format_letter_definitions(bounds)),
        shown,
        None,
        words,
        messages,
        memory,
        placed.get("P"),
    )


def _format_letter_definitions(bounds: CommunicationBounds) -> list[str]:
    """Return the definitions of the letters of the bounds in the sizes of the algorithm."""
    processors = build_processor_count(bounds.algorithm)
    definitions = [] if processors is None else [f"P = {format_sum(expand_with_equal_extrema(processors))}"]
    exact = any(bound.needs_memory and bound.held is not None for bound in bounds.bounds)
    if bounds.registers and exact:
        definitions.append(f"{bounds.letter} = memory + {bounds.registers}, of registers")
    elif bounds.letter != "memory":
        definitions.append(f"{bounds.letter} = memory")
    texts = " ".join(f"{case.condition} {case.bound}" for bound in bounds.bounds for case in bound.cases)
    solved = bounds.solved
    if "a/b" in texts:
        sizes = ", ".join(format_expression(size) for size in solved.sizes.values())
        definitions.append(f"a >= b >= c are {sizes} in order")
    if solved.most is not None and "Q" in texts:
        count = format_expression(solved.operation_count)
        definitions.append(f"Q = {count}/({format_expression(solved.most)})")
    return definitions


def _evaluate_cost(cost: Cost, point: Mapping[str, Number]) -> Ends | None:
    if cost.lower is None or cost.upper is None:
        return None
    try:
        return enclose_count(cost, point).ends
    except EvaluationError:
        return None
