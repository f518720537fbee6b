"""Which problem an algorithm on a grid solves, and what is known of its communication: `bounds/communication.json`.

Every expression of the file is read by the language's own parser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from archline.claims.published import target_of
from archline.expr.tree import same, substituted
from archline.language import syntax as s
from archline.language.diagnostics import Rule, did_you_mean, error
from archline.language.parser import parse_expression
from archline.records import record
from archline.resources import resource

PROBLEM = Rule(
    "AL419",
    "unknown problem",
    "`--problem` names the problem that an algorithm on a grid solves, with its sizes in those of the algorithm: "
    "`matmul(n, m, p)`, `nbody(n, f)`, `fft(n)`, `strassen(n)`, `lu(n)`.",
)
Texts = Mapping[str, Any]


@record
class SolvedProblem:
    """A problem with the algorithm's expressions for its sizes.

    `most` is how many of its operations a processor does at most; None where all do the same number.
    """

    name: str
    problem: Texts
    sizes: Mapping[str, s.Expr]
    most: s.Expr | None = None
    by_user: bool = False

    @property
    def equal(self) -> bool:
        """Whether all sizes that bounds are sorted by are the same, or there is only one."""
        sizes = list(self.sizes.values())
        return "let" not in self.problem or all(same(sizes[0], each) for each in sizes)

    @property
    def count(self) -> s.Expr:
        """How many operations there are in all."""
        return substituted(parse_expression(self.problem["operations"]), self.sizes)

    def source(self, bound: Texts) -> str:
        """Who proved a bound."""
        return str(tables()["sources"][bound["source"]])


@lru_cache(maxsize=1)
def tables() -> Texts:
    """What the file has: `sources`, `problems`, and `algorithms` with their problem."""
    found: Texts = json.loads((resource("bounds") / "communication.json").read_text(encoding="utf-8"))
    return found


def problem_of(algorithm: s.Algorithm) -> SolvedProblem | None:
    """The problem that an algorithm of the library solves; None for others."""
    known = tables()["algorithms"].get(target_of(algorithm))
    if known is None:
        return None
    most = known.get("most")
    return _solved(
        known["problem"],
        [parse_expression(each) for each in known["sizes"]],
        None if most is None else parse_expression(most),
    )


def named_problem(text: str, sizes: Sequence[str]) -> SolvedProblem:
    """A problem as a user names it, `matmul(n, n, n)`, in the sizes of the algorithm. Raises ArchlineError (AL419)."""
    name, bracket, rest = text.strip().partition("(")
    problems = tables()["problems"]
    name = name.strip()
    if name not in problems:
        hint = did_you_mean(name, problems) or f"there are {', '.join(problems)}"
        raise error(PROBLEM, f"there is no problem `{name[:40]}`", hint=hint)
    expected = problems[name]["sizes"]
    shape = f"{name}({', '.join(expected)})"
    if not bracket or not rest.rstrip().endswith(")"):
        raise error(PROBLEM, f"`{name}` needs its sizes", hint=f"write `{shape}` with those of the algorithm")
    # One expression, so that commas are the parser's.
    inner = parse_expression(f"max({rest.rstrip()[:-1]})", "--problem") if rest.strip(" )") else None
    given = inner.arguments if isinstance(inner, s.Call) else ()
    if len(given) != len(expected):
        has = f"{len(expected)} size{'s' if len(expected) > 1 else ''}"
        raise error(PROBLEM, f"`{name}` has {has}, and {len(given)} are given", hint=f"`{shape}`")
    unknown = sorted(s.names(given) - {*sizes})
    if unknown:
        hint = did_you_mean(unknown[0], sizes) or f"it has {', '.join(sizes)}"
        raise error(PROBLEM, f"the algorithm has no size `{unknown[0]}`", hint=hint)
    return _solved(name, given, None, by_user=True)


def _solved(name: str, sizes: Sequence[s.Expr], most: s.Expr | None, by_user: bool = False) -> SolvedProblem:
    problem = tables()["problems"][name]
    return SolvedProblem(name, problem, dict(zip(problem["sizes"], sizes, strict=True)), most, by_user)
