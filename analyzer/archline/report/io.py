"""How bounds on io come about: which references keep lines of the cache, and for how long."""

from __future__ import annotations

from collections.abc import Iterator

from archline.analysis.costs import Kept
from archline.report.layout import wrap
from archline.report.view import CostView, Row


def text(view: CostView, row: Row, width: int) -> Iterator[str]:
    """Each upper bound with what is held and fetched for it, then the lower bounds."""
    yield from wrap(f"derivation of the io of {view.algorithm}: which references keep lines of the cache", width)
    for each in row.alternatives:
        yield ""
        yield from wrap(f"where {each.when}: io <= {view.text(each.upper)}", width)
        for kept in each.kept:
            yield from _indented(_told(view, kept), width)
    assert row.lower is not None
    yield ""
    yield from wrap(f"io >= {view.text(row.lower)}, the lines that are touched", width)
    for looked, lower in row.lowers:
        yield from wrap(f"io >= {view.text(lower)}, by {looked}: each fetches the lines it touches but for Z/L", width)


def _told(view: CostView, kept: Kept) -> str:
    where = f"line {kept.places[0]}" if len(kept.places) == 1 else f"lines {', '.join(map(str, kept.places))}"
    fetched = f"{view.text(kept.fetched)} fetched"
    if not kept.held:
        return f"{kept.array} ({where}): fetched at every access, {fetched}"
    through = "all through the run" if kept.loop is None else f"through the iterations of `{kept.loop}`"
    lines = "1 line" if kept.held.is_constant and kept.held.constant_term == 1 else f"{view.text(kept.held)} lines"
    return f"{kept.array} ({where}): {lines} held {through}, {fetched}"


def _indented(line: str, width: int) -> Iterator[str]:
    for part in wrap(line, width - 4):
        yield f"    {part}"
