"""An algorithm as a program of its own under canonical names: equal for two algorithms that differ in names alone.

Sizes are numbered by their place in the signature, all else in order of appearance; what the algorithm calls stands
behind it. Docstrings, comments and claims are left out: costs are derived from a text that only says what runs.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain

from archline.language import syntax as s
from archline.language.call_graph import called, reachable
from archline.language.format_statements import units
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.language.source import Span
from archline.records import field, record

NAME = re.compile(r"\b[A-Za-z_]\w*\b(\()?")
MAX_KNOWN = 4096
ALGORITHM, SIZE, INDEX, OTHER = "f", "n", "i", "x"
"""What canonical names begin with."""
_LOCAL = re.compile(r"let (\w+)|local (\w+)")
_INNER = re.compile(r"(?:parallel )?for (\w+) in |split .* as (\w+):$")


@record
class Canonical:
    """The text of an algorithm with all that it calls, which begins with its header.

    `names` gives the name that each canonical one stands for, `sizes` those of its own sizes and indices alone; `parts`
    are the algorithms and externs of the text.
    """

    text: str
    sizes: Mapping[str, str] = field(compare=False)
    names: Mapping[str, str] = field(repr=False, compare=False)
    parts: tuple[s.Item, ...] = field(repr=False, compare=False)

    @cached_property
    def header(self) -> str:
        """The first line: parameters, their types and the grid."""
        return self.text.partition("\n")[0]

    def place(self, place: str, program: s.Program) -> Span:
        """The place in the algorithm's file of `line:column` in its canonical program, once that is parsed."""
        both = zip(s.nodes(program.items), s.nodes(self.parts), strict=True)
        found = {f"{each.span.line}:{each.span.column}": own.span for each, own in both}
        return found.get(place, self.parts[0].span)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with other names."""
    return NAME.sub(lambda found: names.get(found[0], found[0]), text)


@lru_cache(maxsize=MAX_KNOWN)
def canonical(module: Module, algorithm: s.Algorithm, like: tuple[str, ...] = ()) -> Canonical:
    """The canonical form of an algorithm of a checked module.

    `like` holds the sizes of another version of it, whose numbers sizes of the same names get.
    """
    algorithms = tuple(dict.fromkeys((algorithm, *reachable(module, algorithm))))
    plain = tuple(replace(each, doc=None, ensures=()) for each in algorithms)
    nodes = tuple(s.nodes(tuple(each.body for each in algorithms)))
    targets = (module.targets.get(each) for each in nodes if isinstance(each, s.Call))
    externs = tuple(dict.fromkeys(each for each in targets if isinstance(each, s.Extern)))
    found = _Names({each.span.source.text for each in algorithms})
    # What collective operations stand for is found by its name.
    kept = {each for node in nodes if isinstance(node, s.Communicate) for each in called(module, node)}
    calls = {f"{each.name}(": f"{found.new(ALGORITHM, each.name)}(" for each in algorithms if each not in kept}
    lines: list[str] = []
    sizes: Mapping[str, str] = {}
    for each, item in zip(algorithms, plain, strict=True):
        signature = module.signatures[each]
        names = found.sizes(signature.size_names, like if each is algorithm else ())
        names |= {name: found.new(INDEX, name) for name in signature.indices}
        sizes = {new: name for name, new in names.items()} if each is algorithm else sizes
        others = [part.name for part in each.parameters] + [axis.name for axis in each.grid]
        names |= {name: found.new(OTHER, name) for name in others if name not in names}
        lines += _lines(item, {**names, **calls}, found)
    lines += chain.from_iterable(_lines(each, {}, found) for each in externs)
    return Canonical("".join(f"{line}\n" for line in lines), sizes, found.given, (*plain, *externs))


class _Names:
    """Gives canonical names, which none of the texts of some programs has."""

    def __init__(self, texts: set[str]) -> None:
        self._suffix = "_"
        while any(re.search(rf"\b[a-z][0-9]+{self._suffix}\b", text) for text in texts):
            self._suffix += "_"
        self._counts: Counter[str] = Counter()
        self.given: dict[str, str] = {}

    def new(self, kind: str, name: str, number: int = 0) -> str:
        """The name of a number, or the next one of its kind."""
        self._counts[kind] += not number
        found = f"{kind}{number or self._counts[kind]}{self._suffix}"
        self.given[found] = name
        return found

    def sizes(self, names: Sequence[str], like: Sequence[str]) -> dict[str, str]:
        """Names for sizes: those of the same sizes of another version, else the next ones."""
        self._counts[SIZE] = max(self._counts[SIZE], len(like))
        numbers = {name: number for number, name in enumerate(like, 1)}
        return {name: self.new(SIZE, name, numbers.get(name, 0)) for name in names}


def _lines(item: s.Item, names: Mapping[str, str], found: _Names) -> Iterator[str]:
    """The lines of an item under other names; those of its variables are given in order, each for its block."""
    fixed = set(METRICS)
    for node in s.nodes(item):
        if isinstance(node, s.Clause) and node.keyword == "using":
            fixed |= s.names(node.values)
        elif isinstance(node, s.Axis) and node.within is not None:
            fixed.add(node.within)
    scopes = [{name: new for name, new in names.items() if name not in fixed}]
    for unit in units(item):
        del scopes[unit.level + 1 :]
        text = "".join(group.opening + ", ".join(group.entries) for group in unit.groups) + unit.text
        inner: dict[str, str] = {}
        for pattern, scope in ((_LOCAL, scopes[-1]), (_INNER, inner)):
            match = pattern.match(text)
            name = match and (match[1] or match[2])
            if name and name not in fixed:
                scope[name] = found.new(OTHER, name)
        scopes.append(inner)
        yield "    " * unit.level + renamed(text, ChainMap(*reversed(scopes)))
