"""Views in statements on whole arrays: their elements, the arrays that they show, and whether two views may overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from archline.expr.tree import Node, has_same_structure, make_structural_key
from archline.language import syntax as s
from archline.language.elaboration.environment import Environment, make_transposed
from archline.language.elaboration.rewriting import rewrite_fields, rewrite_tree
from archline.records import replace

Names = Mapping[str, s.Expr]
"""The values of the names that `let` gives to sizes and views."""


def is_view(expr: Node) -> bool:
    """Whether an array expression is a view, whose elements need no computation."""
    return isinstance(expr, s.Name | s.Element | s.Reshape) or is_rearranged(expr)


def is_rearranged(expr: Node) -> bool:
    """Whether an expression is `transpose(view)` or `diag(view)`, whose elements are those of the view."""
    return isinstance(expr, s.Call) and expr.function in ("transpose", "diag") and len(expr.arguments) == 1


def complete_slices(value: Any, environment: Environment) -> Any:
    """Complete the slices in a part of a program that have one bound, and write `transpose(A)` for `A.T`."""

    def change_node(node: Node) -> Node | None:
        if isinstance(node, s.Name) and node.id.endswith(".T") and node.id not in environment.names:
            return make_transposed(node) if environment.infer(node) is not None else None
        if not isinstance(node, s.Element):
            return None
        type_ = environment.names.get(node.array)
        if type_ is None or type_.shape is None:
            return None
        inner: s.Element = rewrite_fields(node, change_node)
        if len(inner.subscripts) != len(type_.shape):
            return inner
        subscripts = tuple(
            _complete_slice(part, extent) if isinstance(part, s.Slice) else part
            for part, extent in zip(inner.subscripts, type_.shape, strict=True)
        )
        return replace(inner, subscripts=subscripts)

    return rewrite_tree(value, change_node)


def mentions_arrays(value: Any, environment: Environment) -> bool:
    """Whether a part of a program may use an array or a view as a whole."""
    for node in s.iterate_nodes(value):
        if isinstance(node, s.Slice | s.Reshape) or (isinstance(node, s.Binary) and node.op == "@"):
            return True
        if isinstance(node, s.Name | s.Call):
            type_ = environment.infer(node)
            if type_ is not None and type_.is_array:
                return True
    return False


def has_wrong_rank(value: Any, environment: Environment) -> bool:
    """Whether an array in a part of a program has more or fewer subscripts than dimensions."""
    for node in s.find_nodes(value, s.Element):
        type_ = environment.names.get(node.array)
        if type_ is not None and type_.shape is not None and len(type_.shape) != len(node.subscripts):
            return True
    return False


def _complete_slice(part: s.Slice, extent: s.Expr) -> s.Slice:
    if (part.lo is None) == (part.hi is None):
        return part
    lo = s.Integer(0, span=part.span) if part.lo is None else part.lo
    return s.Slice(lo, extent if part.hi is None else part.hi, part.step, part.by_length, span=part.span)


def select_element(view: Any, indices: tuple[s.Expr, ...]) -> s.Expr:
    """Return the element of a view at some indices."""
    match view:
        case s.Name(id=name):
            return s.Element(name, indices, span=view.span)
        case s.Element(array=array, subscripts=subscripts):
            rest = iter(indices)
            places = tuple(locate_entry(part, next(rest)) if isinstance(part, s.Slice) else part for part in subscripts)
            return s.Element(array, places, span=view.span)
        case s.Reshape(base=base, shape=shape):
            place = indices[0]
            for index, extent in zip(indices[1:], shape[1:], strict=True):
                row = s.Binary("*", place, extent, span=view.span)
                place = s.Binary("+", row, index, span=view.span)
            return select_element(base, (place,))
        case s.Call(function="diag", arguments=(base,)):
            return select_element(base, indices * 2)
        case s.Call(arguments=(base,)):
            return select_element(base, indices[::-1])
        case _:
            raise AssertionError(f"not a view: {view}")


def locate_entry(part: s.Slice, index: s.Expr) -> s.Expr:
    """Return the subscript in the array of the entry number `index` of a slice."""
    place = index if part.step is None else s.Binary("*", part.step, index, span=part.span)
    if part.lo is None or (isinstance(part.lo, s.Integer) and part.lo.value == 0):
        return place
    return s.Binary("+", part.lo, place, span=part.span)


# Overlap
def find_base(view: Any, names: Names) -> str | None:
    """Return the array that a view shows a part of."""
    match view:
        case s.Name(id=name):
            return find_base(names[name], names) if name in names else name
        case s.Element(array=name):
            return find_base(names[name], names) if name in names else name
        case s.Reshape(base=base) | s.Call(arguments=(base,)):
            return find_base(base, names)
        case _:
            return None


def may_conflict(target: Any, view: Any, names: Names) -> bool:
    """Whether setting a target from a view, by elements, may overwrite an element of the view before it is read.

    Views with equal slices in the same places have equal elements at equal indices only, whatever other subscripts are.
    """
    if find_base(target, names) != find_base(view, names):
        return False
    pairs = _pair_subscripts(target, view, names)
    if pairs is None:
        return True
    if any(_are_disjoint(left, right, names) for left, right in pairs):
        return False
    return not all(_are_aligned(left, right, names) for left, right in pairs)


def find_falling_dimensions(target: Any, view: Any, names: Names) -> tuple[bool, ...] | None:
    """Find the dimensions in which a nest of loops must count down so that it reads elements before it sets them.

    None if the views are of several arrays, or their distance is unknown.
    """
    pairs = _pair_subscripts(target, view, names)
    if pairs is None:
        return None
    falling = list[bool]()
    for left, right in pairs:
        if not isinstance(left, s.Slice) or not isinstance(right, s.Slice):
            if isinstance(left, s.Slice) or isinstance(right, s.Slice) or find_difference(left, right, names) != 0:
                return None
            continue
        zero = s.Integer(0, span=left.span)
        shift = find_difference(right.lo or zero, left.lo or zero, names)
        if shift is None or not has_same_structure(left.step, right.step):
            return None
        falling.append(shift < 0)
    return tuple(falling)


def _pair_subscripts(target: Any, view: Any, names: Names) -> list[tuple[s.Expr | s.Slice, s.Expr | s.Slice]] | None:
    """Return the subscripts of two views for each dimension of the array; None if they are not of one array."""
    first, second = _resolve(target, names), _resolve(view, names)
    if first is None or second is None or first.array != second.array:
        return None
    rank = max(len(first.subscripts), len(second.subscripts))
    return list(zip(_pad_subscripts(first, rank), _pad_subscripts(second, rank), strict=True))


def _resolve(view: Any, names: Names) -> s.Element | None:
    """Return a view as an array with subscripts, where names that `let` gives to views are followed."""
    match view:
        case s.Name(id=name) if name in names:
            return _resolve(names[name], names)
        case s.Name(id=name):
            return s.Element(name, (), span=view.span)
        case s.Element():
            return view
        case _:
            return None


def _pad_subscripts(view: s.Element, rank: int) -> tuple[s.Expr | s.Slice, ...]:
    whole = s.Slice(None, None, None, False, span=view.span)
    return (*view.subscripts, *[whole] * (rank - len(view.subscripts)))


def _are_aligned(left: s.Expr | s.Slice, right: s.Expr | s.Slice, names: Names) -> bool:
    if not isinstance(left, s.Slice) or not isinstance(right, s.Slice):
        return not isinstance(left, s.Slice) and not isinstance(right, s.Slice)
    zero = s.Integer(0, span=left.span)
    return find_difference(left.lo or zero, right.lo or zero, names) == 0 and has_same_structure(left.step, right.step)


def _are_disjoint(left: s.Expr | s.Slice, right: s.Expr | s.Slice, names: Names) -> bool:
    """Whether two subscripts provably cover no common index."""
    (first, first_end), (second, second_end) = _find_range(left), _find_range(right)
    gaps = (
        None if end is None else find_difference(begin, end, names)
        for begin, end in ((second, first_end), (first, second_end))
    )
    return any(gap is not None and gap >= 0 for gap in gaps)


def _find_range(part: s.Expr | s.Slice) -> tuple[s.Expr, s.Expr | None]:
    """Return the first index that a subscript covers and the one after its last; None for the extent of the array."""
    if not isinstance(part, s.Slice):
        return part, s.Binary("+", part, s.Integer(1, span=part.span), span=part.span)
    lo = s.Integer(0, span=part.span) if part.lo is None else part.lo
    if part.by_length and part.hi is not None:
        return lo, s.Binary("+", lo, part.hi, span=part.span)
    return lo, part.hi


def find_difference(left: s.Expr, right: s.Expr, names: Names) -> int | None:
    """Return the difference of two sizes if it is a number after equal terms of sums cancel, else None."""
    terms = Counter[object]()
    _collect_terms(left, 1, terms, names)
    _collect_terms(right, -1, terms, names)
    number = terms.pop(1, 0)
    return None if any(terms.values()) else number


def _collect_terms(expr: s.Expr, factor: int, terms: Counter[object], names: Names) -> None:
    match expr:
        case s.Integer(value=value):
            terms[1] += factor * value
        case s.Name(id=name) if name in names:
            _collect_terms(names[name], factor, terms, names)
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            _collect_terms(left, factor, terms, names)
            _collect_terms(right, factor if op == "+" else -factor, terms, names)
        case s.Binary(op="*", left=s.Integer(value=value), right=part):
            _collect_terms(part, factor * value, terms, names)
        case s.Binary(op="*", left=part, right=s.Integer(value=value)):
            _collect_terms(part, factor * value, terms, names)
        case s.Unary(op="-", operand=operand):
            _collect_terms(operand, -factor, terms, names)
        case _:
            terms[make_structural_key(expr)] += factor
