"""The element accesses of a program, an upper bound on io whatever is accessed: counted as costs that it declares.

Before each statement a copy of the program says how many elements the statement itself reads and writes. What that
adds up to, through loops, branches and recursion, is derived as declared flops are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache

from archline.algebra.polynomial import ZERO
from archline.analysis.cost import Cost
from archline.analysis.metrics.recursion import Recursions
from archline.analysis.metrics.statements import Statements
from archline.analysis.metrics.tally import TOTAL, UNKNOWN, Tally
from archline.analysis.regimes import with_regimes
from archline.ir.amounts import NOTHING, Amount, Unknown
from archline.ir.scope import declared
from archline.ir.unsupported import require_accesses
from archline.language import syntax as s
from archline.language.call_graph import component, reachable
from archline.language.model import Module, ViewType
from archline.language.source import Span
from archline.recurrences.exact.constraints import Bound
from archline.recurrences.model import Function

METRIC = "accesses"
KIND = "declared"
"""The kind of flops that `costs` statements add."""
MAX_KNOWN = 64
"""Answers that are remembered: bounds on io ask again where they find no better one."""
METRIC_OF_KIND = f"flops.{KIND}"


@lru_cache(maxsize=MAX_KNOWN)
def accesses_of(module: Module, algorithm: s.Algorithm, updates: int = 1) -> Cost:
    """At most so many elements are read and written by one call, as a cost that is `bounded` from above alone.

    An upper bound: of `and` and `or` both sides count, of `elif` all tests. An update such as `+=` counts `updates`
    accesses of its target: one finds the element in the cache that the other brought. Raises UntracedError where io is
    declared, or words move otherwise; TooComplexError.
    """
    counted, copies = instrumented(module, algorithm, Counting(module, updates))
    own, statements = copies[algorithm], Accesses(counted, coarse=False)
    flops = statements.algorithm(own)[0].flops
    amount = flops[UNKNOWN] if UNKNOWN in flops else flops.get(KIND, NOTHING)
    if isinstance(amount, Unknown):
        return Cost(METRIC, "unknown", None, None, amount.reason, amount.span or algorithm.span)
    cost = Cost(METRIC, "bounded", ZERO, amount.upper)
    if amount is not NOTHING and component(counted, own):
        closed = statements.recursions.closed(own, METRIC_OF_KIND)
        regimes = tuple(replace(each, lower=ZERO) for each in closed.regimes)
        ends = closed.ends
        # From below they count both sides of `and` too.
        return replace(cost, regimes=regimes, ends=ends and (lambda point: (Fraction(0), ends(point)[1])))
    return with_regimes(cost, declared(counted, own).facts, counted.signatures[own].size_names)


class Accesses(Statements):
    """Of recursive algorithms, accesses alone are solved."""

    @cached_property
    def recursions(self) -> Recursions:
        return _Recursions(self)


class _Recursions(Recursions):
    def tally(self, algorithm: s.Algorithm) -> Tally:
        return Tally({KIND: self.accesses(algorithm)})

    def accesses(self, algorithm: s.Algorithm) -> Amount:
        """The accesses of a recursive algorithm."""
        extracted = self.extracted(algorithm)
        if (endless := self._unproved(algorithm)) is not None:
            return endless
        if KIND in extracted.kinds:
            return self._amount(algorithm, METRIC_OF_KIND)
        system = extracted.systems[f"flops.{TOTAL}"]
        return system if isinstance(system, Unknown) else NOTHING

    def plain(self, algorithm: s.Algorithm) -> Tally:
        known = self.accesses(algorithm)
        return Tally({KIND: known if known is NOTHING else self._plain(algorithm, METRIC_OF_KIND, known)})

    def _side(self, function: Function, metric: str, upper: bool) -> Bound | None:
        """From below a closed form alone is of use, and where the data decides sizes there is none."""
        return super()._side(function, metric, upper) if upper or self._given(metric, function).values else None


Instrumented = tuple[Module, dict[s.Algorithm, s.Algorithm]]
"""A module with copies of algorithms, and those copies by their originals."""


def instrumented(module: Module, algorithm: s.Algorithm, counting: Counting) -> Instrumented:
    """The module with copies of an algorithm and of all that it calls.

    Raises UntracedError where io is declared, or words move otherwise.
    """
    require_accesses(module, algorithm)
    reached = tuple(dict.fromkeys((algorithm, *reachable(module, algorithm))))
    copies = {each: counting.copy(each) for each in reached}
    targets: dict[s.Call, s.Algorithm | s.Extern] = {}
    for call, target in module.targets.items():
        targets[call] = replace(target, costs=()) if isinstance(target, s.Extern) else copies.get(target, target)
    signatures = {**module.signatures, **{copy: module.signatures[each] for each, copy in copies.items()}}
    return replace(module, targets=targets, signatures=signatures), copies


class Counting:
    """Writes costs into blocks."""

    def __init__(self, module: Module, updates: int = 1) -> None:
        self._module = module
        self._updates = updates

    def copy(self, algorithm: s.Algorithm) -> s.Algorithm:
        """The algorithm with what its body costs."""
        return replace(algorithm, body=self.block(algorithm.body))

    def block(self, body: tuple[s.Stmt, ...]) -> tuple[s.Stmt, ...]:
        """A block with the accesses of each statement before it."""
        return tuple(new for statement in body for new in self._counted(statement))

    def _counted(self, statement: s.Stmt) -> Iterator[s.Stmt]:
        match statement:
            case s.Loop(lo=lo, hi=hi, step=step, body=body):
                yield from self._costs((lo, hi, step), statement.span)
                yield replace(statement, body=self.block(body))
            case s.While(condition=condition, limit=limit, body=body):
                tests = tuple(self._costs(condition, statement.span))
                yield from (*self._costs(limit, statement.span), *tests)
                yield replace(statement, body=(*self.block(body), *tests))
            case s.If(branches=branches):
                yield from self._costs(tuple(each.condition for each in branches), statement.span)
                yield replace(statement, branches=tuple(replace(each, body=self.block(each.body)) for each in branches))
            case s.Costs():
                pass
            case s.Assume():
                yield statement
            case s.Local(type=s.ArrayType(shape=shape), value=s.Node() as value):
                yield from self._filled(statement, shape, value)
            case s.Assign(target=target, value=value) if self._is_view(target):
                yield from self._filled(statement, self._module.shapes[target], value)
            case s.Assign(target=s.Element(), op=op) if op != "=" and self._updates > 1:
                yield _cost(self._updates - 1, statement.span)
                yield from self._costs(statement, statement.span)
                yield statement
            case _:
                # No statement inside, and nothing written more than once: what the whole text of it reads and writes.
                yield from self._costs(statement, statement.span)
                yield statement

    def _filled(self, statement: s.Stmt, shape: tuple[s.Expr, ...], value: s.Expr) -> Iterator[s.Stmt]:
        """A fill or copy of a view: each element is written, and that of a view on the right is read."""
        span = statement.span
        yield from self._costs(statement, span)
        inner: s.Stmt = _cost(2 if self._is_view(value) else 1, span)
        for depth, extent in reversed(tuple(enumerate(shape))):
            zero = s.Integer(0, span=span)
            inner = s.Loop(f"element {depth}", zero, extent, None, False, False, (inner,), span=span)
        yield inner
        yield statement

    def _costs(self, part: object, span: Span) -> Iterator[s.Stmt]:
        """The elements that are named in an expression or a statement, each of which is accessed once."""
        named = (each for each in s.nodes(part) if isinstance(each, s.Element) and not self._is_view(each))
        count = sum(1 for _ in named)
        if count:
            yield _cost(count, span)

    def _is_view(self, expr: s.Expr) -> bool:
        return isinstance(self._module.types.get(expr), ViewType)


def _cost(count: int, span: Span) -> s.Costs:
    return s.Costs(((s.Integer(count, span=span), "flops"),), span=span)
