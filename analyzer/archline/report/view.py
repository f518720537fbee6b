"""Represent the contents of a report in any format: plain typed values, already checked and evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archline.expr.intervals import Number, Point
from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.growth import growths
from archline.numbers import format_point
from archline.records import field, record
from archline.resources import find_resource

if TYPE_CHECKING:
    from archline.claims.verdicts import Verdict
    from archline.energy.running import ExecutedRun
    from archline.expr.tree import Span
    from archline.language import syntax as s
    from archline.language.diagnostics import Diagnostic
    from archline.language.suppressions import Suppression
    from archline.report.communication import CommunicationView
    from archline.report.findings import CheckFinding
    from archline.report.paths import ExecutedPath


@record
class ValueRange:
    """A cost at a point: exact bounds, equal if the cost is exact."""

    lower: Number
    upper: Number

    def contains(self, count: Number) -> bool:
        """Test whether a count lies within the bounds."""
        return self.lower <= count <= self.upper


@record
class SourcePlace:
    """A place in a source: the end is exclusive, the path relative to the current folder if it is inside.

    Unknown numbers are 0, an unknown path is empty.
    """

    path: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @staticmethod
    def of(span: Span) -> SourcePlace:
        """Return the path, lines and columns of a span of a source: of a block, those of its header."""
        at = span.head
        return SourcePlace(make_path_relative(at.source.path), at.line, at.column, at.end_line, at.end_column)

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line) if part)


@record
class PlacedEdit:
    """A proposed edit of a file: `text` replaces the text at `place`."""

    place: SourcePlace
    text: str


@record
class RelatedPlace:
    """A place that a finding mentions, with a message about it."""

    place: SourcePlace
    message: str


def make_path_relative(path: str) -> str:
    """Return a path relative to the current folder if it is inside."""
    here = Path.cwd()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path


def make_path_relative_to_root(path: str, root: Path) -> str:
    """Return a path of a place relative to a project's root if it is inside; absolute elsewhere, empty for no path."""
    if not path:
        return ""
    whole = Path.cwd() / path
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)


def format_location(place: str) -> str:
    """Return `path:line` relative to the library's folder, `stdlib/dense/lu.algo:3`, or to the current one."""
    path, _, line = place.rpartition(":")
    library = find_resource("stdlib")
    file = Path(path)
    if file.is_relative_to(library):
        return f"stdlib/{file.relative_to(library).as_posix()}:{line}"
    return f"{make_path_relative(path)}:{line}"


@record
class Contract:
    """One `ensures` as text, its outcome (holds, fails, unknown), the reason, and the point where it fails.

    `certificates` prove growth that holds, if they are asked for. Of a failing or unknown one, `derived` is the cost as
    text, if it is known; if it fails only `fails_where`, at small sizes, `suggestion` is the same claim with a `when`
    under which it is proved to hold. A claim of a file has its `assumptions`.
    """

    text: str
    outcome: str
    reason: str
    point: Point | None
    place: SourcePlace
    certificates: tuple[Mapping[str, object], ...] = ()
    derived: str = ""
    suggestion: str = ""
    fails_where: str = ""
    assumptions: tuple[str, ...] = ()


@record
class StoppedRun:
    """A run on generated data that stops at a fault of the program: its rule, message and place, and the sizes."""

    code: str
    title: str
    message: str
    place: SourcePlace
    at: Point

    @staticmethod
    def of(problem: Diagnostic, at: Point) -> StoppedRun:
        """Return the run at sizes `at` that a diagnostic with a place stops."""
        assert problem.span is not None
        return StoppedRun(problem.rule.code, problem.rule.title, problem.message, SourcePlace.of(problem.span), at)

    @property
    def text(self) -> str:
        """A sentence on the diagnostic that stops the run, and a note that claims are decided for other runs."""
        at = f" at {format_point(self.at)}" if self.at else ""
        stopped = f"a run{at} on generated data stops here: {self.code}: {self.message}"
        return f"{stopped}. Claims are decided for the runs that end."


@record
class CheckedAlgorithm:
    """The contracts of an algorithm, or the claims of a file; a `stop` if a run of the algorithm is known to stop.

    `messages` says in which runs messages were checked; it is empty for algorithms that send none. Claims hold if the
    `assumptions` do, which are neither facts of the `where` nor proved.
    """

    name: str
    contracts: tuple[Contract, ...]
    stop: StoppedRun | None = None
    messages: str = ""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[CheckFinding, ...] = ()
    iterations: tuple[Mapping[str, Any], ...] = ()
    """The JSON documents of the sizes that count iterations of loops without a bound."""


