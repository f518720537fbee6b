"""Arrays of which a call touches a part in full, whatever the data says: io is the lines of that part at least.

    sort(a[0..h]); sort(a[h..n])        split(b[0..q], c[0..h + q]); c[h + q] = ...; split(b[q..m], c[h + q + 1..n + m])

By induction over all calls: on each way through a body, the elements that it accesses and the parts that its calls
touch in full make up the whole of an array, all but its first or last row and column, or its lower triangle. Where that
takes extents of 1 or 2 at least, as nothing is to be sorted of a single key, it is claimed of such. An integer of the
data that does not change between two calls is a symbol, so that parts which end and begin with it are known to lie side
by side; slices lie in their arrays, as a run stops where they do not. What is not followed touches nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError
from archline.algebra.summation import sum_over
from archline.analysis.io.accesses import Access, Array, Loop, Node, Recursion, View
from archline.analysis.io.bodies import TooManyWaysError, ways
from archline.analysis.io.followed import Followed
from archline.analysis.io.layout import LINE, whole
from archline.analysis.io.touched import clipped
from archline.analysis.io.untraced import UntracedError
from archline.analysis.io.windows import Interval, Turn, at_least_zero, union, within
from archline.analysis.recursion.graph import component, reachable
from archline.language import syntax as s
from archline.language.model import Module

MAX_TRIES = 200
"""How often a box is looked at while it is cut where parts of it end."""
MAX_PARTS = 12
"""Of so many parts those that lie side by side are put together."""
Box = tuple[Interval, ...]


@dataclass(frozen=True)
class Claim:
    """Of an array with such extents at least, what lies so far from its beginning and its end is touched in full.

    `lower`: only what lies on the diagonal or below it.
    """

    least: tuple[int, ...]
    before: int = 0
    behind: int = 0
    lower: bool = False

    def box(self, ends: Sequence[Interval]) -> Box:
        """What is claimed of the elements from some places on, up to others."""
        return tuple((lo + self.before, hi - self.behind) for lo, hi in ends)


Claims = Mapping[s.Algorithm, Mapping[str, Claim]]
"""By array parameters."""


def filled(module: Module, algorithm: s.Algorithm) -> Poly:
    """At least so many lines are touched by one call, in its sizes and L."""
    claims: dict[s.Algorithm, Mapping[str, Claim]] = {}
    for together in _in_order(module, algorithm):
        bodies = {each: _body(module, each) for each in together}
        claims |= _claims({each: body for each, body in bodies.items() if body is not None}, claims)
    body = bodies[algorithm]
    if body is None:
        return ZERO
    claimed = claims[algorithm]
    lines = (_lines(each, claimed[each.name], body.facts) for each in body.given if each.name in claimed)
    return body.facts.restore(sum(lines, ZERO))


# What is claimed
def _in_order(module: Module, algorithm: s.Algorithm) -> Iterator[tuple[s.Algorithm, ...]]:
    """An algorithm last, and before each those that it calls; those that call each other in a circle together."""
    done: set[s.Algorithm] = set()
    circles = {each: component(module, each) for each in (algorithm, *reachable(module, algorithm))}
    for each in sorted(circles, key=lambda each: (len(reachable(module, each)), not circles[each])):
        if each not in done:
            together = circles[each] or (each,)
            done |= set(together)
            yield together


def _claims(bodies: Mapping[s.Algorithm, _Body], known: Claims) -> Claims:
    """What holds of all calls if it holds of those that they make: what does not is given up until nothing changes."""
    left = {each: {array.name: _tried(array) for array in body.given} for each, body in bodies.items()}
    found = {each: {name: claims.pop(0) for name, claims in tried.items()} for each, tried in left.items()}
    changed = True
    while changed:
        changed = False
        for algorithm, claimed in found.items():
            for name, claim in list(claimed.items()):
                body, all_ = bodies[algorithm], {**known, **found}
                if body.fulfils(name, claim, all_):
                    continue
                changed = True
                more = left[algorithm][name] if body.may_touch(name, all_) else []
                del claimed[name]
                if more:
                    claimed[name] = more.pop(0)
    return found


def _tried(array: Array) -> list[Claim]:
    """What is tried to claim of an array, one after the other."""
    dimensions = len(array.extents)
    none, ones, twos = (0,) * dimensions, (1,) * dimensions, (2,) * dimensions
    single = [(*ones[:place], 2, *ones[place + 1 :]) for place in range(dimensions)]
    found = [Claim(each) for each in dict.fromkeys((none, ones, *single, twos))]
    if dimensions == 2 and array.extents[0] == array.extents[1]:
        found.append(Claim(none, lower=True))
    return [*found, *(Claim(none, *margins) for margins in ((1, 0), (0, 1), (1, 1)))]


# The lines of what is claimed
def _lines(array: Array, claim: Claim, facts: Facts) -> Poly:
    if claim.lower:
        return _below_diagonal(array, facts)
    if claim.before or claim.behind:
        return _inside(array, claim, facts)
    return _from(claim.least, array, facts) * (_elements(array) or whole(array))


def _elements(array: Array) -> Poly | None:
    """The lines of the elements of an array in Z-Morton order, as those beside them need not be touched."""
    if array.layout != "zmorton":
        return None
    rows, columns = array.extents
    return a.ceil_div(rows * columns, LINE)


def _from(least: Sequence[int], array: Array, facts: Facts) -> Poly:
    """1 where all extents are so large, and 0 elsewhere but where an array without elements has no lines anyway."""
    found = ONE
    for extent in dict.fromkeys(extent for extent, each in zip(array.extents, least, strict=True) if each > 1):
        if not facts.nonnegative(extent - 2):
            found = a.minimum(found, a.positive_part(extent - 1))
    return found


def _below_diagonal(array: Array, facts: Facts) -> Poly:
    """The lines of row i up to its element i, or of column i from there on, added up."""
    (extent, _), place = array.extents, Poly.symbol("row")
    if array.layout == "zmorton":
        return a.ceil_div(extent * (extent + 1) / 2, LINE)
    before = a.floor_div(place, LINE)
    own = before + 1 if array.layout == "rowmajor" else a.ceil_div(extent, LINE) - before
    return sum_over(own, "row", ZERO, extent, facts)


def _inside(array: Array, claim: Claim, facts: Facts) -> Poly:
    """The lines of what lies so far from the ends, at least: w words of a row are ceil(w/L) lines or more."""
    box = claim.box([(ZERO, extent) for extent in array.extents])
    part = replace(array, extents=tuple(facts.positive_part(hi - lo) for lo, hi in box))
    return _elements(part) or whole(part)


# Bodies
@dataclass(frozen=True, eq=False)
class _Way:
    """What holds on a way through a body: facts of the body, and what is at least 0 there."""

    facts: Facts
    known: tuple[Poly, ...]

    @cached_property
    def learned(self) -> Facts:
        """The facts, and what gives a bound of a symbol."""
        found = self.facts
        # What the others say may decide a max in one of them.
        for each in (*self.known, *self.known):
            found = found.with_nonnegative(found.simplify(each))
        return found

    @cached_property
    def impossible(self) -> bool:
        """Whether no sizes are such."""
        return any(self.learned.nonnegative(-each - 1) for each in self.known)

    def nonnegative(self, value: Poly) -> bool:
        """Whether a value is at least 0, by the facts or because it is no less than what is known."""
        return self.learned.nonnegative(value) or any(self.facts.nonnegative(value - each) for each in self.known)


@dataclass(frozen=True, eq=False)
class _Body:
    """What one call does, on each way through its branches: what holds there, and the accesses and the calls."""

    given: tuple[Array, ...]
    facts: Facts
    ways: tuple[tuple[tuple[Poly, ...], tuple[Node, ...]], ...]
    _known: dict[tuple[tuple[Poly, ...], ...], _Way] = field(default_factory=dict)

    def fulfils(self, name: str, claim: Claim, claims: Claims) -> bool:
        """Whether what is claimed of an array is true if calls do what is claimed of them."""
        array = self._array(name)
        large = tuple(extent - each for extent, each in zip(array.extents, claim.least, strict=True) if each)
        box = claim.box([(ZERO, extent) for extent in array.extents])
        for known, nodes in self.ways:
            way = self._way(large, known)
            if way.impossible:
                continue
            found = _Parts(array, claims).of(nodes, way.learned)
            parts = dict.fromkeys(each.part for each in found if all(map(way.nonnegative, each.needs)))
            covering = _Covering(way)
            done = covering.lower(*box[0], list(parts)) if claim.lower else covering.covered(box, list(parts))
            if not done:
                return False
        return True

    def may_touch(self, name: str, claims: Claims) -> bool:
        """Whether on each way something is done with an array of which something is claimed."""
        array = self._array(name)
        large = tuple(extent - 2 for extent in array.extents)
        return all(self._way(large, known).impossible or _mentions(nodes, array, claims) for known, nodes in self.ways)

    def _array(self, name: str) -> Array:
        return next(each for each in self.given if each.name == name)

    def _way(self, large: tuple[Poly, ...], known: tuple[Poly, ...]) -> _Way:
        if (large, known) not in self._known:
            self._known[large, known] = _Way(self.facts, (*large, *known))
        return self._known[large, known]


def _body(module: Module, algorithm: s.Algorithm) -> _Body | None:
    """None where it cannot be followed at all."""
    try:
        body = Followed(module).body(algorithm)
        found = tuple((known or (), nodes) for known, nodes in ways(body.nodes))
    except (UntracedError, TooManyWaysError, TooComplexError):
        return None
    return _Body(body.given, body.scope.facts, found)


def _mentions(nodes: Sequence[Node], array: Array, claims: Claims) -> bool:
    """Whether nodes access an array, or pass it on to a call that does."""
    for node in nodes:
        match node:
            case Access():
                found = node.array is array
            case Recursion(target=target, views=views):
                found = any(view.array is array and name in claims.get(target, {}) for name, view in views.items())
            case Loop(body=body):
                found = _mentions(body, array, claims)
            case _:
                found = False
        if found:
            return True
    return False


# Parts that are touched in full
@dataclass(frozen=True)
class Part:
    """Elements of an array: a box, or of one along the diagonal what lies on it or below (`lower`)."""

    box: Box
    lower: bool = False


@dataclass(frozen=True)
class _Touched:
    """A part of an array that is touched where all of `needs` are at least 0."""

    part: Part
    needs: tuple[Poly, ...] = ()

    def uses(self, name: str) -> list[int]:
        """The dimensions in which it depends on a symbol."""
        return [place for place, (lo, hi) in enumerate(self.part.box) if name in lo.names or name in hi.names]

    def at(self, name: str, value: Poly) -> _Touched:
        """Where a symbol has a value."""
        values = {name: value}
        box = tuple((lo.substitute(values), hi.substitute(values)) for lo, hi in self.part.box)
        return _Touched(Part(box, self.part.lower), tuple(each.substitute(values) for each in self.needs))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of an array that calls and accesses touch in full."""

    array: Array
    claims: Claims

    def of(self, nodes: Sequence[Node], facts: Facts) -> list[_Touched]:
        """Those of nodes that are all reached."""
        found: dict[_Touched, None] = {}
        for node in nodes:
            match node:
                case Access(array=array, place=place, wherever=()) if array is self.array:
                    found |= dict.fromkeys(map(_Touched, _element(place)))
                case Recursion():
                    found |= dict.fromkeys(map(_Touched, self._given(node, facts)))
                case Loop(body=body):
                    turn = Turn(node.variable, node.lo, node.hi)
                    inside = self.of(body, within(turn, facts, 1))
                    found |= dict.fromkeys(all_ for each in inside for all_ in _in_loop(each, turn, facts))
        return [*found, *_side_by_side(list(found))]

    def _given(self, call: Recursion, facts: Facts) -> Iterator[Part]:
        claimed = self.claims.get(call.target, {})
        for name, view in call.views.items():
            if view.array is self.array and name in claimed and _large(view, claimed[name].least, facts):
                yield from _part(view, claimed[name])


