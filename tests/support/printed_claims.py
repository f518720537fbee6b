"""What the pages of an algorithm's costs print, as `ensures` that are written into its program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import archline as al
from archline.claims.decide import decide_claims
from archline.claims.verdicts import Verdict
from archline.language.loader import load_text
from archline.report.cost_view import CostRow, CostView

_NESTED = "[^()]*"
for _ in range(5):
    _NESTED = rf"(?:[^()]|\({_NESTED}\))*"
INSIDE = "[^()]*"
for _ in range(8):
    INSIDE = rf"[^()]*(?:\({INSIDE}\)[^()]*)*"
GROWTH = re.compile(
    rf"(?:(?:O|Omega|Theta)\({INSIDE}\)|0 where)(?:(?: where)? .*?(?=, (?:O|Omega|Theta)\(|, 0 where|$))?"
)


def printed(view: CostView, metrics: Sequence[str] | None = None) -> Iterator[str]:
    """Each bound and each growth of a page, of some metrics or all, with its condition as `when`."""
    for row in view.select_metrics(metrics).rows:
        for claim, conditions in _of_row(view, row):
            when = ", ".join(filter(None, (*conditions, view.case_when)))
            yield f"ensures {row.metric} {claim}" + (f" when {when}" if when else "")


def _of_row(view: CostView, row: CostRow) -> Iterator[tuple[str, tuple[str, ...]]]:
    text = view.text
    if row.lower is not None and row.upper is not None:
        if row.by_cache:
            yield from ((f">= {text(lower)}", ()) for lower in (row.lower, *(bound.value for bound in row.by_loop)))
            yield from ((f"<= {text(bound.value)}", (bound.where.when,)) for bound in row.by_cache)
        elif row.by_case:
            # The first case whose condition holds applies.
            before: list[str] = []
            for each in row.by_case:
                where = (*before, *([] if each.when == "otherwise" else [each.when]))
                yield from ((claim, where) for claim in _ends(text(each.lower), text(each.upper)))
                before.append(f"not ({each.when})")
        else:
            yield from ((claim, ()) for claim in _ends(text(row.lower), text(row.upper)))
    for each in GROWTH.findall(row.growth or ""):
        order, _, where = each.partition(" where ")
        yield "== 0" if order == "0" else f"is {order}", (where,)
    if row.attained is not None and row.attained.hbl_terms:
        yield f"is Omega({' + '.join(row.attained.hbl_terms)})", row.attained.under


def _ends(lower: str, upper: str) -> Iterator[str]:
    yield from (f"== {lower}",) if lower == upper else (f">= {lower}", f"<= {upper}")


def pasted(source: str, line: int, claims: list[str]) -> str:
    """The program with claims added to the algorithm whose head begins at a line."""
    lines = source.split("\n")
    place = next(i for i in range(line - 1, len(lines)) if lines[i].split("#")[0].rstrip().endswith(":")) + 1
    if lines[place].strip().startswith('"'):
        quotes = 0
        while quotes < 2:
            quotes += lines[place].count('"')
            place += 1
    if lines[place].strip().startswith("where"):
        while lines[place].rstrip().endswith(","):
            place += 1
        place += 1
    return "\n".join([*lines[:place], *(f"    {claim}" for claim in claims), *lines[place:]])


def verdicts(target: str, metrics: Sequence[str] | None = None) -> list[Verdict]:
    """What is decided of all that their pages print, of some metrics or all, pasted into the program."""
    algorithm = al.algorithm(target)
    report = algorithm.cost()
    view = report.view()
    case = view.case()
    claims = list(dict.fromkeys(claim for each in (view, case) if each is not None for claim in printed(each, metrics)))
    source = algorithm.node.name_span.source
    module = load_text(pasted(source.text, algorithm.node.name_span.line, claims), Path(source.path).name)
    node = module.algorithms[algorithm.node.name]
    own = len(node.ensures) - len(claims)
    # The costs are those of the program without them: no cost depends on what is claimed of it.
    found = decide_claims(module, node, report.costs)
    assert len(found) == own + len(claims)
    return list(found[: len(claims)])
