"""Views of arrays: slices and reshapes, traced back to the array itself."""

from __future__ import annotations

from dataclasses import dataclass

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.ir.data_ranges import extent, int_range
from archline.ir.environment import Place
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.ir.tree import Array, View
from archline.ir.unsupported import UntracedError
from archline.language import syntax as s
from archline.language.model import Module


@dataclass(eq=False)
class Views:
    """The views of a module's algorithms."""

    module: Module

    def view(self, expr: s.Expr, place: Place) -> View:
        """The view that an expression is."""
        match expr:
            case s.Name(id=name):
                return place.views[name]
            case s.Element(array=name):
                return self._sliced(expr, place.views[name], place.scope)
            case s.Reshape(base=base, shape=shape):
                return self._reshaped(self.view(base, place), shape, place.scope)
            case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
                raise AssertionError(f"not a view: {expr}")

    def _sliced(self, expr: s.Element, base: View, scope: Scope) -> View:
        starts: list[Poly | None] = list(base.starts)
        axes: list[tuple[int, Poly]] = []
        extents: list[Poly] = []
        exact = base.exact
        shape = iter(self.module.shapes[expr])
        for piece, (dimension, step), extent_ in zip(expr.subscripts, base.axes, base.extents, strict=True):
            begin = piece.lo if isinstance(piece, s.Slice) else piece
            first = ZERO if begin is None else static(begin, scope)
            start = starts[dimension]
            starts[dimension] = None if start is None or first is None else start + step * first
            if isinstance(piece, s.Slice):
                own = ONE if piece.step is None else static(piece.step, scope)
                written = next(shape)
                length = extent_
                if piece.lo is not None or piece.hi is not None:
                    length, exact = self.extent(written, scope), exact and is_exact(written, scope)
                if own is None:
                    starts[dimension], own = None, ONE
                elif piece.step is not None and length is extent_:
                    length = a.ceil_div(extent_, own)
                axes.append((dimension, step * own))
                extents.append(length)
        return View(base.array, tuple(starts), tuple(axes), tuple(extents), exact)

    def _reshaped(self, base: View, shape: tuple[s.Expr, ...], scope: Scope) -> View:
        ((dimension, step),) = base.axes
        extents = tuple(self.extent(each, scope) for each in shape)
        axes: list[tuple[int, Poly]] = []
        for each in reversed(extents):
            axes.append((dimension, step))
            step = step * each
        exact = base.exact and all(is_exact(each, scope) for each in shape)
        return View(base.array, base.starts, tuple(reversed(axes)), extents, exact)

    def extent(self, expr: s.Expr, scope: Scope) -> Poly:
        """An extent, or the most that it can be."""
        try:
            return extent(expr, scope)
        except NotStaticError as problem:
            known = int_range(expr, scope)
            if known is None:
                raise UntracedError(f"an extent: {problem.reason}", expr.span) from None
            return scope.facts.positive_part(known[1])


def is_exact(expr: s.Expr, scope: Scope) -> bool:
    """Whether an extent is known, not only the most that it can be."""
    try:
        extent(expr, scope)
    except NotStaticError:
        return False
    return True


def static(expr: s.Expr, scope: Scope) -> Poly | None:
    """The value of an expression; None where the data decides."""
    try:
        return static_value(expr, scope)
    except (NotStaticError, TooComplexError):
        return None


def shape_of(type: s.Type) -> tuple[tuple[s.Expr, ...] | None, str]:
    """The extents of an array and its layout; None and "" where the type is none of an array."""
    match type:
        case s.ArrayType(shape=shape, layout=layout):
            return shape, layout
        case s.IndexArrayType(shape=shape):
            return shape, "rowmajor"
        case s.OffsetsType(count=count):
            one = s.Integer(1, span=count.span)
            return (s.Binary("+", count, one, span=count.span),), "rowmajor"
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
            return None, ""


def whole_view(array: Array) -> View:
    """All of an array."""
    zeros = tuple(ZERO for _ in array.extents)
    return View(array, zeros, tuple((dimension, ONE) for dimension in range(len(zeros))), array.extents)
