"""What a report shows, whatever its format: plain typed values, already checked and evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from archline.language import syntax as s
from archline.language.printer import format_expression, format_fact
from archline.records import field, record
from archline.report.numbers import point_text
from archline.resources import resource

if TYPE_CHECKING:
    from archline.algebra.polynomial import Poly
    from archline.analysis.cache.lru.distribution import LruCounts
    from archline.analysis.cache.lru.sleator_tarjan import FromLru
    from archline.analysis.cache.parallel import Schedule
    from archline.analysis.cost import InFull, Kept, Orderless, Reached, Tell
    from archline.analysis.metrics.tally import Step
    from archline.claims.optimality import Attained
    from archline.claims.published import Published
    from archline.claims.verdict import Verdict
    from archline.expr.tree import Span
    from archline.language.suppressions import Suppression
    from archline.report.communication import CommunicationView
    from archline.report.paths import ExecutedPath

Number = int | Fraction
NO_THETA = "no Theta: none holds at all sizes, or none is proved"
Point = Mapping[str, Number]


@record
class Values:
    """A cost at a point: exact bounds, the same where the cost is exact."""

    lower: Number
    upper: Number

    def hold(self, count: Number) -> bool:
        """Whether a count lies within."""
        return self.lower <= count <= self.upper


@record(eq=False)
class RegimeRow:
    """Bounds where a condition holds, as text (`otherwise` for what the ones before leave)."""

    when: str
    lower: Poly
    upper: Poly


@record(eq=False)
class AlternativeRow(RegimeRow):
    """An upper bound where all of `needs` are at least 0, and the references whose lines are kept for it."""

    kept: tuple[Kept, ...]
    needs: tuple[Poly, ...] = ()


@record(eq=False)
class Row:
    """One metric. `lower` and `upper` are None where it is unknown, for the reason `unknown` at `place`.

    `alternatives` hold wherever their conditions do, those of others or not; `lowers` are more lower bounds, with what
    they look at. `tell` gives the recurrence of a recursion. `orderless` is the bound for any order, `reached` tells
    what calls by indices reach, `touched` what calls touch in full. `evaluated`, `order` and `near` find the properties
    below, which a page that does not show them need not wait for.
    """

    metric: str
    status: str
    lower: Poly | None
    upper: Poly | None
    unknown: str | None
    place: str | None
    declared: tuple[str, ...]
    regimes: tuple[RegimeRow, ...] = ()
    alternatives: tuple[AlternativeRow, ...] = ()
    lowers: tuple[tuple[str, Poly], ...] = ()
    tell: Tell | None = None
    orderless: Orderless | None = None
    reached: Callable[[], tuple[Reached, ...]] | None = None
    touched: tuple[InFull, ...] = ()
    evaluated: Callable[[], tuple[Values | None, Number | None, str]] = lambda: (None, None, "")
    order: Callable[[], str | None] = lambda: None
    near: Callable[[], tuple[Attained | None, Published | None]] = lambda: (None, None)

    @cached_property
    def _evaluated(self) -> tuple[Values | None, Number | None, str]:
        return self.evaluated()

    @property
    def values(self) -> Values | None:
        """The cost at the view's point; None without a point, or where it has no rational value there."""
        return self._evaluated[0]

    @property
    def any_order(self) -> Number | None:
        """The lower bound for any order at the view's point."""
        return self._evaluated[1]

    @property
    def reason(self) -> str | None:
        """Why it is unknown, or has no value at the point."""
        return self._evaluated[2] or self.unknown

    @cached_property
    def growth(self) -> str | None:
        """Its order; None where that is not known."""
        return self.order()

    @property
    def open(self) -> str | None:
        """Why an exact cost has no Theta; None where it has one in each of its cases, or is 0."""
        return NO_THETA if self.exact and self.lower and "Theta" not in (self.growth or "") else None

    @cached_property
    def _near(self) -> tuple[Attained | None, Published | None]:
        return self.near()

    @property
    def attained(self) -> Attained | None:
        """How near io is to the least of any order."""
        return self._near[0]

    @property
    def published(self) -> Published | None:
        """Bounds on io of the literature."""
        return self._near[1]

    @property
    def exact(self) -> bool:
        """Whether both bounds are known and the same."""
        return self.lower is not None and self.lower == self.upper


