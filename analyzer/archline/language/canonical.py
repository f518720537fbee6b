"""Write an algorithm as a program with canonical names, which is equal for algorithms that differ only in names.

Sizes are numbered by their place in the signature, other names in order of appearance; called algorithms follow.
Docstrings, comments and claims are omitted, as costs depend only on executed statements.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count

from archline.expr.text import format_expression
from archline.expr.tree import Node, rewrite_fields, rewrite_tree
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, iterate_callees
from archline.language.format_statements import format_type, iterate_logical_lines
from archline.language.iterations import (
    UNNAMED,
    IterationCount,
    iterate_unbounded_loops,
    list_iterations,
    qualified_name,
    relative_name,
)
from archline.language.metrics import METRICS
from archline.language.model import Module
from archline.language.words import CONTEXTUAL_WORDS
from archline.records import field, record

MAX_CACHED_FORMS = 4096
ALGORITHM_PREFIX, SIZE_PREFIX, INDEX_PREFIX, OTHER_PREFIX, ITERATIONS_PREFIX = "f", "n", "i", "x", "t"
"""The first letters of canonical names."""
# Elaboration makes names that cannot be written: `Q.count`, a field, and `s'`, a parameter that is assigned.
_WORD = r"[A-Za-z_]\w*'*"
_NAME = re.compile(rf"\b{_WORD}(?:\.{_WORD})*\(?")
_LOCAL = re.compile(rf"let (\w+)|local ({_WORD}(?:\.{_WORD})*)")
_INNER = re.compile(r"(?:parallel )?for (\w+) in |split .* as (\w+):$")
_WORDS = "|".join(sorted(CONTEXTUAL_WORDS))
# Types begin with these words, and others stand before a name or number; a name rarely does.
_WORD_IN_USE = re.compile(rf"\b({_WORDS})\b(?= +[\w(])|(?:: |out |-> )({_WORDS})\b")
Names = tuple[str, ...]
Program = tuple[Module, s.Algorithm]
NewName = Callable[[str], str]
"""A function that returns the next unused name with a given prefix."""


@record
class Canonical:
    """The canonical text of an algorithm and its callees; `sizes` maps canonical names to its sizes and indices.

    `iterations` maps the canonical names of the numbers of iterations of unbounded loops to their names.
    """

    text: str
    sizes: Mapping[str, str] = field(compare=False)
    iterations: Mapping[str, str] = field(compare=False, default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """The names of sizes, indices and iterations in the algorithm, by their canonical names."""
        return {**self.sizes, **self.iterations}

    @property
    def header(self) -> str:
        """The first line of the text, with the parameters, their types and the grid."""
        return self.text.partition("\n")[0]


def rename_text(text: str, names: Mapping[str, str]) -> str:
    """Replace names in program text by `names`, where the key of a called algorithm is its name and `(`."""

    def rename_match(match: re.Match[str]) -> str:
        whole = match[0]
        return names[whole] if whole in names else ".".join(names.get(part, part) for part in whole.split("."))

    return _NAME.sub(rename_match, text)


def match_sizes(old: s.Algorithm, new: s.Algorithm, olds: Names, news: Names) -> tuple[Names, Names]:
    """Match the sizes `news` of the new version of an algorithm with the sizes `olds` of the old version.

    Returns the older name for each newer size, and facts under which both versions take the same arrays. Sizes match if
    they have the same name, or else the same place in an array of the same name. If no sizes match but their numbers
    are equal, they match by position, and no names are returned.
    """
    arrays = s.ArrayType | s.IndexArrayType
    earlier, later = (
        {item.name: item.type.shape for item in side.parameters if isinstance(item.type, arrays)} for side in (old, new)
    )
    places = [
        (format_expression(a), format_expression(b))
        for name, shape in earlier.items()
        for a, b in zip(shape, later.get(name, ()), strict=False)
        if isinstance(a, s.Name | s.Integer) and isinstance(b, s.Name | s.Integer)
    ]
    matched = {name: name for name in news if name in olds}
    for first, second in places:
        if first in olds and second in news and first not in matched.values():
            matched.setdefault(second, first)
    now = {a: name for name, a in matched.items()}
    only = {*olds} ^ {*news}
    equal = ((now.get(a, a), b) for a, b in places if a in only or b in only)
    # A size that only one version has is written in sizes that both have.
    pairs = (sorted(pair, key=lambda name: (name in matched, name not in only)) for pair in equal if pair[0] != pair[1])
    like = tuple(matched.get(name, name) for name in news) if matched or len(olds) != len(news) else ()
    return like, tuple(dict.fromkeys(map(" == ".join, pairs)))


def match_iterations(old: Program, new: Program, like: Names = ()) -> Names:
    """Match the unbounded loops of a new version of a program with those of an old one, by their canonical text.

    Returns the old name of the iterations of each new loop, empty if no old loop matches, and then the unmatched old
    names. Loops to which their authors gave one name match first, other loops of one text in order, if both versions
    have equally many. `like` has the old names of the new version's sizes.
    """
    sides = [{counted.name: counted for counted in list_iterations(*program)} for program in (old, new)]
    sizes = [names or program[0].signatures[program[1]].size_names for names, program in ((like, old), ((), new))]
    olds, news = (
        {
            name: write_canonical_loop(program[0], counted, _number_sizes(program, counted, names))
            for name, counted in side.items()
        }
        for side, program, names in zip(sides, (old, new), sizes, strict=True)
    )
    matched = {
        name: name
        for name, text in news.items()
        if olds.get(name) == text and not sides[0][name].loop.chosen and not sides[1][name].loop.chosen
    }
    for text in dict.fromkeys(news.values()):
        later = [name for name in news if news[name] == text and name not in matched]
        earlier = [name for name in olds if olds[name] == text and name not in matched.values()]
        if len(later) == len(earlier):
            matched |= dict(zip(later, earlier, strict=True))
    return (*(matched.get(name, "") for name in news), *(name for name in olds if name not in matched.values()))


def _number_sizes(program: Program, counted: IterationCount, names: Names) -> dict[str, str]:
    """Map the sizes of the algorithm around a loop to `n0`, `n1`, ...; `names` are the sizes of the main algorithm."""
    module, algorithm = program
    own = counted.algorithm is algorithm
    return {
        name: f"{SIZE_PREFIX}{place}"
        for place, name in enumerate(names if own else module.signatures[counted.algorithm].size_names)
        if name
    }


def write_canonical_loop(module: Module, counted: IterationCount, sizes: Mapping[str, str]) -> str:
    """Write the condition and the body of a loop, the types of its names and its callees, in canonical names.

    Sizes are renamed by `sizes`, other names are numbered in order. Loops of the same text may differ in their number
    of iterations, which also depends on what precedes them.
    """
    algorithm, loop = counted.algorithm, counted.loop
    declarations = {parameter.name: format_type(parameter.type) for parameter in algorithm.parameters}
    declared = set(s.iterate_nodes(loop.body))
    for node in s.iterate_nodes(algorithm.body):
        match node:
            case s.Local(name=name) | s.Let(name=name) if node in declared:
                declarations.setdefault(name, "")
            case s.Local(name=name, type=kind, value=value, constant=constant):
                initial = f" = {format_expression(value)}" if constant and value is not None else ""
                declarations[name] = f"{format_type(kind)}{initial}"
            case s.Let(name=name, value=value):
                declarations[name] = format_expression(value)
            case s.Loop(variable=name):
                declarations.setdefault(name, "")
            case _:
                # Other statements declare nothing.
                pass
    callees = dict.fromkeys(iterate_callees(module, loop))
    calls = {f"{callee.name}(": f"{ALGORITHM_PREFIX}{place}(" for place, callee in enumerate(callees)}
    inside = (node for node in s.iterate_nodes(loop) if isinstance(node, s.While | s.Loop))
    counts = {item.iterations for item in inside if item.iterations is not None}
    names, number = {**sizes, **calls}, count()
    written = replace(algorithm, body=(loop,), where=(), grid=())
    texts = ["\n".join(list(_iterate_renamed_lines(_restore_written(module, written), {}))[1:])]
    for text in texts:
        for name in _NAME.findall(text):
            if name in names or not (name in declarations or name in counts):
                continue
            names[name] = f"{ITERATIONS_PREFIX if name in counts else OTHER_PREFIX}{next(number)}"
            texts += [f"{name}: {declarations[name]}"] if declarations.get(name) else []
    owner = "" if "." not in counted.name else f"{_replace_other_characters(algorithm.name)}\n"
    canonical = (make_canonical(module, callee).text for callee in callees)
    return owner + "\n".join((*(rename_text(text, names) for text in texts), *canonical))


@lru_cache(maxsize=MAX_CACHED_FORMS)
def make_canonical(
    module: Module, algorithm: s.Algorithm, like: Names = (), counted_like: Names = (), keep_iterations: bool = False
) -> Canonical:
    """Return the canonical form of an algorithm of a checked module.

    With `keep_iterations`, costs of the form depend on the iterations of its loops even if their author gave no name.

    `like` has names in the order of the sizes of another version; sizes with these names get the same numbers. So has
    `counted_like` for the iterations of loops.
    """
    algorithms, externs = _find_reached_definitions(module, algorithm)
    nodes = s.iterate_nodes(tuple(reached.body for reached in algorithms))
    new = _make_name_generator({item.span.source.text for item in (*algorithms, *externs)})
    numbered = {size: new(SIZE_PREFIX) for size in (like or module.signatures[algorithm].size_names)}
    # Implementations of collective operations keep their names, by which they are found.
    collectives = {item for node in nodes if isinstance(node, s.Communicate) for item in iterate_callees(module, node)}
    calls = {f"{reached.name}(": f"{new(ALGORITHM_PREFIX)}(" for reached in algorithms if reached not in collectives}
    lines: list[str] = []
    sizes: dict[str, str] = {}
    counted_loops = {counted.name: counted.loop for counted in list_iterations(module, algorithm)}
    # The analysis may derive the iterations that have no name from the author.
    counted_names = {
        name: new(ITERATIONS_PREFIX)
        + UNNAMED * (not keep_iterations and name in counted_loops and counted_loops[name].chosen)
        for name in (name or str(place) for place, name in enumerate(counted_like or counted_loops))
    }
    iterations: dict[str, str] = {}
    for reached in algorithms:
        signature = module.signatures[reached]
        fixed_sizes = numbered if reached is algorithm else {}
        names = {name: fixed_sizes.get(name) or new(SIZE_PREFIX) for name in signature.size_names}
        names |= {name: new(INDEX_PREFIX) for name in signature.indices}
        sizes = {canonical_name: name for name, canonical_name in names.items()} if reached is algorithm else sizes
        remaining = [part.name for part in reached.header] + [axis.name for axis in reached.grid]
        names |= {name: new(OTHER_PREFIX) for name in remaining if name not in names}
        for loop in iterate_unbounded_loops(reached):
            assert loop.iterations is not None
            relative = relative_name(qualified_name(reached, loop), algorithm)
            number = names[loop.iterations] = counted_names[relative]
            owner = "" if relative == loop.iterations else calls[f"{reached.name}("].removesuffix("(") + "."
            iterations[owner + number] = relative
        lines += _iterate_renamed_lines(_restore_written(module, reached), {**names, **calls}, new)
    lines += (line for extern in externs for line in _iterate_renamed_lines(extern, {}, new))
    return Canonical("".join(f"{line}\n" for line in lines), sizes, iterations)


def _replace_other_characters(name: str) -> str:
    """Return a name like one that elaboration made, of characters that a program can use."""
    return re.sub(r"\W", "_", name)


@record
class WrittenProgram:
    """The text of an algorithm and its callees in their own names, with other names where these cannot be written.

    `replaced` has the new names of algorithms whose names cannot.
    """

    text: str
    replaced: Mapping[str, str]

    def rename_iterations(self, name: str) -> str:
        """Return the name that iterations of a loop have in the text; names without an owner stay."""
        owner, dot, own_name = name.rpartition(".")
        return f"{self.replaced.get(owner, owner)}{dot}{own_name}"


def write_program(module: Module, algorithm: s.Algorithm) -> WrittenProgram:
    """Write an algorithm and its callees as a program whose costs are the same.

    Names of iterations that are not from the author are omitted.
    """

    def change_node(node: Node) -> Node | None:
        if isinstance(node, s.Loop | s.While) and node.chosen:
            return rewrite_fields(replace(node, iterations=None), change_node)  # type: ignore[no-any-return]
        return None

    items = [_restore_written(module, item) for items in _find_reached_definitions(module, algorithm) for item in items]
    names = _replace_generated_names(items)
    written = rewrite_tree(tuple(items), change_node)
    text = "".join(f"{line}\n" for item in written for line in _iterate_renamed_lines(item, names))
    algorithms = {old.removesuffix("("): new.removesuffix("(") for old, new in names.items() if old.endswith("(")}
    return WrittenProgram(text, algorithms)


def _replace_generated_names(items: Sequence[s.Item]) -> dict[str, str]:
    """Return a name that can be written for each declared one that cannot, where the key of an algorithm has a `(`."""
    algorithms = [item for item in items if isinstance(item, s.Algorithm)]
    declared = [f"{item.name}(" for item in algorithms]
    declared += [parameter.name for item in algorithms for parameter in item.parameters]
    declared += [node.name for item in algorithms for node in s.find_nodes(item.body, s.Local)]
    generated = [name for name in dict.fromkeys(declared) if not name.removesuffix("(").isidentifier()]
    if not generated:
        return {}
    used = {name for item in items for name in re.findall(r"\w+", "\n".join(_iterate_renamed_lines(item, {})))}
    names: dict[str, str] = {}
    for name in generated:
        stem = name.removesuffix("(")
        start = _replace_other_characters(stem)
        new = next(new for number in count() if (new := f"{start}{number or ''}") not in used)
        used.add(new)
        names[name] = name.replace(stem, new)
    return names


def _find_reached_definitions(
    module: Module, algorithm: s.Algorithm
) -> tuple[tuple[s.Algorithm, ...], tuple[s.Extern, ...]]:
    """Find the algorithms and externs that a run of an algorithm may call; the first is the algorithm itself."""
    algorithms = tuple(dict.fromkeys((algorithm, *find_reachable(module, algorithm))))
    calls = s.find_nodes(tuple(reached.body for reached in algorithms), s.Call)
    externs = dict.fromkeys(target for target in map(module.targets.get, calls) if isinstance(target, s.Extern))
    return algorithms, tuple(externs)


def _make_name_generator(texts: set[str]) -> NewName:
    """Make a function that returns new canonical names, which occur in none of the texts."""
    suffix, counts = "_", Counter[str]()
    while any(re.search(rf"\b[a-z][0-9]+{suffix}\b", text) for text in texts):
        suffix += "_"

    def make_name(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}{counts[kind]}{suffix}"

    return make_name


def _restore_written(module: Module, item: s.Item) -> s.Item:
    """Return an item as a program has it, with exits and outputs as they are written, without docstring and claims."""
    if not isinstance(item, s.Algorithm):
        return item
    registers = {output.register: output.parameter.name for output in item.outputs}

    def change_node(node: Node) -> Node | tuple[Node, ...] | None:
        match node, item.body[-1]:
            case s.If(branches=(s.Branch(condition=s.Reached(), body=body),)), _:
                return tuple(rewrite_tree(body, change_node))
            case s.Exit(kind="return", span=span), s.Return(value=s.Name() as register):
                return s.Return(register, span=span)
            case s.Local(name=name), _ if name in registers:
                return ()
            case s.Name(id=name), _ if registers.get(name, name) != name:
                return replace(node, id=registers[name])
            case s.Invoke(call=call, outputs=(_, *_) as places), _:
                whole = _restore_arguments(module, call, places)
                return rewrite_fields(replace(node, call=whole, outputs=()), change_node)  # type: ignore[no-any-return]
            case s.Assign(value=s.Call() as call, outputs=(_, *_) as places), _:
                whole = _restore_arguments(module, call, places)
                return rewrite_fields(replace(node, value=whole, outputs=()), change_node)  # type: ignore[no-any-return]
            case _:
                return None

    body = rewrite_tree(item.body, change_node)
    return replace(item, doc=None, ensures=(), parameters=item.header, outputs=(), body=body)


def _restore_arguments(module: Module, call: s.Call, places: tuple[s.Expr, ...]) -> s.Call:
    """Return a call with the places of the callee's outputs among its arguments."""
    target, arguments = module.targets[call], list(call.arguments)
    assert isinstance(target, s.Algorithm)
    for output, place in zip(target.outputs, places, strict=True):
        is_read = output.parameter.mode != "out"
        arguments[output.position : output.position + is_read] = [place]
    return replace(call, arguments=tuple(arguments))


