"""Arrays of which a call touches every element, whatever the data says: io is their lines at least.

    sort(a[0..h]); sort(a[h..n])        split(b[0..q], c[0..h + q]); c[h + q] = ...; split(b[q..m], c[h + q + 1..n + m])

By induction over all calls: on each way through a body, the elements that it accesses and the parts that its calls
touch whole make up the array. Where that takes sizes of 1 or 2 at least, as nothing is to be sorted of a single key, it
is claimed of such sizes. An integer of the data that does not change between two calls is a symbol, so that parts which
end and begin with it are known to lie side by side; slices lie in their arrays, as a run stops where they do not.
What is not followed touches nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError
from archline.analysis.io.accesses import Access, Array, Chain, Loop, Node, Recursion, View
from archline.analysis.io.bodies import TooManyWaysError, ways
from archline.analysis.io.followed import Followed
from archline.analysis.io.layout import LINE, whole
from archline.analysis.io.untraced import UntracedError
from archline.analysis.io.windows import Interval, Turn, union, within
from archline.analysis.recursion.graph import reachable
from archline.language import syntax as s
from archline.language.model import Module

LEAST = (0, 1, 2)
"""Sizes from which on an array may be touched whole, in the order in which they are tried."""
MAX_CUTS = 8
"""How often an array is cut where a part of it ends."""
Part = tuple[Interval, ...]
Claims = Mapping[s.Algorithm, Mapping[str, int]]
"""By array parameters, from which sizes on all of the array is touched."""


def filled(module: Module, algorithm: s.Algorithm) -> Poly:
    """At least so many lines are touched by one call, in its sizes and L."""
    known = {each: _Body.of(module, each) for each in (algorithm, *reachable(module, algorithm))}
    claims = _claims({each: body for each, body in known.items() if body is not None})
    body = known[algorithm]
    if body is None:
        return ZERO
    facts, claimed = body.facts, claims[algorithm]
    found = (body.from_sizes(claimed[each.name]) * _lines(each) for each in body.given if each.name in claimed)
    return facts.restore(facts.simplify(sum(found, ZERO)))


def _lines(array: Array) -> Poly:
    """The lines of all elements; in Z-Morton order those of the square around them need not be touched."""
    if array.layout != "zmorton":
        return whole(array)
    rows, columns = array.extents
    return a.ceil_div(rows * columns, LINE)


def _claims(bodies: Mapping[s.Algorithm, _Body]) -> Claims:
    """What holds of all calls if it holds of those that they make: what does not is given up until nothing changes."""
    found = {each: {array.name: LEAST[0] for array in body.given} for each, body in bodies.items()}
    changed = True
    while changed:
        changed = False
        for algorithm, body in bodies.items():
            for array in body.given:
                least = found[algorithm].get(array.name)
                if least is None or body.touches(array, least, found):
                    continue
                changed = True
                del found[algorithm][array.name]
                if least < LEAST[-1]:
                    found[algorithm][array.name] = least + 1
    return found


@dataclass(frozen=True, eq=False)
class _Body:
    """What one call does, on each way through its branches: what holds there, and the accesses and the calls."""

    given: tuple[Array, ...]
    sizes: tuple[Poly, ...]
    facts: Facts
    ways: tuple[tuple[tuple[Poly, ...], tuple[Node, ...]], ...]

    @staticmethod
    def of(module: Module, algorithm: s.Algorithm) -> _Body | None:
        """None where it cannot be followed at all."""
        try:
            body = Followed(module).body(algorithm)
            found = tuple((known or (), nodes) for known, nodes in ways(body.nodes))
        except (UntracedError, TooManyWaysError, TooComplexError):
            return None
        sizes = tuple(body.scope.values[name] for name in module.signatures[algorithm].size_names)
        return _Body(body.given, sizes, body.scope.facts, found)

    def from_sizes(self, least: int) -> Poly:
        """1 where all sizes are so large, and 0 elsewhere."""
        found = ONE
        for size in self.sizes:
            if not self.facts.nonnegative(size - least):
                found = found * a.minimum(ONE, self.facts.positive_part(size - (least - 1)))
        return found

    def touches(self, array: Array, least: int, claims: Claims) -> bool:
        """Whether all of an array is touched where sizes are so large and calls do what is claimed of them."""
        facts = self.facts
        for size in self.sizes:
            facts = facts.with_nonnegative(size - least)
        whole = tuple((ZERO, extent) for extent in array.extents)
        for known, nodes in self.ways:
            here = facts
            for each in known:
                here = here.with_nonnegative(each)
            if any(facts.nonnegative(-each - 1) for each in known):
                continue
            parts = [part for each, chain in _flat(nodes) for part in _parts(each, chain, array, here, claims)]
            if not _covered(whole, parts, here):
                return False
        return True


# Parts that are touched whole
def _flat(nodes: Sequence[Node], chain: Chain = ()) -> Iterator[tuple[Access | Recursion, Chain]]:
    for node in nodes:
        match node:
            case Loop(body=body):
                yield from _flat(body, (*chain, node))
            case Access() | Recursion():
                yield node, chain


def _parts(node: Access | Recursion, chain: Chain, array: Array, facts: Facts, claims: Claims) -> Iterator[Part]:
    """Parts of an array that a node touches in all iterations together."""
    inside = [facts]
    for loop in chain:
        inside.append(within(_turn(loop), inside[-1], 1))
    match node:
        case Access(place=place, certain=True, when=()) if node.array is array:
            found = [_element(place)]
        case Recursion(views=views):
            held = claims.get(node.target, {})
            found = [
                _given(view)
                for name, view in views.items()
                if view.array is array and name in held and _large(node, held[name], inside[-1])
            ]
        case _:
            found = []
    for part in found:
        if part is not None:
            yield from _in_loops(part, chain, inside)


def _large(call: Recursion, least: int, facts: Facts) -> bool:
    return not least or all(facts.nonnegative(size - least) for size in call.sizes.values())


def _element(place: Sequence[Poly | None]) -> Part | None:
    part = tuple((each, each + 1) for each in place if each is not None)
    return part if len(part) == len(place) else None


def _given(view: View) -> Part | None:
    """The part of an array that a view is, if it is an interval of subscripts in every dimension."""
    if not view.exact:
        return None
    part = []
    for dimension, start in enumerate(view.starts):
        if start is None:
            return None
        width = ONE
        # From the innermost out, a step is as long as what lies within it.
        for (along, step), extent in zip(reversed(view.axes), reversed(view.extents), strict=True):
            if along == dimension:
                if step != width:
                    return None
                width = width * extent
        part.append((start, start + width))
    return tuple(part)


def _turn(loop: Loop) -> Turn:
    return Turn(loop.variable, loop.lo, loop.hi)


def _in_loops(part: Part, chain: Chain, inside: Sequence[Facts]) -> Iterator[Part]:
    """What is touched by all iterations, or by the first ones or the last ones of loops that make no interval of it."""
    if not chain:
        yield part
        return
    (*around, loop), facts = chain, inside[len(chain) - 1]
    turn, name = _turn(loop), loop.variable
    moving = [dimension for dimension, ends in enumerate(part) if name in ends[0].names | ends[1].names]
    some = facts.nonnegative(loop.hi - loop.lo - 1)
    if len(moving) == 1:
        joint = union(part[moving[0]], turn, within(turn, facts, 2))
        if joint is not None and (some or joint[1] - joint[0] == loop.hi - loop.lo):
            whole = tuple(joint if dimension == moving[0] else ends for dimension, ends in enumerate(part))
            yield from _in_loops(whole, tuple(around), inside)
            return
    if some:
        for value in (loop.lo, loop.hi - 1) if moving else (loop.lo,):
            fixed = tuple((lo.substitute({name: value}), hi.substitute({name: value})) for lo, hi in part)
            yield from _in_loops(fixed, tuple(around), inside)


def _covered(box: Part, parts: Sequence[Part], facts: Facts, cuts: int = MAX_CUTS) -> bool:
    """Whether parts make up a box: it is cut at the end of one that begins where it does, and so are both pieces."""
    if any(facts.nonnegative(lo - hi) for lo, hi in box):
        return True
    for number, part in enumerate(parts):
        if not all(facts.nonnegative(low - lo) for (low, _), (lo, _) in zip(box, part, strict=True)):
            continue
        beyond = [place for place, (own, all_) in enumerate(zip(part, box, strict=True)) if not _reaches(own, all_, facts)]
        if not beyond:
            return True
        if not cuts:
            continue
        place, end = beyond[0], part[beyond[0]][1]
        others = (*parts[:number], *parts[number + 1 :])
        before = _cut(box, place, (box[place][0], end))
        behind = _cut(box, place, (end, box[place][1]))
        if (len(beyond) == 1 or _covered(before, parts, facts, cuts - 1)) and _covered(behind, others, facts, cuts - 1):
            return True
    return False


def _reaches(own: Interval, whole: Interval, facts: Facts) -> bool:
    return facts.nonnegative(own[1] - whole[1])


def _cut(box: Part, place: int, ends: Interval) -> Part:
    return (*box[:place], ends, *box[place + 1 :])
