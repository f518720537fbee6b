"""An algorithm as a program of its own under canonical names: equal for two algorithms that differ in names alone.

Sizes are numbered by their place in the signature, all else in order of appearance; what the algorithm calls stands
behind it. Docstrings, comments and claims are left out: costs are derived from a text that only says what runs.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.call_graph import called, reachable
from archline.language.format_statements import units
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.records import field, record

MAX_KNOWN = 4096
ALGORITHM, SIZE, INDEX, OTHER = "f", "n", "i", "x"
"""What canonical names begin with."""
_NAME = re.compile(r"\b[A-Za-z_]\w*\b\(?")
_LOCAL = re.compile(r"let (\w+)|local (\w+)")
_INNER = re.compile(r"(?:parallel )?for (\w+) in |split .* as (\w+):$")
Names = tuple[str, ...]
New = Callable[[str], str]
"""The next name that begins so."""


@record
class Canonical:
    """The text of an algorithm with all that it calls, and its sizes and indices by their canonical names."""

    text: str
    sizes: Mapping[str, str] = field(compare=False)

    @property
    def header(self) -> str:
        """The first line: parameters, their types and the grid."""
        return self.text.partition("\n")[0]


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with other names; those of what is called have a bracket behind."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


def same_sizes(old: s.Algorithm, new: s.Algorithm, olds: Names, news: Names) -> tuple[Names, Names]:
    """The newer sizes by the names of the older ones that they are, and facts where both versions take the same arrays.

    Sizes are the same that have the same name, or else the same place in an array of the same name; as many of which
    none is known to be another are those in their places: no names are given then.
    """
    arrays = s.ArrayType | s.IndexArrayType
    earlier, later = (
        {each.name: each.type.shape for each in side.parameters if isinstance(each.type, arrays)} for side in (old, new)
    )
    places = [
        (format_expression(one), format_expression(other))
        for name, shape in earlier.items()
        for one, other in zip(shape, later.get(name, ()), strict=False)
        if isinstance(one, s.Name | s.Integer) and isinstance(other, s.Name | s.Integer)
    ]
    same = {name: name for name in news if name in olds}
    for one, other in places:
        if one in olds and other in news and one not in same.values():
            same.setdefault(other, one)
    now = {one: name for name, one in same.items()}
    only = {*olds} ^ {*news}
    equal = ((now.get(one, one), other) for one, other in places if one in only or other in only)
    # What one version has not is written in what both have.
    pairs = (sorted(each, key=lambda name: (name in same, name not in only)) for each in equal if each[0] != each[1])
    like = tuple(same.get(name, name) for name in news) if same or len(olds) != len(news) else ()
    return like, tuple(dict.fromkeys(map(" == ".join, pairs)))


@lru_cache(maxsize=MAX_KNOWN)
def canonical(module: Module, algorithm: s.Algorithm, like: Names = ()) -> Canonical:
    """The canonical form of an algorithm of a checked module.

    `like` holds names in the order of the sizes of another version of it, whose numbers sizes of these names get.
    """
    algorithms, externs = _reached(module, algorithm)
    nodes = s.nodes(tuple(each.body for each in algorithms))
    new = _names({each.span.source.text for each in (*algorithms, *externs)})
    own = {name: new(SIZE) for name in (like or module.signatures[algorithm].size_names)}
    # What collective operations stand for is found by its name.
    kept = {each for node in nodes if isinstance(node, s.Communicate) for each in called(module, node)}
    calls = {f"{each.name}(": f"{new(ALGORITHM)}(" for each in algorithms if each not in kept}
    lines: list[str] = []
    sizes: dict[str, str] = {}
    for each in algorithms:
        signature = module.signatures[each]
        known = own if each is algorithm else {}
        names = {name: known.get(name) or new(SIZE) for name in signature.size_names}
        names |= {name: new(INDEX) for name in signature.indices}
        sizes = {found: name for name, found in names.items()} if each is algorithm else sizes
        others = [part.name for part in each.parameters] + [axis.name for axis in each.grid]
        names |= {name: new(OTHER) for name in others if name not in names}
        lines += _lines(each, {**names, **calls}, new)
    lines += (line for each in externs for line in _lines(each, {}, new))
    return Canonical("".join(f"{line}\n" for line in lines), sizes)


def program_text(module: Module, algorithm: s.Algorithm) -> str:
    """The text of an algorithm in its own names, with all that it calls: a program of the same canonical form."""
    return "".join(f"{line}\n" for items in _reached(module, algorithm) for each in items for line in _lines(each, {}))


def _reached(module: Module, algorithm: s.Algorithm) -> tuple[tuple[s.Algorithm, ...], tuple[s.Extern, ...]]:
    """The algorithm and the others that a run of it may call, without what costs do not depend on."""
    found = tuple(dict.fromkeys((algorithm, *reachable(module, algorithm))))
    calls = s.find(tuple(each.body for each in found), s.Call)
    externs = dict.fromkeys(each for each in map(module.targets.get, calls) if isinstance(each, s.Extern))
    return found, tuple(externs)


def _names(texts: set[str]) -> New:
    """Gives canonical names, which none of the texts of some programs has."""
    suffix, counts = "_", Counter[str]()
    while any(re.search(rf"\b[a-z][0-9]+{suffix}\b", text) for text in texts):
        suffix += "_"

    def new(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}{counts[kind]}{suffix}"

    return new


def _lines(item: s.Item, names: Mapping[str, str], new: New | None = None) -> Iterator[str]:
    """The lines of an item under other names; those of its variables are given in order, each for its block."""
    item = replace(item, doc=None, ensures=()) if isinstance(item, s.Algorithm) else item
    # Words that mean something else in some places.
    fixed = set(METRICS)
    for node in s.nodes(item):
        if isinstance(node, s.Clause) and node.keyword == "using":
            fixed |= s.names(node.values)
        elif isinstance(node, s.Axis) and node.within is not None:
            fixed.add(node.within)
    scopes = [{name: found for name, found in names.items() if name not in fixed}]
    for unit in units(item):
        del scopes[unit.level + 1 :]
        text = "".join(group.opening + ", ".join(group.entries) for group in unit.groups) + unit.text
        inner: dict[str, str] = {}
        for pattern, scope in ((_LOCAL, scopes[-1]), (_INNER, inner)):
            match = pattern.match(text)
            name = match and (match[1] or match[2])
            if new and name and name not in fixed:
                scope[name] = new(OTHER)
        scopes.append(inner)
        yield "    " * unit.level + renamed(text, ChainMap(*reversed(scopes)))