def _iterate_renamed_lines(item: s.Item, names: Mapping[str, str], new: NewName | None = None) -> Iterator[str]:
    """Yield the lines of an item with the names replaced; with `new`, variables get new names within their blocks."""
    units = list(iterate_logical_lines(item))
    texts = ["".join(group.opening + ", ".join(group.entries) for group in unit.groups) + unit.text for unit in units]
    # Words that are not names in some places keep their meaning.
    fixed = {
        *METRICS,
        *(word for text in texts for match in _WORD_IN_USE.finditer(text) for word in match.groups() if word),
    }
    for node in s.iterate_nodes(item):
        if isinstance(node, s.Clause) and node.keyword == "using":
            fixed |= s.find_names(node.values)
        elif isinstance(node, s.Axis) and node.within is not None:
            fixed.add(node.within)
    scopes = [{name: new_name for name, new_name in names.items() if name not in fixed}]
    for unit, text in zip(units, texts, strict=True):
        del scopes[unit.level + 1 :]
        inner: dict[str, str] = {}
        for pattern, scope in ((_LOCAL, scopes[-1]), (_INNER, inner)):
            match = pattern.match(text)
            name = match and (match[1] or match[2])
            if new and name and name not in fixed:
                scope[name] = new(OTHER_PREFIX)
        scopes.append(inner)
        yield "    " * unit.level + rename_text(text, ChainMap(*reversed(scopes)))
