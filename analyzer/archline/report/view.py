"""What a report shows, whatever its format: plain typed values, already checked and evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.growth.growths import make_order_formula
from archline.language import syntax as s
from archline.numbers import point_text
from archline.records import field, record
from archline.resources import resource

if TYPE_CHECKING:
    from archline.claims.verdicts import Verdict
    from archline.energy.running import ExecutedRun
    from archline.expr.tree import Span
    from archline.language.diagnostics import Diagnostic
    from archline.language.suppressions import Suppression
    from archline.report.communication import CommunicationView
    from archline.report.findings import CheckFinding
    from archline.report.paths import ExecutedPath

Number = int | Fraction
Point = Mapping[str, Number]


@record
class ValueRange:
    """A cost at a point: exact bounds, the same where the cost is exact."""

    lower: Number
    upper: Number

    def hold(self, count: Number) -> bool:
        """Whether a count lies within."""
        return self.lower <= count <= self.upper


@record
class SourcePlace:
    """Where something stands: the end is exclusive, the path relative to the current folder where it is inside.

    What is not known is 0, of the path empty.
    """

    path: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @staticmethod
    def of(span: Span) -> SourcePlace:
        """The place of a stretch of source."""
        return SourcePlace(relative(span.source.path), span.line, span.column, span.end_line, span.end_column)

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
    place: SourcePlace
    certificates: tuple[Mapping[str, object], ...] = ()
    derived: str = ""
    suggestion: str = ""
    fails_where: str = ""
    assumptions: tuple[str, ...] = ()


@record
class StoppedRun:
    """A run on generated data that a fault of the program stops: the rule, the message, the place and the sizes."""

    code: str
    title: str
    message: str
    place: SourcePlace
    at: Point

    @staticmethod
    def of(found: Diagnostic, at: Point) -> StoppedRun:
        """What stopped a run at sizes."""
        assert found.span is not None
        return StoppedRun(found.rule.code, found.rule.title, found.message, SourcePlace.of(found.span), at)

    @property
    def text(self) -> str:
        """What happens, and what that says of claims that hold."""
        at = f" at {point_text(self.at)}" if self.at else ""
        stopped = f"a run{at} on generated data stops here: {self.code}: {self.message}"
        return f"{stopped}. Claims are decided for the runs that end."


@record
class CheckedAlgorithm:
    """The contracts of an algorithm, or the claims of a file; a `stop` where such a run of the algorithm is known.

    `messages` says how far messages were checked; it is empty for algorithms that send none. Claims hold where the
    `assumptions` do, which are neither facts of the `where` nor proved.
    """

    name: str
    contracts: tuple[Contract, ...]
    stop: StoppedRun | None = None
    messages: str = ""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[CheckFinding, ...] = ()


@record
class CheckView:
    """What a target ensures: the contracts of each algorithm, and the claims of its file."""

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
class CheckedCounts:
    """What an execution counted, by metric, and what was derived for it where there is a derivation.

    `kinds` and `derived_kinds` say the same of each kind of flops. On a grid what is executed is the longest path;
    `own` is the most that one processor did, `total` what all did.
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
        """The counts that lie outside their derived bounds: a defect."""
        metrics = [
            name
            for name, values in self.derived.items()
            if name in self.executed and not values.hold(self.executed[name])
        ]
        kinds = [f"flops ({name})" for name, values in self.derived_kinds.items() if not values.hold(self.kinds[name])]
        return (*metrics, *kinds)


@record(eq=False)
class RunView:
    """A run with its `counts` compared with derived bounds, and with lower bounds for the memory that it had.

    `unchecked` says by metric why a count has no derived value to compare it with.
    """

    run: ExecutedRun
    counts: CheckedCounts
    data: str
    unchecked: Mapping[str, str]
    communication: CommunicationView | None
    path: ExecutedPath | None

    @property
    def timed(self) -> tuple[str, Fraction, Fraction] | None:
        """The time on a machine, along the path that takes longest, and with each metric of its own longest path."""
        time, machine = self.run.counts.time, self.run.settings.machine
        return None if time is None or machine is None else (machine.name, *time)


def contract(verdict: Verdict, certificates: bool = False) -> Contract:
    """A verdict as reports show it, with the `certificates` of what holds or without."""
    return Contract(
        contract_text(verdict.ensures),
        verdict.outcome,
        verdict.reason,
        verdict.deciding,
        SourcePlace.of(verdict.ensures.span),
        tuple(each.certificate for each in verdict.proofs) if certificates and verdict.outcome == "holds" else (),
        verdict.derived,
        contract_text(verdict.guarded.ensures) if verdict.guarded else "",
        verdict.guarded.fails_where if verdict.guarded else "",
    )


def contract_text(ensures: s.Ensures) -> str:
    """The `ensures` as the source has it, in canonical form."""
    subject, relation = ensures.subject, ensures.relation
    if relation in ("==", "<=", ">="):
        text: str = Formula(ensures.bound, f"{subject} {relation}")
    else:
        text = join_phrases(f"{subject} is ", make_order_formula(relation, ensures.bound))
    return join_phrases(text, " when ", join_with_mark(map(Formula, ensures.when), ", ")) if ensures.when else text
