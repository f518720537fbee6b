"""The call graph of a module, and derivations of long chains of calls."""

from __future__ import annotations

import random

import pytest

import archline as al
from archline.language.call_graph import callees_first, component, reachable, recurses
from archline.language.loader import load_text
from archline.language.model import Module
from effort import long


def module_of(calls: dict[int, list[int]]) -> Module:
    """Algorithms that call each other so."""
    texts = [
        f"algorithm a{number}(x: inout real[n]):\n    x[0] += 1.0\n"
        + "".join(f"    if n > {target + 1}:\n        a{target}(x[1..n])\n" for target in targets)
        for number, targets in calls.items()
    ]
    return load_text("\n".join(texts))


def closure(calls: dict[int, list[int]], start: int) -> set[int]:
    """What is called from one, by going on until nothing is added."""
    found: set[int] = set(calls[start])
    while (more := found.union(*(calls[each] for each in found))) != found:
        found = more
    return found


@pytest.mark.parametrize("seed", range(30))
def test_answers_are_those_of_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(1, 9)
    calls = {each: draw.sample(range(count), draw.randint(0, min(count, 2))) for each in range(count)}
    module = module_of(calls)
    names = [module.algorithms[f"a{each}"] for each in range(count)]
    reach = [closure(calls, each) for each in range(count)]
    for each in draw.sample(range(count), count):
        together = {other for other in reach[each] if each in reach[other]}
        assert set(reachable(module, names[each])) == {names[other] for other in reach[each]}
        assert set(component(module, names[each])) == {names[other] for other in together}
        assert component(module, names[each])[:1] == ((names[each],) if together else ())
        assert recurses(module, names[each]) == any(other in reach[other] for other in reach[each] | {each})
        order = callees_first(module, names[each])
        assert {other for group in order for other in group} == {names[other] for other in reach[each] | {each}}
        done: set[object] = set()
        for group in order:
            done |= set(group)
            assert len({component(module, other) or other for other in group}) == len(group)
            assert all(set(reachable(module, other)) <= done for other in group)


@long
def test_a_chain_of_a_thousand_calls_is_derived() -> None:
    count = 1000
    body = "algorithm a{}(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"
    text = "\n".join(body.format(each) + (f"    a{each + 1}(x)\n" if each + 1 < count else "") for each in range(count))
    found = al.loads(text)["a0"].cost()
    assert found.flops.text == f"{count}*n"
    # A loop takes n iterations of two steps, and every call one.
    assert found.work.text == f"{2 * count}*n + {count}"


def test_forty_calls_in_a_row_fetch_what_one_call_does_where_all_fits() -> None:
    text = (
        "algorithm sweep(A: inout real[n, n]):\n"
        "    for i in 0..n:\n        for j in 0..n:\n            A[i, j] *= 2.0\n\n"
        "algorithm many(A: inout real[n, n]):\n" + "    sweep(A)\n" * 40
    )
    io = al.loads(text)["many"].cost().io
    assert io.at(n=16, Z=256, L=8) == (32, 32)
    # The least cache keeps nothing from one call to the next but one line.
    assert io.at(n=16, Z=8, L=8)[1] <= 40 * 32
