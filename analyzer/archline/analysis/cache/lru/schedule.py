"""Translate the accesses of a program to isl relations from times to lines.

A time is a tuple, compared lexicographically: from the outside in, the position of a statement in its block and, if
the statement is a loop, its variable. A variable v that moves along lines of L words has two columns, v // L and
v % L: isl then meets few floors, and counts ten times faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.printing import to_text
from archline.ir.conditions import equivalent_constraints
from archline.ir.lower import Lowering
from archline.ir.scope import Scope
from archline.ir.tree import (
    Access,
    Array,
    Chain,
    Choice,
    Loop,
    Node,
    RecursiveCall,
    UntracedError,
    contiguous_dimension,
)
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.checking.scopes import list_machine_symbols
from archline.language.model import Module
from archline.records import record


@record
class TimeColumn:
    """A column of a time: a position in a block, a loop variable, or its quotient ("q") or remainder ("r") by L."""

    counter: str = ""
    part: str = ""
    place: int = 0

    def text(self, names: Mapping[str, str]) -> str:
        """Return the column in isl syntax."""
        return names[self.counter] + self.part if self.counter else str(self.place)

    def value(self, line: int) -> Poly:
        """Return the column in terms of loop variables, with L = `line`."""
        counter = Poly.symbol(self.counter) if self.counter else ONE * self.place
        match self.part:
            case "q":
                return a.floor_div(counter, ONE * line)
            case "r":
                return a.modulo(counter, ONE * line)
            case _:
                return counter


@record
class TimedReference:
    """An access, made `times` times in succession, as an isl `relation` from times to lines of `array`."""

    array: str
    times: int
    relation: str
    time: tuple[TimeColumn, ...]


@record
class CountProblem:
    """The input of a count: references in text order, with lines of `line` words; `context` constrains the sizes.

    `sizes` stay symbols; isl calls them p0, p1 and so on.
    """

    line: int
    sizes: tuple[str, ...]
    context: str
    references: tuple[TimedReference, ...]


Names = Mapping[str, str]
"""The isl names of symbols."""


class NotAffineError(Exception):
    """An expression is not affine, which isl requires."""

    def __init__(self, value: Poly) -> None:
        super().__init__(f"{to_text(value)} is not affine")


def make_scaled_text(value: Poly, names: Names) -> tuple[str, int]:
    """Return isl text of a multiple of a value with integer coefficients, and the factor.

    Raises NotAffineError.
    """
    scale = lcm(*(int(number.q) for number in value.terms.values())) if value.terms else 1
    parts = []
    for monomial, coefficient in value.terms.items():
        factor = int((coefficient * scale).p)
        match monomial:
            case ():
                parts.append(str(factor))
            case ((atom, 1),):
                parts.append(f"{factor}*{_make_atom_text(atom, names)}")
            case _:
                raise NotAffineError(value)
    return "(" + (" + ".join(parts) or "0") + ")", scale


def make_floor_text(value: Poly, by: int, names: Names) -> str:
    """Return isl text of floor(value / by). Raises NotAffineError."""
    text, scale = make_scaled_text(value, names)
    return text if scale * by == 1 else f"floor({text}/{scale * by})"


def _make_atom_text(atom: Atom, names: Names) -> str:
    match atom:
        case Symbol(name=name) if name in names:
            return names[name]
        case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant and modulus.constant_term.q == 1:
            return make_floor_text(argument, int(modulus.constant_term.p), names)
        case a.PositivePart(argument=argument):
            text, scale = make_scaled_text(argument, names)
            if scale == 1:
                return f"max(0, {text})"
        case _:
            pass
    raise NotAffineError(Poly.of_atom(atom))


Time = tuple[int | str, ...]
"""Positions in blocks and names of loop variables, alternating."""
STACK = "stack"


def build_count_problem(module: Module, algorithm: s.Algorithm, point: Mapping[str, int]) -> CountProblem:
    """Describe the accesses of one call with lines of point["L"] words; sizes that `point` lacks stay symbols.

    Raises UntracedError if the algorithm is recursive, or accesses depend on data or are not affine.
    """
    if has_recursion(module, algorithm):
        raise UntracedError("exact counts are made for loops only, and this algorithm is recursive", algorithm.span)
    scope, nodes = Lowering(module).trace(algorithm)
    result = list(_iterate_timed_accesses(nodes, (), ()))
    separate = _has_disjoint_local_arrays([access.array for access, _, _ in result])
    return _ProblemBuilder(scope, point, separate, _find_variables_along_lines(result, point["L"])).build_problem(
        algorithm, result
    )


def _iterate_timed_accesses(nodes: Sequence[Node], time: Time, chain: Chain) -> Iterator[tuple[Access, Chain, Time]]:
    """Yield each access with the loops around it and its time."""
    for place, node in enumerate(nodes):
        match node:
            case Access():
                yield node, chain, (*time, place)
            case Loop(variable=variable, body=body):
                yield from _iterate_timed_accesses(body, (*time, place, variable), (*chain, node))
            case RecursiveCall() | Choice():
                pass


def _collect_mentioned_names(found: Sequence[tuple[Access, Chain, Time]]) -> set[str]:
    names: set[str] = set()
    for access, chain, _ in found:
        ends = (end for loop in chain for end in (loop.lo, loop.hi))
        places = (subscript for subscript in access.place if subscript is not None)
        for value in (*ends, *places, *access.when, *access.array.extents, access.array.below):
            names |= value.names
    return names


def _find_variables_along_lines(found: Sequence[tuple[Access, Chain, Time]], line: int) -> frozenset[str]:
    """Find the loop variables in contiguous subscripts, which move along lines of more than one word."""
    names: set[str] = set()
    for access, chain, _ in found if line > 1 else ():
        along = access.place[contiguous_dimension(access.array)]
        if along is not None:
            names |= along.names & {loop.variable for loop in chain}
    return frozenset(names)


def _has_disjoint_local_arrays(arrays: Sequence[Array]) -> bool:
    """Test whether no two local arrays share lines of the stack, and none moves between iterations."""
    local = [array for array in dict.fromkeys(arrays) if array.local]
    disjoint = all(first in second.beneath or second in first.beneath for first, second in combinations(local, 2))
    return disjoint and not any(array.within for array in local)


@dataclass(eq=False)
class _ProblemBuilder:
    """Builds a count problem; variables in `cut` have two columns, and if `separate`, no local arrays share lines."""

    scope: Scope
    point: Mapping[str, int]
    separate: bool
    cut: frozenset[str]
    _arrays: dict[Array, str] = field(default_factory=dict)

    def build_problem(self, algorithm: s.Algorithm, accesses: Sequence[tuple[Access, Chain, Time]]) -> CountProblem:
        signature = self.scope.module.signatures[algorithm]
        machine = [
            name
            for name in list_machine_symbols(signature)
            if name != "L" and name in _collect_mentioned_names(accesses)
        ]
        sizes = tuple(name for name in (*signature.size_names, *signature.indices, *machine) if name not in self.point)
        symbols = {name: f"p{place}" for place, name in enumerate(sizes)}
        columns = _align_columns([time for _, _, time in accesses], self.cut)
        timed = zip(accesses, columns, strict=True)
        references = tuple(self._build_reference(access, chain, time, symbols) for (access, chain, _), time in timed)
        return CountProblem(self.point["L"], sizes, self._make_size_constraints(algorithm, symbols), references)

    def _build_reference(
        self, access: Access, chain: Chain, time: tuple[TimeColumn, ...], symbols: Names
    ) -> TimedReference:
        if not access.certain:
            reason = "whether this is accessed depends on more than sizes and loop variables"
            raise UntracedError(reason, access.span)
        counters = {loop.variable: f"v{place}" for place, loop in enumerate(chain)}
        names = {**symbols, **{name: self._make_variable_text(name, symbol) for name, symbol in counters.items()}}
        try:
            key, lines = self._make_line_subscripts(access, names)
            needs = [need for loop in chain for need in self._iterate_range_constraints(loop, names)]
            needs += [self._make_constraint(condition, names) for condition in access.when]
        except NotAffineError as problem:
            raise UntracedError(f"{problem} in sizes and loop variables", access.span) from None
        needs += [f"0 <= {counters[name]}r < {self.point['L']}" for name in counters if name in self.cut]
        needs += [f"l{place} = {text}" for place, text in enumerate(lines)]
        columns = ", ".join(column.text(counters) for column in time)
        line = ", ".join(f"l{place}" for place in range(len(lines)))
        text = f"[{', '.join(symbols.values())}] -> {{ [{columns}] -> {key}[{line}] : {' and '.join(needs)} }}"
        return TimedReference(key, access.times, text, time)

    def _make_variable_text(self, name: str, symbol: str) -> str:
        return f"({self.point['L']}*{symbol}q + {symbol}r)" if name in self.cut else symbol

    def _substitute_point(self, value: Poly) -> Poly:
        constants = {name: Poly.constant(number) for name, number in self.point.items()}
        return self.scope.facts.restore(value).substitute(constants)

    def _make_constraint(self, value: Poly, names: Names) -> str:
        return f"{make_scaled_text(self._substitute_point(value), names)[0]} >= 0"

    def _iterate_range_constraints(self, loop: Loop, names: Names) -> Iterator[str]:
        counter = Poly.symbol(loop.variable)
        yield self._make_constraint(counter - self._substitute_point(loop.lo), names)
        yield self._make_constraint(self._substitute_point(loop.hi) - counter - 1, names)

    # Lines
    def _make_line_subscripts(self, access: Access, names: Names) -> tuple[str, list[str]]:
        """Return the array and the subscripts of a line: the subscripts of the row, and the contiguous one // L."""
        array = access.array
        if array.layout == "zmorton":
            raise UntracedError("lines of a Z-Morton array are not affine in its subscripts", access.span)
        place = [subscript for subscript in access.place if subscript is not None]
        if len(place) < len(access.place):
            raise UntracedError("which element this is depends on data", access.span)
        along = contiguous_dimension(array)
        rows = [subscript for dimension, subscript in enumerate(place) if dimension != along]
        if array.local and not self.separate:
            return STACK, [self._make_stack_line(access, rows, place[along], names)]
        key = self._arrays.setdefault(array, f"a{len(self._arrays)}")
        texts = [make_floor_text(self._substitute_point(row), 1, names) for row in rows]
        return key, [*texts, make_floor_text(self._substitute_point(place[along]), self.point["L"], names)]

    def _make_stack_line(self, access: Access, rows: list[Poly], last: Poly, names: Names) -> str:
        """Return the number of a line on the stack, where local arrays lie above earlier ones. Raises UntracedError."""
        array = access.array
        for member in (array, *array.beneath):
            if not member.exact or member.layout == "zmorton":
                raise UntracedError(f"the address of the local array `{array.name}` is not known exactly", access.span)
        along, line, length = contiguous_dimension(array), Poly.constant(self.point["L"]), ONE
        row = ZERO
        extents = [extent for dimension, extent in enumerate(array.extents) if dimension != along]
        for subscript, extent in zip(reversed(rows), reversed(extents), strict=True):
            row, length = row + subscript * length, length * extent
        words = a.ceil_div(self._substitute_point(array.extents[along]), line)
        start = self._substitute_point(array.below) + self._substitute_point(row) * words
        return make_floor_text(start + a.floor_div(self._substitute_point(last), line), 1, names)

    def _make_size_constraints(self, algorithm: s.Algorithm, symbols: Mapping[str, str]) -> str:
        """Return the constraints on sizes that isl can express."""
        signature = self.scope.module.signatures[algorithm]
        bounded = {name: symbol for name, symbol in symbols.items() if name not in signature.indices}
        constraints = [f"{symbol} >= {signature.at_least.get(name, 1)}" for name, symbol in bounded.items()]
        for fact in algorithm.where:
            constraints += self._iterate_fact_constraints(fact, symbols)
        return f"[{', '.join(symbols.values())}] -> {{ : {' and '.join(constraints)} }}"

    def _iterate_fact_constraints(self, fact: s.Fact, symbols: Names) -> Iterator[str]:
        """Yield a fact as isl constraints, if it is affine or a divisibility by a number."""
        match fact:
            case s.Divides(divisor=s.Integer(value=number), value=s.Name(id=name)) if name in symbols:
                yield f"{symbols[name]} mod {number} = 0"
            case s.Binary():
                for amount in equivalent_constraints(fact, self.scope) or ():
                    try:
                        yield self._make_constraint(amount, symbols)
                    except NotAffineError:
                        continue
            case _:
                pass


def _align_columns(times: Sequence[Time], cut: frozenset[str]) -> list[tuple[TimeColumn, ...]]:
    """Pad times to the same number of columns, and drop positions that are equal in all times.

    Columns with a variable of `cut` are two, for its quotient and its remainder.
    """
    length = max(map(len, times), default=0)
    full = [(*time, *(0 for _ in range(length - len(time)))) for time in times]
    padded: list[list[TimeColumn]] = [[] for _ in times]
    for place in range(length):
        entries = [time[place] for time in full]
        if entries == entries[:1] * len(entries) and isinstance(entries[0], int):
            continue
        is_split = not cut.isdisjoint(map(str, entries))
        for columns, entry in zip(padded, entries, strict=True):
            if isinstance(entry, int):
                columns += [TimeColumn(place=entry), TimeColumn()][: 1 + is_split]
            elif entry in cut:
                columns += [TimeColumn(entry, "q"), TimeColumn(entry, "r")]
            else:
                columns += [TimeColumn(entry), TimeColumn()][: 1 + is_split]
    return list(map(tuple, padded))
