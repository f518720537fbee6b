"""Definitions as the maximum of branches, each recursive calls with weights plus a sum of terms."""

from __future__ import annotations

from dataclasses import dataclass

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.language import syntax as s
from archline.language.printer import format_expression
from archline.numbers import fmpq
from archline.recurrences.asymptotic.exponents import ONE
from archline.recurrences.asymptotic.problem import Definition
from archline.recurrences.asymptotic.read_terms import TermReader, negated, number
from archline.recurrences.asymptotic.terms import Term, multiplied, summed

MAX_BRANCHES = 32
MAX_CALLS = 64


@dataclass(frozen=True)
class Argument:
    """The size of a call: n^root where root is not 1, else ratio*n + offset."""

    ratio: fmpq
    offset: fmpq
    root: fmpq

    @property
    def is_step(self) -> bool:
        """Whether it is n - c."""
        return self.root == 1 and self.ratio == 1 and self.offset != 0

    @property
    def is_same(self) -> bool:
        """Whether it is n itself."""
        return self.root == 1 and self.ratio == 1 and self.offset == 0

    @property
    def is_root(self) -> bool:
        """Whether it is a root of n."""
        return self.root != 1

    @property
    def is_split(self) -> bool:
        """Whether it is a part of n, perhaps with a constant beside it."""
        return self.root == 1 and self.ratio != 1


@dataclass(frozen=True)
class WeightedCall:
    """`weight` times the function at the argument."""

    function: str
    weight: Term
    argument: Argument


@dataclass(frozen=True)
class CallSum:
    """A sum of calls and terms."""

    calls: tuple[WeightedCall, ...]
    terms: tuple[Term, ...]


Branches = tuple[CallSum, ...]


def branches_of(definition: Definition, functions: frozenset[str]) -> Branches:
    """What a definition is the maximum of; `functions` are the system's. Raises OutOfReachError."""
    ((case,), (size,)) = (definition.cases, definition.parameters)
    return _FormReader(size, functions).read(case.value)


class _FormReader:
    """Reads one definition."""

    def __init__(self, size: str, functions: frozenset[str]) -> None:
        self._size = size
        self._functions = functions
        self._terms = TermReader(size)

    def read(self, expr: s.Expr) -> Branches:
        if not self._recursive(expr):
            return self._plain(expr)
        match expr:
            case s.Unary(op="-"):
                raise OutOfReachError("a recursive call is subtracted")
            case s.Binary(op="+", left=left, right=right):
                return _added(self.read(left), self.read(right))
            case s.Binary(op="-", left=left, right=right):
                if self._recursive(right):
                    raise OutOfReachError("a recursive call is subtracted")
                return _added(self.read(left), (CallSum((), negated(self._terms.read(right))),))
            case s.Binary(op="*", left=left, right=right):
                if self._recursive(left) and self._recursive(right):
                    raise OutOfReachError("a product of recursive calls: the recurrence is not linear")
                weight, calls = (right, left) if self._recursive(left) else (left, right)
                return _scaled(self.read(calls), self._terms.read(weight))
            case s.Binary(op="/", left=left, right=right) if not self._recursive(right):
                return _scaled(self.read(left), self._terms.power(self._terms.read(right), fmpq(-1)))
            case s.Call(function="max", arguments=arguments):
                return _limited(tuple(branch for each in arguments for branch in self.read(each)))
            case s.Call(function=function, arguments=arguments) if function in self._functions:
                return (CallSum((WeightedCall(function, Term(fmpq(1)), self._argument(arguments[0])),), ()),)
            case _:
                raise OutOfReachError(f"`{format_expression(expr)}`: the recurrence is not linear")

    def _plain(self, expr: s.Expr) -> Branches:
        """A part without calls; a maximum of such parts is one of branches."""
        match expr:
            case s.Call(function="max", arguments=arguments):
                return _limited(tuple(branch for each in arguments for branch in self._plain(each)))
            case _:
                return (CallSum((), self._terms.read(expr)),)

    def _recursive(self, expr: s.Expr) -> bool:
        match expr:
            case s.Call(function=function, arguments=arguments):
                return function in self._functions or any(map(self._recursive, arguments))
            case s.Binary(left=left, right=right):
                return self._recursive(left) or self._recursive(right)
            case s.Unary(operand=operand):
                return self._recursive(operand)
            case s.Integer() | s.Real() | s.Name() | s.Element() | s.Reshape():
                return False

    def _argument(self, expr: s.Expr) -> Argument:
        terms = self._sizes(expr)
        if any(not term.exact or term.symbols or not term.log.is_zero or term.loglog for term in terms):
            raise self._unknown(expr)
        linear = [term for term in terms if term.power == ONE]
        constant = [term for term in terms if term.power.is_zero]
        if linear and len(linear) + len(constant) == len(terms) and linear[0].coefficient > 0:
            offset = constant[0].coefficient if constant else fmpq(0)
            return Argument(linear[0].coefficient, offset, fmpq(1))
        if len(terms) == 1 and terms[0].coefficient == 1 and terms[0].power.is_rational and terms[0].power.rational > 0:
            return Argument(fmpq(1), fmpq(0), terms[0].power.rational)
        raise self._unknown(expr)

    def _sizes(self, expr: s.Expr) -> tuple[Term, ...]:
        rounded = any(
            (isinstance(node, s.Call) and node.function in ("floor", "ceil"))
            or (isinstance(node, s.Binary) and node.op in ("//", "%"))
            for node in s.nodes(expr)
        )
        if rounded:
            raise OutOfReachError(f"sizes are real numbers here: {format_expression(expr)} is written without rounding")
        return self._terms.read(expr)

    def _unknown(self, expr: s.Expr) -> OutOfReachError:
        kinds = f"neither a part of {self._size}, a root, nor {self._size} less a constant"
        return OutOfReachError(f"the size {format_expression(expr)} is {kinds}")


def _limited(found: Branches) -> Branches:
    if len(found) > MAX_BRANCHES:
        raise OutOfReachError("the maxima in it have too many alternatives")
    return found


def _added(left: Branches, right: Branches) -> Branches:
    return _limited(
        tuple(CallSum(gathered_calls(a.calls + b.calls), summed(a.terms + b.terms)) for a in left for b in right)
    )


def _scaled(found: Branches, weight: tuple[Term, ...]) -> Branches:
    if len(found) > 1 and any(term.coefficient < 0 for term in weight):
        raise OutOfReachError("a maximum with a minus sign")
    return tuple(
        CallSum(
            gathered_calls(
                tuple(
                    WeightedCall(each.function, each.weight.times(term), each.argument)
                    for each in branch.calls
                    for term in weight
                )
            ),
            multiplied(branch.terms, weight),
        )
        for branch in found
    )


def gathered_calls(calls: tuple[WeightedCall, ...]) -> tuple[WeightedCall, ...]:
    """The calls, those of one function at one size added where their weights are of a kind."""
    if len(calls) > MAX_CALLS:
        raise OutOfReachError("it has too many recursive calls")
    groups: dict[tuple[str, Argument], list[Term]] = {}
    for each in calls:
        groups.setdefault((each.function, each.argument), []).append(each.weight)
    return tuple(
        WeightedCall(function, weight, argument)
        for (function, argument), weights in groups.items()
        for weight in summed(weights)
    )


def base_number(expr: s.Expr) -> fmpq:
    """A base's argument. Raises OutOfReachError."""
    value = number(expr)
    if value is None:
        raise OutOfReachError("a base value at a size that is no rational number")
    return value
