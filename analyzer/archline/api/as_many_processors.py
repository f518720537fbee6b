"""How many processors the targets of a comparison have, and how that relates their sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archline.algebra.polynomial import ZERO
from archline.api.settings import Given
from archline.api.subjects import AlgorithmSubject, FormulaSubject, Subject, own
from archline.energy.growth import Growth
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_facts
from archline.language.substitution import processors_of


def processors_by_name(names: Sequence[str], subjects: Sequence[Subject]) -> Iterator[tuple[str, str]]:
    """How many processors each of the grids has, in sizes."""
    for name, each in zip(names, subjects, strict=True):
        if isinstance(each, AlgorithmSubject) and each.on_grid:
            yield name, each.report.write(each.cost("P").upper or ZERO)


def as_many(one: Subject, other: Subject) -> tuple[s.Fact, ...]:
    """That two targets have as many processors, where P is a size of one and a product of sizes of the other."""
    for first, second in ((one, other), (other, one)):
        if takes_processors(first) and isinstance(second, AlgorithmSubject):
            product = processors_of(second.algorithm.node)
            if product is not None:
                return parse_facts(f"P == {format_expression(product)}")
    return ()


def takes_processors(chosen: Subject) -> bool:
    """Whether P is one of its sizes."""
    return "P" in chosen.target.sizes if isinstance(chosen, FormulaSubject) else chosen.takes_processors


def with_facts(growths: Mapping[str, Growth], facts: tuple[s.Fact, ...]) -> dict[str, Growth]:
    """Growths under more facts."""
    return {name: replace(each, facts=(*each.facts, *facts)) for name, each in growths.items()}


def with_processors(at: Given, subjects: Sequence[Subject], option: str) -> Given:
    """The sizes, and P for the targets that take it, where the grids of the others all have as many processors."""
    if "P" in at or not any(map(takes_processors, subjects)):
        return at
    products = [each for each in subjects if isinstance(each, AlgorithmSubject) and each.on_grid]
    products = [each for each in products if not each.takes_processors]
    try:
        found = {each.processors(own(at, each), option) for each in products}
    except ArchlineError:
        # What is wrong with the sizes is reported where they are used.
        return at
    return {**at, "P": (int(found.pop()), None)} if len(found) == 1 else at