@record
class Place:
    """Where something stands: the end is exclusive, the path relative to the current folder where it is inside.

    What is not known is 0, of the path empty.
    """

    path: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @staticmethod
    def of(span: Span) -> Place:
        """The place of a stretch of source."""
        return Place(relative(span.source.path), span.line, span.column, span.end_line, span.end_column)

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line) if part)


def relative(path: str) -> str:
    """A path from the current folder, where it is inside."""
    here = Path.cwd()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path


def from_root(path: str, root: Path) -> str:
    """A path of a place from a project's root, where it is inside; absolute elsewhere, empty if there is none."""
    if not path:
        return ""
    whole = Path.cwd() / path
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)


def shown_place(place: str) -> str:
    """`path:line` with the path from the library's folder, `stdlib/dense/lu.algo:3`, or from the current one."""
    path, _, line = place.rpartition(":")
    library = resource("stdlib")
    found = Path(path)
    if found.is_relative_to(library):
        return f"stdlib/{found.relative_to(library).as_posix()}:{line}"
    return f"{relative(path)}:{line}"


@record
class Contract:
    """One `ensures` as text, its outcome (holds, fails, unknown), why, and where it fails.

    `certificates` prove growth that holds, where they are asked for. Of a failing or unknown one, `derived` is the cost
    as text, if it is known; if it fails only `fails_where`, at small sizes, `suggestion` is the same claim with a
    `when` under which it is proved to hold. A claim of a file has `assumptions` of its own.
    """

    text: str
    outcome: str
    reason: str
    point: Point | None
    place: Place
    certificates: tuple[Mapping[str, object], ...] = ()
    derived: str = ""
    suggestion: str = ""
    fails_where: str = ""
    assumptions: tuple[str, ...] = ()


@record
class LruView:
    """Exact counts of LRU misses in lines of `line` words, or the `reason` at `place` why there are none.

    Without a point, `counts` has sizes as symbols. At one, `misses` has those of several numbers of lines; `bound` is
    what they tell of the io of the cache that was given.
    """

    line: int
    counts: LruCounts | None = None
    reason: str = ""
    place: str | None = None
    accesses: int = 0
    misses: tuple[tuple[int, int], ...] | None = None
    bound: FromLru | None = None


@record(eq=False)
class CostView:
    """The derived costs of an algorithm; `at` is the point of the rows' values.

    `symbols` are those of declared costs, such as the f of an extern that costs f flops.
    """

    algorithm: str
    place: str
    doc: str | None
    parameters: tuple[str, ...]
    symbols: tuple[str, ...]
    assumptions: tuple[str, ...]
    rows: tuple[Row, ...]
    kinds: tuple[Row, ...]
    contracts: tuple[Contract, ...]
    at: Point | None
    text: Callable[[Poly], str]
    """An expression of the view in the language's syntax, sizes in the algorithm's order."""
    derivation: tuple[Step, ...] = ()
    lru: LruView | None = None
    cache_assumed: bool = False
    """Whether the Z and L of the point are the default ones."""
    schedules: tuple[Schedule, ...] = ()
    """What io is on several processors under schedules out of serial order."""
    communication: CommunicationView | None = None
    """Lower bounds on words and messages, where the problem of an algorithm on a grid is known."""
    replicated: Point | None = None
    """The sizes of a run in which several processors read one element of the input."""
    on_grid: bool = False
    """Whether costs are those of paths through the processors of a grid, where there is no io."""
    serial: bool = False
    """Whether nothing runs in parallel, so that the span is the work."""
    case: Callable[[], CostView | None] = lambda: None
    """The costs where every axis of a grid has several processors, which is among `assumptions`, if that is shorter."""
    case_when: tuple[str, ...] = ()

    def large(self, found: InFull) -> list[str]:
        """How large extents are where calls touch a part in full."""
        return [f"{self.text(extent)} >= {least}" for extent, least in found.large]


@record
class Stop:
    """A run on generated data that a fault of the program stops: the rule, the message, the place and the sizes."""

    code: str
    title: str
    message: str
    place: Place
    at: Point

    @property
    def text(self) -> str:
        """What happens, and what that says of claims that hold."""
        at = f" at {point_text(self.at)}" if self.at else ""
        stopped = f"a run{at} on generated data stops here: {self.code}: {self.message}"
        return f"{stopped}. Claims are decided for the runs that end."


@record
class Group:
    """The contracts of an algorithm, or the claims of a file; a `stop` where such a run of the algorithm is known.

    `messages` says how far messages were checked; it is empty for algorithms that send none. Claims hold where the
    `assumptions` do, which are neither facts of the `where` nor proved.
    """

    name: str
    contracts: tuple[Contract, ...]
    stop: Stop | None = None
    messages: str = ""
    assumptions: tuple[str, ...] = ()


