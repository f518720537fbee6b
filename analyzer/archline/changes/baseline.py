"""Write and read baselines: algorithms and their costs as text, a line for each metric or regime of cache misses.

A line has an algorithm with its sizes, then facts about a cost: `gemv.algo::gemv(n, m)  work == 3*n*m + n + 1`, or the
program, from which costs with values are derived. Other lines accept findings. The lines are sorted, and those of an
algorithm do not depend on other algorithms, so that git can merge baselines of two branches.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound, Region
from archline.analysis.cost import Cost, Costs
from archline.expr import build as b
from archline.expr.tree import Source, Span
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.diagnostics import Rule, error
from archline.language.model import Module
from archline.language.parser import parse_facts
from archline.records import field, record, replace

NO_BASELINE = Rule(
    "AL442",
    "unreadable baseline",
    """
    A baseline has a line for the program of each algorithm, for each of its costs, and for each regime of its cache
    misses, and lines for findings that it accepts:

        accept AL602 sums.algo::total  ensures flops == n
        sums.algo::total(n)  "algorithm total(x: real[n], s: inout real[1]): ..."
        sums.algo::total(n)  work == 2*n + 1

    `archline check --write-baseline FILE` writes it.
    """,
)

BASELINE_FORMAT = 2
"""Format 1 has costs without programs."""
HEADER = (
    "# Costs of algorithms, compared by `archline check --baseline`, written by `--write-baseline`; "
    f"format {BASELINE_FORMAT}.\n"
)
_LATER = re.compile(r"# .*; format (?P<number>\d+)\.")
_ENTRY = re.compile(r"(?P<key>\S.*?::[\w.]+)\((?P<sizes>[\w., ]*)\)  (?P<cost>\w+ .*|(?P<program>\".*\"))")
_ACCEPTED = re.compile(r"accept (?P<code>AL\d+) (?P<path>\S.*?)(::(?P<name>[\w.]+))?  (?P<claim>\S.*)")


@record(eq=False)
class Entry:
    """The entry of an algorithm in a baseline: its sizes, its costs and its programs, texts with their line numbers.

    The entry begins at `line` of `file`. `program` is parsed from the texts.
    """

    file: str
    sizes: tuple[str, ...]
    line: int
    costs: dict[str, int] = field(default_factory=dict)
    programs: dict[str, int] = field(default_factory=dict)
    program: tuple[Module, s.Algorithm] | None = None


def list_bounds_by_cache(*costs: Cost) -> list[Bound]:
    """List the bounds of costs by cache that pages show: large caches first; the last one holds in any cache."""
    shown = (bound for cost in costs for bound in cost.by_cache)
    return sorted(shown, key=lambda bound: (len(bound.where.when), bound.where.when), reverse=True)


def write_costs(costs: Costs) -> list[str]:
    """Write the known costs as texts, one for each metric or regime, sorted."""
    texts: list[str] = []
    for cost in costs:
        if cost.lower is None or cost.upper is None:
            continue
        by_cache = [(bound.value, f" when {bound.where.when}") for bound in list_bounds_by_cache(cost)]
        for upper, when in by_cache or [(cost.upper, "")]:
            ends = [("==", upper)] if upper == cost.lower else [(">=", cost.lower), ("<=", upper)]
            texts.append(", ".join(f"{cost.metric} {sign} {costs.text(value)}" for sign, value in ends) + when)
    return sorted(texts)


def read_entries(file: str) -> tuple[dict[str, Entry], list[tuple[int, re.Match[str]]]]:
    """Read the entries of a baseline by algorithm, and accepted findings with lines. Raises ArchlineError (AL442)."""
    try:
        source = Source(file, Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        hint = f"`archline check TARGET --write-baseline {file}` writes it"
        reason = "does not exist" if isinstance(problem, FileNotFoundError) else "cannot be read"
        raise error(NO_BASELINE, f"`{file}` {reason}", path=file, hint=hint) from None
    result: dict[str, Entry] = {}
    accepted: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate(source.lines, 1):
        if match := _ACCEPTED.fullmatch(line):
            accepted.append((number, match))
        elif match := _ENTRY.fullmatch(line):
            sizes = tuple(filter(None, match["sizes"].split(", ")))
            entry = result.setdefault(match["key"], Entry(file, sizes, number))
            (entry.programs if match["program"] else entry.costs)[match["cost"]] = number
        elif (later := _LATER.fullmatch(line)) and int(later["number"]) > BASELINE_FORMAT:
            formats = f"this version of archline reads formats 1 to {BASELINE_FORMAT}"
            message = f"the baseline has format {later['number']}; {formats}"
            raise error(NO_BASELINE, message, span=Span(source, number, 1, number, len(line) + 1))
        elif line.strip() and not line.startswith("#"):
            span = Span(source, number, 1, number, len(line) + 1)
            hint = "unresolved merge conflict? Keep both sides, or remove the file and regenerate it: "
            hint += f"`archline check TARGET --write-baseline {file}`"
            raise error(NO_BASELINE, "malformed baseline entry", span=span, hint=hint)
    return result, accepted


def make_relative_to_file(file: str, path: str) -> str:
    """Return a path relative to the folder of a baseline."""
    return os.path.relpath(path, os.path.dirname(file) or ".").replace(os.sep, "/")


def iterate_lines(file: str) -> Iterator[tuple[str, str]]:
    """Yield key and text of each line of a baseline; a key is `gemv.algo::gemv`. Raises ArchlineError (AL442)."""
    by_algorithm, accepted = read_entries(file)
    for key, entry in by_algorithm.items():
        yield from ((key, f"{key}({', '.join(entry.sizes)})  {text}") for text in (*entry.programs, *entry.costs))
    for _, match in accepted:
        yield match["path"] + (f"::{match['name']}" if match["name"] else ""), match[0]


def group_by_metric(texts: Iterable[str]) -> dict[str, list[str]]:
    """Group the texts of costs by their first word, the metric."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text.partition(" ")[0], []).append(text)
    return groups


