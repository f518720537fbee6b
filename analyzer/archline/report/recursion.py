"""The derivation of a recursive algorithm, as a textbook sets it out: recurrence, solution, proof by induction."""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra.atoms import Applied
from archline.algebra.polynomial import Poly
from archline.recurrences.model import Case, Claim, Line, Range, Recurrence
from archline.report.cost_view import CostView, Row
from archline.report.layout import indented, table, wrap

OTHERWISE = "otherwise"
MAX_WRITTEN = 60
_NAMES = {"=": "the solution", ">=": "the lower bound", "<=": "the upper bound"}


def text(view: CostView, row: Row, recurrence: Recurrence, width: int) -> list[str]:
    """The lines of the derivation of one metric."""
    return list(_Writer(view, row, recurrence, width).lines())


class _Writer:
    def __init__(self, view: CostView, row: Row, recurrence: Recurrence, width: int) -> None:
        self._view, self._row, self._recurrence, self._width = view, row, recurrence, width
        self._function = self._applied(recurrence.letter)

    def _applied(self, letter: str) -> str:
        """The function of the algorithm's own sizes."""
        sizes = tuple(Poly.symbol(name) for name in self._recurrence.parameters)
        return self._view.text(Poly.of_atom(Applied(letter, sizes)))

    def lines(self) -> Iterator[str]:
        """The whole derivation."""
        row, view = self._row, self._view
        yield from wrap(
            f"derivation of the {row.metric} of {view.algorithm}: {self._function} stands for that of a call",
            self._width,
        )
        for name, value in self._recurrence.meanings.items():
            yield from wrap(f"{name} stands for {view.text(value)}", self._width)
        for letter, algorithm in self._recurrence.others.items():
            yield from wrap(f"{letter} stands for that of a call of {algorithm}", self._width)
        yield from self._section("recurrence, by the first case that holds", self._cases())
        yield from self._section("solution", self._solution())
        for claim in self._recurrence.claims:
            yield from self._claim(claim)
        if row.growth is not None:
            yield ""
            yield from wrap(f"{self._function} is {row.growth}", self._width)

    def _section(self, title: str, rows: list[list[str]]) -> Iterator[str]:
        yield ""
        yield from wrap(title, self._width)
        yield from self._table(rows)

    def _table(self, rows: list[list[str]]) -> Iterator[str]:
        """The rows in columns, without a first one that is empty."""
        if not any(row[0] for row in rows):
            rows = [row[1:] for row in rows]
        yield from indented(table(rows, self._width - 2))

    def _where(self, when: str) -> str:
        """The condition of a case; nothing where there is only one."""
        return f"{when or OTHERWISE}:" if len(self._recurrence.cases) > 1 else ""

    # Recurrence and solution
    def _cases(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for case in self._recurrence.cases:
            rows += self._between(self._where(case.when), case.lower, case.upper)
            rows += [["", "", note] for note in self._notes(case)]
        return rows

    def _notes(self, case: Case) -> Iterator[str]:
        if not case.recursive:
            yield "(no calls)"
        if case.data:
            yield "with " + ", ".join(map(self._range, case.data)) + ", which the data gives"

    def _solution(self) -> list[list[str]]:
        row = self._row
        if row.lower is None or row.upper is None:
            return [["", "", row.why or "unknown"]]
        if not row.regimes:
            return self._between("", row.lower, row.upper)
        return [line for each in row.regimes for line in self._between(f"{each.when}:", each.lower, each.upper)]

    def _between(self, where: str, lower: Poly, upper: Poly) -> list[list[str]]:
        if lower == upper:
            return [[where, f"{self._function} =", self._view.text(lower)]]
        return [
            [where, f"{self._function} >=", self._view.text(lower)],
            ["", f"{self._function} <=", self._view.text(upper)],
        ]

    # Proofs
    def _claim(self, claim: Claim) -> Iterator[str]:
        goal = self._applied(claim.letter)
        where = f"where {claim.where}, " if claim.where else ""
        head = f"{where}{_NAMES[claim.relation]}{'' if self._is_shown(claim) else f', {self._view.text(claim.value)},'}"
        yield ""
        if not claim.lines:
            yield from wrap(f"{head} is known, as {claim.reason}", self._width)
            return
        yield from wrap(
            f"{head} holds by induction: with {goal} for it, each case keeps it if its calls do", self._width
        )
        yield from self._table([[self._where(line.when), self._line(line, goal)] for line in claim.lines])

    def _is_shown(self, claim: Claim) -> bool:
        """Whether the solution has the value as it is."""
        regimes = [each for each in self._row.regimes if each.when == claim.where] or self._row.regimes[-1:]
        shown = regimes[0] if regimes else self._row
        return claim.value == (shown.upper if claim.relation == "<=" else shown.lower)

    def _line(self, line: Line, goal: str) -> str:
        parts = [self._view.text(line.calls), f"{line.relation} {goal}"]
        if line.written is not None and len(written := self._view.text(line.written)) <= MAX_WRITTEN:
            parts.insert(1, f"= {written}")
        ways = [", ".join(map(self._range, way)) for way in line.sizes]
        return " ".join([*parts, *([f"for {' or '.join(dict.fromkeys(ways))}"] if ways else [])])

    def _range(self, known: Range) -> str:
        name = self._view.text(known.value)
        name = name[1:-1] if name.startswith("(") else name
        low, high = self._end("max", known.lower), self._end("min", known.upper)
        if low == high and low:
            return f"{name} = {low}"
        if low and high:
            return f"{low} <= {name} <= {high}"
        return f"{name} >= {low}" if low else f"{name} <= {high}" if high else name

    def _end(self, tightest: str, ends: tuple[Poly, ...]) -> str:
        texts = [self._view.text(each) for each in ends]
        return texts[0] if len(texts) == 1 else f"{tightest}({', '.join(texts)})" if texts else ""
