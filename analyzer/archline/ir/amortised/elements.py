"""Integer arrays whose elements are followed on paths, and facts about all of their elements that writes may keep.

while k > 0 and p[k] != p[i]:      # Each element fail[j] is at most j, as all writes are of such values:
k = fail[k - 1]                # so each iteration makes k less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archline.expr.tree import make_structural_key
from archline.ir.amortised.linear import Linear, add_forms, register_form, scale_form, shift_form, substitute_form
from archline.language import syntax as s
from archline.records import field, record

VALUE, SUBSCRIPT = "value", "subscript"
"""The columns of a fact that stand for an element and for its subscript."""


@record(eq=False)
class Integers:
    """The integers that paths follow: names of registers, parameters and arrays.

    `arrays` maps the arrays whose elements are followed to their extents: no other name stands for a part, and
    all writes to them are assignments of single elements, in one thread. `facts` are forms that are nonnegative for
    each element that is read; if not `proved`, each write has to keep them.
    """

    names: frozenset[str]
    arrays: Mapping[str, tuple[s.Expr, ...]]
    facts: Mapping[str, tuple[Linear, ...]] = field(default_factory=dict)
    proved: bool = True


@record(eq=False)
class Store:
    """A write to an element of an array, on a path from the node `source`.

    `needed` has a form for each fact of the array. It is nonnegative if the element that is written keeps the fact; for
    its proof there are the constraints on the path before the write.
    """

    source: str
    constraints: tuple[Linear, ...]
    array: str
    needed: tuple[Linear, ...]


def find_integers(algorithm: s.Algorithm, body: Sequence[s.Stmt]) -> Integers:
    """Find the integers of an algorithm that paths follow, where calls are replaced in `body`.

    A name that stands for several things has to stand for integers everywhere, an array for arrays of one shape.
    """
    declared = [(parameter.name, parameter.type) for parameter in algorithm.parameters]
    declared += [(local.name, local.type) for local in s.find_nodes(tuple(body), s.Local)]
    types: dict[str, list[s.Type]] = {}
    for name, type_ in declared:
        types.setdefault(name, []).append(type_)
    names = frozenset(name for name, found in types.items() if all(map(_holds_integers, found)))
    shared = _find_shared_arrays(tuple(body))
    arrays = {
        name: first.shape if isinstance(first, s.ArrayType) else ()
        for name, (first, *more) in types.items()
        if name in names
        and name not in shared
        and not isinstance(first, s.ScalarType)
        and all(make_structural_key(later) == make_structural_key(first) for later in more)
    }
    return Integers(names, arrays)


def _holds_integers(type_: s.Type) -> bool:
    match type_:
        case s.ArrayType(element="bool"):
            # Its elements are 0 and 1.
            return True
        case s.ScalarType(element=element) | s.ArrayType(element=element):
            return element in ("int", "char")
        case _:
            return isinstance(type_, s.IndexArrayType | s.OffsetsType)


def _find_shared_arrays(body: Sequence[s.Stmt]) -> frozenset[str]:
    """Find the arrays that are passed or named as a whole or in part, or written in other ways than by assignments."""
    shared: set[str] = set()
    filled = {
        node.target
        for node in s.find_nodes(tuple(body), s.Assign)
        if node.op == "=" and isinstance(node.target, s.Element) and is_whole(node.target)
    }
    for node in s.iterate_nodes(tuple(body)):
        match node:
            case s.Name(id=name):
                shared.add(name)
            case s.Element(array=array, subscripts=subscripts) if any(isinstance(part, s.Slice) for part in subscripts):
                if node not in filled:
                    shared.add(array)
            case s.Assign(atomic=False, outputs=()):
                # Its target is followed.
                pass
            case s.Loop(parallel=True, body=inside):
                shared.update(_find_written_arrays(inside))
            case s.Simple():
                shared.update(_find_written_arrays((node,)))
            case _:
                # Other nodes write to no array.
                pass
    return frozenset(shared)


def is_whole(place: s.Element) -> bool:
    """Test whether a view has all elements of its array."""
    slices = [part for part in place.subscripts if isinstance(part, s.Slice)]
    return len(slices) == len(place.subscripts) and all(part.lo is part.hi is part.step is None for part in slices)


def _find_written_arrays(block: Sequence[s.Statement]) -> Iterator[str]:
    for statement in s.find_nodes(tuple(block), s.Simple):
        for place in statement.writes:
            if isinstance(place, s.Element):
                yield place.array


def list_candidates(
    algorithm: s.Algorithm, body: Sequence[s.Stmt], integers: Integers
) -> Mapping[str, tuple[Linear, ...]]:
    """List facts that may hold for the elements of arrays that are unset at the start and are both read and written."""
    unset = {local.name for local in s.find_nodes(tuple(body), s.Local) if local.value is None and local.when is None}
    unset |= {parameter.name for parameter in algorithm.parameters if parameter.mode == "out"}
    written = set(_find_written_arrays(body))
    places = {place for node in s.find_nodes(tuple(body), s.Assign) if node.op == "=" for place in node.writes}
    read = {element.array for element in s.find_nodes(tuple(body), s.Element) if element not in places}
    value, subscript = register_form(VALUE), register_form(SUBSCRIPT)
    ahead = add_forms(value, subscript, -1)
    within = [shift_form(value, -number) for number in (1, 0, -1)]
    beside = [shift_form(ahead, number) for number in (-1, 0)]
    beside += [shift_form(scale_form(ahead, -1), number) for number in (-1, 0, 1)]
    return {
        name: (*within, *beside) if len(shape) == 1 else tuple(within)
        for name, shape in integers.arrays.items()
        if name in unset and name in written and name in read and shape
    }


def express_facts(facts: Sequence[Linear], value: Linear, subscripts: Sequence[Linear]) -> tuple[Linear, ...]:
    """Return facts for an element, by its value and its subscripts."""
    at: dict[str, Linear] = {VALUE: value}
    if len(subscripts) == 1:
        at[SUBSCRIPT] = subscripts[0]
    return tuple(substitute_form(fact, at) for fact in facts)