def _large(view: View, least: Sequence[int], facts: Facts) -> bool:
    pairs = zip(view.extents, least, strict=True)
    return all(not each or facts.nonnegative(extent - each) for extent, each in pairs)


def _element(place: Sequence[Poly | None]) -> Iterator[Part]:
    box = tuple((each, each + 1) for each in place if each is not None)
    if len(box) == len(place):
        yield Part(box)


def _part(view: View, claim: Claim) -> Iterator[Part]:
    """What is claimed of a view, as part of its array, if the view is an interval of subscripts in every dimension."""
    straight = view.axes == tuple((dimension, ONE) for dimension in range(len(view.starts)))
    if not view.exact or (not straight and (claim.before or claim.behind or claim.lower)):
        return
    ends = []
    for dimension, start in enumerate(view.starts):
        width = ONE
        # From the innermost out, a step is as long as what lies within it.
        for (along, step), extent in zip(reversed(view.axes), reversed(view.extents), strict=True):
            if along == dimension:
                if step != width:
                    return
                width = width * extent
        if start is None:
            return
        ends.append((start, start + width))
    if not claim.lower or ends[0][0] == ends[1][0]:
        yield Part(claim.box(ends), claim.lower)


def _in_loop(touched: _Touched, turn: Turn, facts: Facts) -> Iterator[_Touched]:
    """What is touched by all iterations; where that is no such part, by the first one, and by the last one."""
    name = turn.variable
    kept = clipped(touched.needs, turn, facts)
    if kept is None:
        return
    turn, needs = kept
    box, some, moving = touched.part.box, at_least_zero(turn.hi - turn.lo - 1, facts), touched.uses(name)
    if len(moving) == 1 and not touched.part.lower:
        (place,) = moving
        joint = union(box[place], turn, within(turn, facts, 2))
        if joint is not None:
            # Of an empty loop this is an interval without places where every iteration adds one.
            empty = () if joint[1] - joint[0] == turn.hi - turn.lo else some
            yield _Touched(Part((*box[:place], joint, *box[place + 1 :])), (*needs, *empty))
            return
    if len(box) == 2 and len(moving) == 2 and _is_lower(box, turn, facts):
        yield _Touched(Part(((turn.lo, turn.hi), (turn.lo, turn.hi)), lower=True), needs)
    for value in (turn.lo, turn.hi - 1) if moving else (turn.lo,):
        fixed = touched.at(name, value)
        yield _Touched(fixed.part, (*fixed.needs, *some))