@record
class CheckView:
    """The result of checking a target: verdicts on the contracts of each algorithm and the claims of its file."""

    target: str
    algorithms: tuple[CheckedAlgorithm, ...]
    claims: tuple[Contract, ...]
    path: str = ""
    """The file, as places name it."""
    suppressions: tuple[Suppression, ...] = ()
    errors: tuple[Diagnostic, ...] = ()
    """The errors of algorithms that have no answer, defects of archline among them."""

    @property
    def groups(self) -> tuple[CheckedAlgorithm, ...]:
        """The algorithms, then the claims, if there are any."""
        return (*self.algorithms, *([CheckedAlgorithm(f"claims of {self.target}", self.claims)] if self.claims else []))


@record
class BaselineEntry:
    """An entry of a baseline, at its `line`, that accepts the finding of a code about a claim of an algorithm."""

    code: str
    path: str
    algorithm: str
    claim: str
    baseline: str
    line: int

    @property
    def identity(self) -> tuple[str, ...]:
        """The code, path, algorithm and claim, which are those of the finding that the entry accepts."""
        return self.code, self.path, self.algorithm, self.claim


@record
class CheckedCounts:
    """The counts of an execution by metric, and their derived bounds, if they are known.

    `kinds` and `derived_kinds` are those of each kind of flops. On a grid the executed counts are of the longest path;
    `own` is the maximum over the processors, `total` the sum of all.
    """

    executed: Mapping[str, Number]
    derived: Mapping[str, ValueRange]
    statuses: Mapping[str, str]
    kinds: Mapping[str, Number]
    derived_kinds: Mapping[str, ValueRange]
    own: Mapping[str, Number] = field(default_factory=dict)
    total: Mapping[str, Number] = field(default_factory=dict)

    @property
    def outside(self) -> tuple[str, ...]:
        """The names of counts that lie outside their derived bounds, which is a defect of archline."""
        metrics = [
            name
            for name, values in self.derived.items()
            if name in self.executed and not values.contains(self.executed[name])
        ]
        kinds = [
            f"flops ({name})" for name, values in self.derived_kinds.items() if not values.contains(self.kinds[name])
        ]
        return (*metrics, *kinds)


@record(eq=False)
class RunView:
    """A run with its `counts` compared with derived bounds, and with lower bounds for the memory that it had.

    `unchecked` has by metric the reason that a count has no derived value to compare it with.
    """

    run: ExecutedRun
    counts: CheckedCounts
    data: str
    unchecked: Mapping[str, str]
    communication: CommunicationView | None
    path: ExecutedPath | None

    @property
    def timing(self) -> tuple[str, Fraction, Fraction] | None:
        """The machine, the time of the longest path, and the time with each metric on its own longest path.

        None if the run was not timed on a machine.
        """
        time, machine = self.run.counts.time, self.run.settings.machine
        return None if time is None or machine is None else (machine.name, *time)


def make_contract(verdict: Verdict, certificates: bool = False) -> Contract:
    """Return a verdict as reports show it; with `certificates`, the proofs of a claim that holds."""
    return Contract(
        format_contract(verdict.ensures),
        verdict.outcome,
        verdict.reason,
        verdict.deciding,
        SourcePlace.of(verdict.ensures.span),
        tuple(proof.certificate for proof in verdict.proofs) if certificates and verdict.outcome == "holds" else (),
        verdict.derived,
        format_contract(verdict.guarded.ensures) if verdict.guarded else "",
        verdict.guarded.fails_where if verdict.guarded else "",
    )


def format_contract(ensures: s.Ensures) -> str:
    """Return an `ensures` clause as text in canonical form, with its `when`."""
    subject, relation = ensures.subject, ensures.relation
    if relation in ("==", "<=", ">="):
        text: str = Formula(ensures.bound, f"{subject} {relation}")
    else:
        text = join_phrases(f"{subject} is ", growths.make_order_formula(relation, ensures.bound))
    return join_phrases(text, " when ", join_with_mark(map(Formula, ensures.when), ", ")) if ensures.when else text
