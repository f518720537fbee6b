"""Lower bounds by paths that go on with another processor behind each dissemination.

Between two disseminations a path may be with any processor of the group, so that it is at least as long as the most
that any of those looked at does there. Through one it costs what that costs, where this is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archline.algebra.facts import Facts
from archline.analysis.communication.walk import Spent, Stage
from archline.ir.amounts import NOTHING, Amount, Known, add

Corner = tuple[tuple[str, str], ...]
"""Where a processor is, by axis."""


def with_hand_overs(
    own: Mapping[Corner, Spent], all_of_them: Spent, facts: Facts, metrics: Sequence[str]
) -> list[Spent]:
    """What processors do themselves, with more where a path may come to them from others.

    `all_of_them` is what the stages cost at most, over all processors.
    """
    stages = all_of_them.stages
    alike = {corner: each for corner, each in own.items() if _same_stages(each.stages, stages)}
    if not stages or not alike:
        return list(own.values())
    found = []
    for corner, spent in alike.items():
        amounts = {name: _longest(name, corner, alike, stages, facts) for name in metrics}
        found.append(replace(spent, amounts={**spent.amounts, **amounts}))
    return [*found, *(each for corner, each in own.items() if corner not in alike)]


def _same_stages(one: Sequence[Stage], other: Sequence[Stage]) -> bool:
    return [(each.call, each.axes) for each in one] == [(each.call, each.axes) for each in other]


def _longest(name: str, corner: Corner, own: Mapping[Corner, Spent], stages: Sequence[Stage], facts: Facts) -> Amount:
    """From below, a path to the end of the program at a corner."""
    paths: dict[Corner, Amount] = dict.fromkeys(own, NOTHING)
    limit: Amount = NOTHING
    for index, stage in enumerate(stages):
        before = {at: add(paths[at], own[at].stages[index].before.get(name, NOTHING)) for at in own}
        steps = stage.steps.get(name, NOTHING)
        limit = add(limit, stage.before.get(name, NOTHING))
        if stage.even and isinstance(steps, Known) and steps.exact:
            paths = {at: add(_most([before[at], *_others(at, before, stage.axes)], limit, facts), steps) for at in own}
        else:
            paths = {at: add(before[at], own[at].stages[index].steps.get(name, NOTHING)) for at in own}
        limit = add(limit, steps)
    return add(paths[corner], own[corner].rest.get(name, NOTHING))


def _others(corner: Corner, paths: Mapping[Corner, Amount], axes: Sequence[str]) -> Iterator[Amount]:
    """The paths to the corners of the same group."""
    for other, amount in paths.items():
        if other != corner and all(one == two or one[0] in axes for one, two in zip(corner, other, strict=True)):
            yield amount


def _most(amounts: Sequence[Amount], limit: Amount, facts: Facts) -> Amount:
    """The one that is as long as any path, else the first, or another that is known to be no less."""
    known = [each for each in amounts if isinstance(each, Known)]
    attained = (each for each in known if isinstance(limit, Known) and not facts.simplify(limit.upper - each.lower))
    longest = next(attained, None)
    if longest is not None:
        return longest
    best, *others = amounts
    for other in others:
        if isinstance(best, Known) and isinstance(other, Known) and facts.nonnegative(other.lower - best.lower):
            best = other
    return best