def _is_lower(box: Box, turn: Turn, facts: Facts) -> bool:
    """Whether iterations touch rows of a triangle up to the diagonal, or columns of it from there on."""
    (top, bottom), (left, right) = box
    place = Poly.symbol(turn.variable)
    here = place, place + 1
    rows = box[0] == here and right == here[1] and facts.nonnegative(turn.lo - left)
    return rows or (box[1] == here and top == place and bottom == turn.hi)


def _side_by_side(found: Sequence[_Touched]) -> Iterator[_Touched]:
    """Two parts of which one ends where the other begins, and which are the same in the other dimensions, as one."""
    boxes = [each for each in found if not each.part.lower][:MAX_PARTS]
    for one, other in permutations(boxes, 2):
        (first, second) = one.part.box, other.part.box
        apart = [place for place, ends in enumerate(first) if ends != second[place]]
        if len(apart) == 1 and first[apart[0]][1] == second[apart[0]][0]:
            place = apart[0]
            joint = (*first[:place], (first[place][0], second[place][1]), *first[place + 1 :])
            yield _Touched(Part(joint), tuple(dict.fromkeys((*one.needs, *other.needs))))


# What parts make up
@dataclass(eq=False)
class _Covering:
    """Whether parts make up a box or a triangle: it is cut at the end of one that begins where it does."""

    way: _Way
    tries: int = 0

    def covered(self, box: Box, parts: Sequence[Part]) -> bool:
        """Whether they make up a box."""
        self.tries += 1
        if any(self.way.nonnegative(lo - hi) for lo, hi in box):
            return True
        for number, part in enumerate(parts):
            if self.tries > MAX_TRIES:
                return False
            others = (*parts[:number], *parts[number + 1 :])
            if not part.lower and self._begins(part.box, box) and self._cut(box, part.box, others):
                return True
        return False

    def lower(self, start: Poly, end: Poly, parts: Sequence[Part]) -> bool:
        """Whether they make up the triangle between two elements of the diagonal."""
        self.tries += 1
        if self.way.nonnegative(start - end):
            return True
        for number, part in enumerate(parts):
            middle = part.box[0][1]
            begins = self._begins(part.box, ((start, end), (start, end)))
            if self.tries > MAX_TRIES or not begins or not self.way.nonnegative(part.box[1][1] - middle):
                continue
            others = (*parts[:number], *parts[number + 1 :])
            if self.way.nonnegative(middle - end):
                return True
            if self.lower(middle, end, others) and self.covered(((middle, end), (start, middle)), others):
                return True
        return False

    def _begins(self, part: Box, box: Box) -> bool:
        return all(self.way.nonnegative(low - lo) for (low, _), (lo, _) in zip(box, part, strict=True))

    def _cut(self, box: Box, part: Box, others: Sequence[Part]) -> bool:
        """Whether a box is made up by a part of what lies at its beginning, and by others."""
        short = [place for place, (_, end) in enumerate(box) if not self.way.nonnegative(part[place][1] - end)]
        if not short:
            return True
        place, (start, end) = short[0], box[short[0]]
        middle = part[place][1]
        behind = (*box[:place], (middle, end), *box[place + 1 :])
        before = (*box[:place], (start, middle), *box[place + 1 :])
        return self.covered(behind, others) and self._cut(before, part, others)