@record
class CheckView:
    """What a target ensures: the contracts of each algorithm, and the claims of its file."""

    target: str
    algorithms: tuple[Group, ...]
    claims: tuple[Contract, ...]
    path: str = ""
    """The file, as places name it."""
    suppressions: tuple[Suppression, ...] = ()

    @property
    def groups(self) -> tuple[Group, ...]:
        """The algorithms, then the claims, if there are any."""
        return (*self.algorithms, *([Group(f"claims of {self.target}", self.claims)] if self.claims else []))


@record
class Accepted:
    """An entry of a baseline, at its `line`, that takes over the finding of a code about a claim of an algorithm."""

    code: str
    path: str
    algorithm: str
    claim: str
    baseline: str
    line: int

    @property
    def about(self) -> tuple[str, ...]:
        """What it has in common with the finding that it takes over."""
        return self.code, self.path, self.algorithm, self.claim


@record
class Counts:
    """What an execution counted, by metric, and what was derived for it where there is a derivation.

    `kinds` and `derived_kinds` say the same of each kind of flops. On a grid what is executed is the longest path;
    `own` is the most that one processor did, `total` what all did.
    """

    executed: Mapping[str, Number]
    derived: Mapping[str, Values]
    statuses: Mapping[str, str]
    kinds: Mapping[str, Number]
    derived_kinds: Mapping[str, Values]
    own: Mapping[str, Number] = field(default_factory=dict)
    total: Mapping[str, Number] = field(default_factory=dict)

    @property
    def outside(self) -> tuple[str, ...]:
        """The counts that lie outside their derived bounds: a defect."""
        metrics = [
            name
            for name, values in self.derived.items()
            if name in self.executed and not values.hold(self.executed[name])
        ]
        kinds = [f"flops ({name})" for name, values in self.derived_kinds.items() if not values.hold(self.kinds[name])]
        return (*metrics, *kinds)


@record
class CacheView:
    """The cache that io was counted for; `processors` and `schedule` where there is one a processor.

    `levels` are the names, words and words in a line of further caches, each counted by itself.
    """

    words: int
    line: int
    policy: str
    chosen: bool
    processors: int = 1
    schedule: str | None = None
    levels: tuple[tuple[str, int, int], ...] = ()


@record
class MatrixView:
    """The matrix of a run: rows, columns, nonzeros, most in a row, most in a column; its block size, if blocked."""

    path: str
    n: int
    m: int
    nz: int
    nr: int
    nc: int
    block: int | None = None


@record
class RunView:
    """A run. `unchecked` says by metric why a count has no derived value to be held against.

    `communication` has lower bounds for the memory that the run had, `replicated` tells whether several processors read
    one element of the input. `timed` is the time on a machine, along the path that takes longest, and with each metric
    of its own longest path.
    """

    algorithm: str
    at: Point
    counts: Counts
    cache: CacheView | None
    matrix: MatrixView | None
    data: str
    unchecked: Mapping[str, str]
    processor_io: tuple[int, ...] = ()
    timed: tuple[str, Fraction, Fraction] | None = None
    communication: CommunicationView | None = None
    replicated: bool = False
    path: ExecutedPath | None = None


def contract(verdict: Verdict, certificates: bool = False) -> Contract:
    """A verdict as reports show it, with the `certificates` of what holds or without."""
    return Contract(
        contract_text(verdict.ensures),
        verdict.outcome,
        verdict.reason,
        verdict.deciding,
        Place.of(verdict.ensures.span),
        tuple(each.certificate for each in verdict.proofs) if certificates and verdict.outcome == "holds" else (),
        verdict.derived,
        contract_text(verdict.guarded.ensures) if verdict.guarded else "",
        verdict.guarded.fails_where if verdict.guarded else "",
    )


def contract_text(ensures: s.Ensures) -> str:
    """The `ensures` as the source has it, in canonical form."""
    bound = format_expression(ensures.bound)
    relation = ensures.relation
    comparison = relation in ("==", "<=", ">=")
    text = f"{ensures.subject} {relation} {bound}" if comparison else f"{ensures.subject} is {relation}({bound})"
    when = ", ".join(format_fact(fact) for fact in ensures.when)
    return f"{text} when {when}" if when else text