def read_cost(metric: str, texts: Iterable[str], scope: Scope) -> Cost:
    """Read the cost of a metric from its texts, in the names of a scope.

    Raises ArchlineError, NotStaticError or KeyError for texts that cannot be read.
    """
    bounds: list[tuple[Poly, Poly]] = []
    by_cache: list[Bound] = []
    for text in texts:
        body, _, when = text.partition(" when ")
        ends = {
            fact.op: _read_bound(fact.right, scope, text) for fact in parse_facts(body) if isinstance(fact, s.Binary)
        }
        lower, upper = (ends[sign] if sign in ends else ends["=="] for sign in (">=", "<="))
        bounds.append((lower, upper))
        if when:
            facts = [fact for fact in parse_facts(when) if isinstance(fact, s.Binary)]
            needs = tuple(_read_bound(fact.left, scope, text) - _read_bound(fact.right, scope, text) for fact in facts)
            by_cache.append(
                Bound("upper", upper, Region(needs, written=partial(tuple, [b.join_conditions("and", facts)])))
            )
    lower, upper = bounds[0]
    cost = Cost(metric, "exact" if lower == upper else "bounded", lower, upper, bounds=tuple(by_cache))
    general = list_bounds_by_cache(cost)[-1:]
    return replace(cost, status="bounded", upper=general[0].value) if general else cost


def _read_bound(expr: s.Expr, scope: Scope, text: str) -> Poly:
    """Convert a bound to a polynomial. Raises NotStaticError, and ArchlineError (AL442) for an unknown name.

    `text` is the entry with the bound.
    """
    try:
        return scope.facts.restore(static_value(expr, scope))
    except NotStaticError as problem:
        if isinstance(problem.expr, s.Name):
            raise error(NO_BASELINE, problem.expr.id, hint=text) from None
        raise
