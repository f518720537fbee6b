"""Registers that no program has, which count what is left in arrays: elements without a mark, and their rows.

    while not Q.empty():
        u = Q.pop()
        for v in G.neighbors(u):       # Each vertex is marked once, and is in the queue at most once since,
            if seen[v] == 0:           # so that the rows of those that are not marked, and of those in the queue,
                seen[v] = 1            # pay for the rows of all that are taken from it: at most E iterations.
                Q.push(v)

The number of the elements of an array that are equal to a constant falls by one where such an element is set to another
value. The same holds for the sum of the rows, in an array of offsets, at the subscripts of these elements. The rows of
the items in a queue or stack, which are elements from one register to another one, are at most a number that grows by
the row of an item that is put in, and falls by the row of an item that is taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from archline.algebra.polynomial import Poly
from archline.ir.amortised.elements import Integers
from archline.ir.amortised.linear import (
    Linear,
    add_forms,
    constant_form,
    constant_part,
    is_constant,
    register_form,
    scale_form,
    shift_form,
    size_form,
)
from archline.ir.amortised.states import ElementKey, PathState, make_element_key
from archline.language import syntax as s
from archline.records import record, replace

MAX_MARKS = 2
Element = Callable[[PathState, str, Linear], tuple[Linear, PathState]]
"""Returns the value of an element of an array, by its subscript, and the state with what is known of it."""


@record
class Mark:
    """The elements of an array that are equal to a number."""

    array: str
    number: int

    @property
    def count(self) -> str:
        """The register for the number of the marked elements."""
        return f"number of {self.array} == {self.number}"

    def name_rows(self, offsets: str) -> str:
        """Return the register for the sum of the rows of the marked elements."""
        return f"rows of {offsets} where {self.array} == {self.number}"


@record
class Items:
    """The elements of an array from the register `first`, or from 0, to the register `last`, which is not included."""

    array: str
    first: str | None
    last: str

    def name_rows(self, offsets: str) -> str:
        """Return the register for the sum of the rows of the items."""
        return f"rows of {offsets} from {self.first} to {self.last} in {self.array}"


@record(eq=False)
class Ghosts:
    """The registers of a block that count remaining elements and rows, and how statements change them.

    `totals` maps the arrays of offsets whose rows are counted to the sums of all their rows, `extents` the arrays with
    marks to their numbers of elements.
    """

    marks: tuple[Mark, ...]
    items: tuple[Items, ...]
    totals: Mapping[str, Poly]
    extents: Mapping[str, Poly]
    element: Element
    make_unknown: Callable[[], Linear]

    @property
    def registers(self) -> Iterator[str]:
        """The names of the registers."""
        for mark in self.marks:
            yield mark.count
            yield from map(mark.name_rows, self.totals)
        for items in self.items:
            yield from map(items.name_rows, self.totals)

    def add_start(self, state: PathState) -> PathState:
        """Add what holds at the start of a block, where nothing is known of the arrays."""
        for mark in self.marks:
            state = self._reset_mark(mark, state)
        return state

    def name_mark(self, mark: Mark, key: ElementKey, state: PathState) -> Linear:
        """Return the form that is 1 if an element has the number of a mark, and 0 if not."""
        return register_form(f"?{mark.count}, {state.writes.get(mark.array, 0)}, {sorted(map(str, key[1][0]))}")

    def compare_element(
        self, array: str, number: int, subscript: Linear, equal: bool, state: PathState
    ) -> tuple[Linear, ...]:
        """Return the constraints that a comparison of an element with a number adds."""
        mark = Mark(array, number)
        if mark not in self.marks:
            return ()
        marked = self.name_mark(mark, make_element_key(array, (subscript,)), state)
        return (shift_form(marked, -1),) if equal else (scale_form(marked, -1),)

    def write(self, array: str, subscript: Linear, value: Linear, state: PathState) -> PathState:
        """Return the state before a write to an element, with the registers as they are after it."""
        for mark in self.marks:
            if mark.array == array:
                state = self._write_mark(mark, subscript, value, state)
        for items in self.items:
            if items.array == array and state.values[items.last] != subscript:
                # The element may be one of the items.
                state = self._add_row(items, value, 1, state)
        return state

    def fill_array(self, array: str, state: PathState) -> PathState:
        """Return the state after all elements of an array are set."""
        for mark in self.marks:
            if mark.array == array:
                state = self._reset_mark(mark, state)
        for items in self.items:
            if items.array == array:
                state = self._forget_items(items, state)
        return state

    def move_register(self, name: str, before: Linear | None, state: PathState) -> PathState:
        """Return the state after a register has changed, which may be an end of items."""
        for items in self.items:
            if name in (items.first, items.last) and before is not None:
                state = self._move_end(items, name, before, state)
        return state

    def _write_mark(self, mark: Mark, subscript: Linear, value: Linear, state: PathState) -> PathState:
        key = make_element_key(mark.array, (subscript,))
        difference = shift_form(value, -mark.number)
        becomes_other = state.is_at_least(difference, 1) or state.is_at_least(scale_form(difference, -1), 1)
        if not becomes_other:
            return self._reset_mark(mark, state)
        stored = state.find_stored(key)
        if stored is not None:
            was = shift_form(stored, -mark.number)
            falls, stays = was == {}, is_constant(was) and bool(was)
        else:
            marked = self.name_mark(mark, key, state)
            falls, stays = shift_form(marked, -1) in state.constraints, scale_form(marked, -1) in state.constraints
        if stays:
            return state
        changes: list[tuple[str, Linear]] = [(mark.count, constant_form(1))]
        for offsets in self.totals:
            row, state = self._measure_row(offsets, subscript, state)
            changes.append((mark.name_rows(offsets), row))
        for name, change in changes:
            before = state.values[name]
            least = add_forms(before, change, -1)
            if falls:
                state = state.with_value(name, least).with_constraints((least,))
            else:
                after = self.make_unknown()
                limits = (after, add_forms(before, after, -1), add_forms(after, least, -1))
                state = state.with_value(name, after).with_constraints(limits)
        return state

    def _reset_mark(self, mark: Mark, state: PathState) -> PathState:
        """Return the state where any elements may have the number of a mark."""
        sums = [(mark.count, self.extents[mark.array])]
        sums += [(mark.name_rows(offsets), total) for offsets, total in self.totals.items()]
        for name, most in sums:
            after = self.make_unknown()
            limits = (after, add_forms(size_form(most), after, -1))
            state = state.with_value(name, after).with_constraints(limits)
        return state

    def _forget_items(self, items: Items, state: PathState) -> PathState:
        for offsets in self.totals:
            after = self.make_unknown()
            state = state.with_value(items.name_rows(offsets), after).with_constraints((after,))
        return state

    def _move_end(self, items: Items, name: str, before: Linear, state: PathState) -> PathState:
        last = state.values[items.last]
        first = {} if items.first is None else state.values[items.first]
        step, length = add_forms(state.values[name], before, -1), add_forms(last, first, -1)
        if is_constant(length) and constant_part(length) <= 1:
            state = replace(state, values={**state.values, **{items.name_rows(offsets): {} for offsets in self.totals}})
            return self._add_row(items, self.element(state, items.array, first)[0], 1, state) if length else state
        if not is_constant(step):
            return self._forget_items(items, state)
        match constant_part(step), name == items.last:
            case 0, _:
                return state
            case 1, True:
                # An item is put in, if it has just been written.
                item = state.stored.get(make_element_key(items.array, (before,)))
                return self._forget_items(items, state) if item is None else self._add_row(items, item, 1, state)
            case (1, False) | (-1, True):
                if not state.is_at_least(length, 0):
                    return state
                item, state = self.element(state, items.array, last if name == items.last else before)
                return self._add_row(items, item, -1, state)
            case _:
                return self._forget_items(items, state)

    def _add_row(self, items: Items, item: Linear, sign: int, state: PathState) -> PathState:
        for offsets in self.totals:
            row, state = self._measure_row(offsets, item, state)
            after = add_forms(state.values[items.name_rows(offsets)], row, sign)
            state = state.with_value(items.name_rows(offsets), after).with_constraints((after,))
        return state

    def _measure_row(self, offsets: str, subscript: Linear, state: PathState) -> tuple[Linear, PathState]:
        """Return the length of a row of an array of offsets."""
        begin, state = self.element(state, offsets, subscript)
        end, state = self.element(state, offsets, shift_form(subscript, 1))
        row = add_forms(end, begin, -1)
        return row, state.with_constraints((row,))


def find_marks(body: Sequence[s.Stmt], integers: Integers) -> tuple[Mark, ...]:
    """Find the arrays whose elements are compared with numbers and written, with the numbers."""
    marks: dict[Mark, None] = {}
    written = {node.target.array for node in s.find_nodes(tuple(body), s.Assign) if isinstance(node.target, s.Element)}
    for node in s.find_nodes(tuple(body), s.Binary):
        if (found := read_mark(node)) is not None:
            array, _, number = found
            if array in written and len(integers.arrays.get(array, ())) == 1:
                marks[Mark(array, number)] = None
    for element in _iterate_conditions(body):
        if element.array in written and len(integers.arrays.get(element.array, ())) == 1:
            marks[Mark(element.array, 0)] = None
    return tuple(marks)[:MAX_MARKS]


def _iterate_conditions(body: Sequence[s.Stmt]) -> Iterator[s.Element]:
    """Yield the elements of arrays of conditions that loops and branches test."""
    waiting = [branch.condition for node in s.find_nodes(tuple(body), s.If) for branch in node.branches]
    waiting += [node.condition for node in s.find_nodes(tuple(body), s.While)]
    while waiting:
        match waiting.pop():
            case s.Element() as element:
                yield element
            case s.Unary(op="not", operand=operand):
                waiting.append(operand)
            case s.Binary(op="and" | "or", left=left, right=right):
                waiting += [left, right]
            case _:
                # Comparisons have values that are no conditions.
                pass


def read_mark(condition: s.Binary) -> tuple[str, s.Expr, int] | None:
    """Return the array, the subscript and the number of a test whether an element is equal to a number, or not."""
    if condition.op not in ("==", "!="):
        return None
    for element, number in ((condition.left, condition.right), (condition.right, condition.left)):
        value = read_number(number)
        match element:
            case s.Element(array=array, subscripts=(subscript,)) if value is not None and not isinstance(
                subscript, s.Slice
            ):
                return array, subscript, value
            case _:
                # The other side may be the element.
                pass
    return None


def read_number(expr: s.Expr) -> int | None:
    """Return the value of a whole number as written; None for other expressions."""
    match expr:
        case s.Integer(value=value):
            return value
        case s.Unary(op="-", operand=s.Integer(value=value)):
            return -value
        case _:
            return None


def find_items(body: Sequence[s.Stmt], integers: Integers) -> tuple[Items, ...]:
    """Find the arrays that registers use as queues or stacks: written at one register, read at it or at another one."""
    copied = {
        local.name: local.value.id for local in s.find_nodes(tuple(body), s.Local) if isinstance(local.value, s.Name)
    }

    def find_register(expr: s.Expr | s.Slice) -> str | None:
        match expr:
            case s.Name(id=name):
                while name in copied and " " in name:
                    name = copied[name]
                return name
            case s.Binary(op="-", left=left, right=s.Integer(value=1)):
                return find_register(left)
            case _:
                return None

    lasts: dict[str, set[str]] = {}
    firsts: dict[str, set[str]] = {}
    targets = {node.target for node in s.find_nodes(tuple(body), s.Assign)}
    for element in s.find_nodes(tuple(body), s.Element):
        if len(integers.arrays.get(element.array, ())) == 1 and len(element.subscripts) == 1:
            name = find_register(element.subscripts[0])
            if name is not None:
                (lasts if element in targets else firsts).setdefault(element.array, set()).add(name)
    items: list[Items] = []
    for array, written in lasts.items():
        read = firsts.get(array, set())
        for last in sorted(written & integers.names):
            heads = sorted(name for name in read - {last} if name in integers.names)
            if last in read:
                items.append(Items(array, None, last))
            elif len(heads) == 1:
                items.append(Items(array, heads[0], last))
    return tuple(items)


def find_row_arrays(body: Sequence[s.Stmt]) -> tuple[str, ...]:
    """Find the arrays between whose neighbouring elements loops run."""
    arrays: dict[str, None] = {}
    for loop in s.find_nodes(tuple(body), s.Loop):
        match loop.lo, loop.hi:
            case s.Element(array=first), s.Element(array=second) if first == second:
                arrays[first] = None
            case _:
                # Other loops run over no row.
                pass
    return tuple(arrays)
