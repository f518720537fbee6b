"""Track the position of a processor in a program: the values of names, and its coordinates on the grid's axes.

In the mode `average`, costs are lower bounds on the mean over all processors: some processor costs at least the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from math import prod

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.relax import bound_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.communication.floors import iterate_upper_bounds
from archline.analysis.cost import Cost
from archline.expr.text import format_fact
from archline.expr.tree import Span
from archline.ir.amounts import ZERO_AMOUNT, Amount, KnownAmount, UnknownAmount, exact_amount
from archline.ir.conditions import (
    assume_facts,
    bound_indicator,
    condition_indicator,
    is_summable,
    negate_condition,
    scope_after,
    with_fact,
)
from archline.ir.declarations import declared_scope
from archline.ir.ranges import IterationRange
from archline.ir.scope import NotStaticError, Scope, known_value, static_value
from archline.language import syntax as s
from archline.language.model import Kind, Module, ViewType
from archline.records import field, record, replace

Guard = tuple[s.Fact, Scope]
"""A condition with the scope of its names."""
MAX_IMPOSSIBILITY_PRODUCTS = 4_000
"""The maximum effort for a proof that a condition holds on no processor."""


@record(eq=False)
class ReachingProcessors:
    """The processors that reach a statement, which are all processors that satisfy the conditions `needs`.

    On these processors all conditions `given` hold; they must not be used as facts in a sum over all processors.
    """

    needs: tuple[Guard, ...] = ()
    given: tuple[Guard, ...] = ()

    def restrict_to(self, condition: s.Fact, scope: Scope) -> ReachingProcessors:
        """Return the processors among these that satisfy a condition."""
        return ReachingProcessors((*self.needs, (condition, scope)), (*self.given, (condition, scope)))

    def with_known_condition(self, fact: s.Fact, scope: Scope) -> ReachingProcessors:
        """Add a condition that all these processors are known to satisfy."""
        return replace(self, given=(*self.given, (fact, scope)))

    def extend_facts(self, facts: Facts) -> Facts:
        """Extend facts by the conditions that hold on these processors."""
        for fact, scope in self.given:
            facts = with_fact(facts, fact, scope)
        return facts

    def find_single_value(self, name: str) -> Poly | None:
        """Return the value that an equation such as `when r == q` gives a symbol on all these processors, or None."""
        for condition, scope in (part for guard in self.given for part in _iterate_conjuncts(*guard)):
            match condition:
                case s.Binary(op="==", left=left, right=right):
                    ends = known_value(left, scope), known_value(right, scope)
                    for symbol, value in (ends, ends[::-1]):
                        if symbol == Poly.symbol(name) and value is not None and name not in value.names:
                            return value
                case _:
                    pass
        return None

    @property
    def indicator(self) -> Poly:
        """The indicator that a processor reaches the statement; 0 if a condition has no exact indicator."""
        parts = {
            _condition_key(*part): part
            for condition, scope in self.needs
            for part in _iterate_conjuncts(condition, scope)
        }
        # a and (a or b) -> a
        weights = [_condition_indicator(*part) for part in parts.values() if not _is_implied_or(*part, parts.keys())]
        return ZERO if None in weights else prod((weight for weight in weights if weight is not None), start=ONE)


def _condition_indicator(condition: s.Fact, scope: Scope) -> Poly | None:
    if isinstance(condition, s.IsPower | s.IsSquare | s.Divides):
        return None
    form = condition_indicator(condition, scope)
    return None if form is None else scope.facts.simplify(form)


def _iterate_conjuncts(condition: s.Fact, scope: Scope) -> Iterator[Guard]:
    match condition:
        case s.Binary(op="and", left=left, right=right):
            yield from _iterate_conjuncts(left, scope)
            yield from _iterate_conjuncts(right, scope)
        case s.Unary(op="not", operand=s.Binary() | s.Unary() as inner) if negate_condition(inner) != condition:
            yield from _iterate_conjuncts(negate_condition(inner), scope)
        case _:
            yield condition, scope


def _is_implied_or(condition: s.Fact, scope: Scope, known: KeysView[object]) -> bool:
    """Test whether a condition is an `or` with a side that is implied by `known`, a set of condition keys."""
    match condition:
        case s.Binary(op="or", left=left, right=right):
            return any(
                _is_implied_or(side, scope, known)
                or {_condition_key(*part) for part in _iterate_conjuncts(side, scope)} <= known
                for side in (left, right)
            )
        case _:
            return False


def _condition_key(condition: s.Fact, scope: Scope) -> object:
    return format_fact(condition), tuple((name, scope.values.get(name)) for name in sorted(s.find_names(condition)))


def bound_sum_below(value: Poly, name: str, extent: Poly, facts: Facts) -> Poly | None:
    """Bound the sum of a value over a coordinate, from 0 to `extent` - 1, from below; None if no bound is found."""
    try:
        return sum_over(value, name, ZERO, extent, facts)
    except UnresolvedError:
        bound = bound_sum(value, name, ZERO, extent, facts, False)
        return None if bound is None or name in bound.names else bound


@record(slots=True)
class GridAxis:
    """An axis: this processor's coordinate, the number of processors, and whether they lie `within` a node.

    `within` is None for several axes that are joined to one, if only some of the axes lie within a node.
    """

    coordinate: Poly
    extent: Poly
    within: bool | None


@record(eq=False)
class Position(Scope):
    """The position of a processor in an algorithm, with the values of names there.

    `ranged` are the coordinates that stand for any value, with their extents. If there are none, costs are those of
    one given processor; else they are maxima over processors, or, with `average`, lower bounds on the mean. `groups`
    are the axes that `split` created, which calls without `along` do not use. `origins` maps coordinates in `ranged`
    to those from which they are derived. With `counts_guards`, guarded code is counted where its guard holds; without,
    it is bounded as always or never executed.
    """

    algorithm: s.Algorithm | None = None
    axes: Mapping[str, GridAxis] = field(default_factory=dict)
    ranged: tuple[tuple[str, Poly], ...] = ()
    groups: frozenset[str] = frozenset()
    origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    average: ReachingProcessors | None = None
    counts_guards: bool = True

    @classmethod
    def of(
        cls,
        scope: Scope,
        algorithm: s.Algorithm,
        axes: Mapping[str, GridAxis] | None = None,
        ranged: tuple[tuple[str, Poly], ...] = (),
    ) -> Position:
        """Build the position of a processor at the start of an algorithm, in a scope."""
        return cls(**vars(scope), algorithm=algorithm, axes=axes or {}, ranged=ranged)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes of the algorithm that is followed."""
        return () if self.algorithm is None else self.module.signatures[self.algorithm].size_names

    @property
    def cost_key(self) -> object:
        """A key of all inputs that the costs of an algorithm that starts here depend on."""
        inputs = frozenset(self.values.items()), tuple(self.axes.items()), self.ranged, self.facts, self.element
        return inputs, self.groups, self.average, self.counts_guards

    def bound_indicator(self, condition: s.Expr) -> KnownAmount:
        """Bound the indicator of a condition; from 0 to 1 if it is not counted."""
        return bound_indicator(condition, self, lambda taken: self.counts_guards and is_summable(taken, self))

    def assuming(self, fact: s.Fact) -> Position:
        """Return the position on processors that satisfy a condition."""
        if self.average is not None and not self.has_common_indicator(fact):
            return replace(self, average=self.average.restrict_to(fact, self))
        return assume_facts(self, fact)

    def has_common_indicator(self, fact: s.Fact) -> bool:
        """Test whether a condition has an exact indicator that is the same on all processors."""
        if isinstance(fact, s.IsPower | s.IsSquare | s.Divides):
            return False
        outcome = bound_indicator(fact, self, lambda taken: is_summable(taken, self))
        return outcome.exact and not self.depends_on_coordinates(outcome.lower)

    def assuming_callee_fact(self, fact: s.Fact) -> Position:
        """Return the position in a callee whose `where` states a fact, which all processors that reach it satisfy."""
        if self.average is not None and self.average.given:
            return replace(self, average=self.average.with_known_condition(fact, self))
        return assume_facts(self, fact)

    @property
    def with_conditions_as_facts(self) -> Position:
        """The position with the conditions of an average as facts, which are not valid in sums over all processors."""
        facts = self.facts
        return self if self.average is None else self.with_facts(self.average.extend_facts(facts))

    def position_after(self, statement: s.Stmt) -> Position:
        """Return the position after a statement.

        After `let v = (r - root) % P`, v has each value on one processor, as r has, and becomes a coordinate.
        """
        after = scope_after(statement, self)
        if isinstance(statement, s.Let) and (rotation := self._recognise_rotation(statement.value)) is not None:
            before, extent = rotation
            name = after.facts.make_unused_name(statement.name)
            facts = after.facts.with_symbol(name, (ZERO,), (extent - 1,))
            origins = {**self.origins, name: self._origin_of(before)}
            named = after.with_facts(facts).with_value(statement.name, Poly.symbol(name))
            return replace(named, ranged=(*self.ranged, (name, extent)), origins=origins)
        return after

    def _origin_of(self, name: str) -> tuple[str, ...]:
        return self.origins.get(name, (name,))

    def _recognise_rotation(self, value: s.Expr) -> tuple[str, Poly] | None:
        """Recognise a coordinate that all processors rotate by one distance; return its name and extent, or None."""
        match value:
            case s.Binary(op="%", left=left, right=right):
                moved, around = known_value(left, self), known_value(right, self)
                for name, extent in self.ranged:
                    if (
                        extent == around
                        and moved is not None
                        and not self.depends_on_coordinates(moved - Poly.symbol(name))
                    ):
                        return name, extent
            case _:
                pass
        return None

    def depends_on_coordinates(self, value: Poly) -> bool:
        """Test whether a value has coordinates of the processor in it, rather than sizes alone."""
        return any(name in value.names for name, _ in self.ranged)

    def bound_amount_above(self, amount: Amount, span: Span) -> Amount:
        """Bound an amount from above over all processors; an amount without coordinates is returned unchanged."""
        if isinstance(amount, UnknownAmount) or not self.depends_on_coordinates(amount.upper):
            return amount
        bound: Amount = amount
        value = amount.upper
        for name, extent in self.ranged:
            if self._coordinate_range(name, extent) == (ZERO, extent - 1):
                value = self.facts.simplify(_shift_coordinate(value, name, extent))
        for upper in iterate_upper_bounds(value, self.facts, self.fixed):
            bound = self._max_over_processors(upper, span)
            if isinstance(bound, KnownAmount):
                return bound
        return bound

    def _max_over_processors(self, upper: Poly, span: Span) -> Amount:
        bound: Amount = KnownAmount(ZERO, upper)
        for name, extent in reversed(self.ranged):
            if isinstance(bound, KnownAmount) and name in bound.upper.names:
                first, last = self._coordinate_range(name, extent)
                over = IterationRange(name, first, last + 1, Poly.symbol(name), self.facts, span)
                bound = over.maximum(KnownAmount(ZERO, bound.upper))
        return KnownAmount(ZERO, bound.upper) if isinstance(bound, KnownAmount) else bound

    def _coordinate_range(self, name: str, extent: Poly) -> tuple[Poly, Poly]:
        """Return the first and the last value of a coordinate, by the facts or else 0 and `extent` - 1."""
        bounds = self.facts.bounds[name]
        lowers = [end for end in bounds.lower if not self.depends_on_coordinates(end)]
        uppers = [end for end in bounds.upper if not self.depends_on_coordinates(end)]
        return (lowers or [ZERO])[-1], (uppers or [extent - 1])[-1]

    def bound_amount_over_processors(self, amount: Amount, span: Span, what: str = "it") -> Amount:
        """Bound an amount over all processors, or bound its mean; unknown if no bound is free of the coordinates.

        `what` names the amount in the reason.
        """
        if self.average is not None:
            return self._bound_mean_below(amount, self.average.indicator)
        bound = self.bound_amount_above(amount, span)
        if isinstance(bound, KnownAmount) and self.depends_on_coordinates(bound.upper):
            return UnknownAmount(f"no bound on {what} holds for all processors", span)
        return bound

    def bound_indicator_anywhere_above(self, taken: Poly, span: Span) -> Poly:
        """Bound an indicator from above over all processors: by 1, or by less if that is proved with little effort."""
        most = None
        with suppress(OutOfBudgetError), limit_effort(MAX_IMPOSSIBILITY_PRODUCTS):
            most = self.find_upper_bound(taken, span)
        return most if most is not None and self.facts.nonnegative(1 - most) else ONE

    def _bound_mean_below(self, amount: Amount, weight: Poly) -> Amount:
        if isinstance(amount, UnknownAmount):
            return ZERO_AMOUNT
        value, facts = amount.lower * weight, self.facts
        moving = [(name, extent) for name, extent in reversed(self.ranged) if name in value.names]
        origins = [self._origin_of(name) for name, _ in moving]
        if any(first[: len(second)] == second[: len(first)] for first, second in combinations(origins, 2)):
            # A coordinate and a rotation of it do not have all pairs of values.
            return ZERO_AMOUNT
        for name, extent in moving:
            total = bound_sum_below(value, name, extent, facts)
            if total is None or len(extent.terms) != 1:
                return ZERO_AMOUNT
            value = total * extent**-1
        return exact_amount(facts.simplify(value))

    def find_upper_bound(self, value: Poly, span: Span) -> Poly | None:
        """Bound a value from above by one without coordinates; None if that fails."""
        bound = self.bound_amount_above(KnownAmount(ZERO, value), span)
        return None if isinstance(bound, UnknownAmount) or self.depends_on_coordinates(bound.upper) else bound.upper


def position_at_start(
    module: Module, algorithm: s.Algorithm, given: Mapping[str, str | Poly] | None, scope: Scope | None = None
) -> Position | None:
    """Return the position of a processor at the start of the program; of any processor if `given` is None.

    `given` maps axes to coordinates: "first", "last", or an index of the algorithm. If a processor with these may not
    exist, the result is None. A coordinate may also be an expression in sizes; costs are then valid only where the
    processor exists. The symbol of an axis' name stands for the coordinate of any processor. `scope` is that of the
    declarations, so that several processors share its proofs.
    """
    scope = declared_scope(module, algorithm) if scope is None else scope
    facts = scope.facts
    axes: dict[str, GridAxis] = {}
    ranged: list[tuple[str, Poly]] = []
    extents = {axis.name: facts.simplify(static_value(axis.extent, scope)) for axis in algorithm.grid}
    if not any("P" in s.find_names(axis.extent) for axis in algorithm.grid):
        scope = scope.with_value("P", prod(extents.values(), start=ONE))
    for axis in algorithm.grid:
        extent = extents[axis.name]
        facts = facts.with_nonnegative(extent - 1)
        if given is not None:
            ends = {"first": ZERO, "last": extent - 1}
            end = given[axis.name]
            coordinate = end if isinstance(end, Poly) else ends[end] if end in ends else Poly.symbol(end)
            if isinstance(end, str) and not (
                facts.nonnegative(coordinate) and facts.nonnegative(extent - 1 - coordinate)
            ):
                return None
            if coordinate == Poly.symbol(axis.name):
                facts = facts.with_symbol(axis.name, (ZERO,), (extent - 1,))
        elif facts.nonnegative(1 - extent):
            coordinate = ZERO
        else:
            coordinate = Poly.symbol(axis.name)
            facts = facts.with_symbol(axis.name, (ZERO,), (extent - 1,))
            ranged.append((axis.name, extent))
        axes[axis.name] = GridAxis(coordinate, extent, axis.within is not None)
        scope = scope.with_value(axis.name, coordinate)
    return Position.of(scope.with_facts(facts), algorithm, axes, tuple(ranged))


def position_in_callee(
    module: Module, call: s.Call, callee: s.Algorithm, along: tuple[s.Name, ...], place: Position
) -> Position:
    """Return the position at the start of a callee on the grid, for a call by the processors `along` these axes.

    Raises NotStaticError.
    """
    values: dict[str, Poly] = {}
    for name, bound in module.bindings[call].items():
        if bound is None:
            raise NotStaticError(f"the size `{name}` of `{callee.name}` depends on data", call)
        values[name] = place.facts.simplify(static_value(bound, place))
    grid_axes = [axis for name, axis in place.axes.items() if name not in place.groups]
    joined = [place.axes[axis.id] for axis in along] if along else grid_axes
    if len(callee.grid) == 1:
        joined = [_join_axes(joined)]
    axes = {axis.name: position for axis, position in zip(callee.grid, joined, strict=True)}
    values["P"] = prod((axis.extent for axis in joined), start=ONE)
    values |= {name: axis.coordinate for name, axis in axes.items()}
    values |= {name: place.values[name] for name in ("K", "L", "Z") if name in place.values and name not in values}
    named = replace(place, values=values, below={}, segments={}, settled=frozenset())
    start = replace(
        named, element=_find_element_kind(call, callee, place), axes=axes, groups=frozenset(), algorithm=callee
    )
    for fact in callee.where:
        start = start.assuming_callee_fact(fact)
    return start


def position_in_split(split: s.Split, place: Position) -> Position:
    """Return the position in the block of a split: on an axis of P/parts processors, in one of the groups.

    Raises NotStaticError.
    """
    axis, parts = place.axes[split.axis], static_value(split.parts, place)
    extent = place.facts.simplify(a.exact_quotient(axis.extent, parts))
    facts = place.facts.with_nonnegative(extent - 1)
    ranged, origins = place.ranged, dict(place.origins)
    if ranged:
        names = []
        for name, most in ((split.axis, extent - 1), (split.group, parts - 1)):
            names.append(facts.make_unused_name(name))
            facts = facts.with_symbol(names[-1], (ZERO,), (most,))
            origins[names[-1]] = (*(root for old in axis.coordinate.names for root in origins.get(old, (old,))), name)
        ranged = (*ranged, (names[0], extent), (names[1], parts))
        coordinates = Poly.symbol(names[0]), Poly.symbol(names[1])
    elif facts.simplify(axis.coordinate - axis.extent) == -ONE:
        coordinates = extent - 1, parts - 1
    else:
        group = facts.simplify(a.floor_div(axis.coordinate, extent))
        coordinates = axis.coordinate - group * extent, group
    inside = place.with_facts(facts).with_value("P", facts.simplify(a.exact_quotient(place.values["P"], parts)))
    axes = dict(place.axes)
    for name, coordinate, size in zip((split.axis, split.group), coordinates, (extent, parts), strict=True):
        axes[name] = GridAxis(coordinate, size, axis.within)
        inside = inside.with_value(name, coordinate)
    return replace(inside, axes=axes, ranged=ranged, groups=place.groups | {split.group}, origins=origins)


def _find_element_kind(call: s.Call, callee: s.Algorithm, scope: Scope) -> Kind:
    for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
        if isinstance(parameter.type, s.ArrayType) and parameter.type.element == "any":
            type_ = scope.module.types[argument]
            kind = type_.element if isinstance(type_, ViewType) else type_
            return scope.element if kind is Kind.ANY else kind
    return scope.element


def _join_axes(joined: list[GridAxis]) -> GridAxis:
    """Join several axes to one, in row-major order."""
    coordinate, extent = ZERO, ONE
    for axis in joined:
        coordinate = coordinate * axis.extent + axis.coordinate
        extent = extent * axis.extent
    within = {axis.within for axis in joined}
    return GridAxis(coordinate, extent, within.pop() if len(within) == 1 else None)


def _shift_coordinate(value: Poly, name: str, extent: Poly) -> Poly:
    """Shift the coordinate in a value that is periodic along its axis, so that (q - 1)%p becomes q%p, for instance.

    The values over all coordinates stay the same, and with them their maximum.
    """
    coordinate = Poly.symbol(name)
    if value.substitute({name: coordinate + extent}) != value:
        return value
    for atom in sorted(value.atoms_within(), key=str):
        if isinstance(atom, a.Floor) and atom.modulus == extent and name not in (atom.argument - coordinate).names:
            return value.substitute({name: coordinate + coordinate - atom.argument})
    return value


def list_shared_arrays(module: Module, algorithm: s.Algorithm) -> frozenset[str]:
    """List the names of the array parameters of an algorithm that are not local, and of their views."""
    names = {parameter.name for parameter in algorithm.parameters if not parameter.local}
    for let in s.find_nodes(algorithm.body, s.Let):
        if module.is_view(let.value) and _base_array(let.value) in names:
            names.add(let.name)
    return frozenset(names)


def _base_array(expr: s.Expr) -> str:
    match expr:
        case s.Name(id=name) | s.Element(array=name):
            return name
        case s.Reshape(base=base):
            return _base_array(base)
        case s.Integer() | s.Real() | s.Unary() | s.Binary() | s.Call():
            return ""


def find_free_statements(module: Module, algorithm: s.Algorithm) -> Iterator[s.Stmt]:
    """Yield the statements that only distribute data and so cost nothing: copies of shared arrays, transfer loops."""
    shared = list_shared_arrays(module, algorithm)
    for local in s.find_nodes(algorithm.body, s.Local):
        if local.value is not None and module.is_view(local.value) and _base_array(local.value) in shared:
            yield local
    for loop in s.find_nodes(algorithm.body, s.Loop):
        kinds = {type(statement) for statement in s.find_nodes(loop.body, s.Simple, s.Loop, s.While, s.If, s.Split)}
        if s.Transfer in kinds and kinds <= {s.Transfer, s.Let, s.Pass, s.Loop}:
            yield loop


def processor_counts(module: Module, algorithm: s.Algorithm) -> dict[str, Cost]:
    """Return the numbers of processors `P` and of `nodes`, the product of axes not within a node, as exact costs."""
    scope = declared_scope(module, algorithm)
    nodes = [axis for axis in algorithm.grid if axis.within is None]
    result = {"P": _grid_size(algorithm.grid, scope), "nodes": _grid_size(nodes, scope)}
    if any("P" in s.find_names(axis.extent) for axis in algorithm.grid):
        # If axes are given as shares of P, their product is P.
        result["P"] = Poly.symbol("P")
        if len(nodes) == len(algorithm.grid):
            result["nodes"] = result["P"]
    return {name: Cost(name, "exact", value, value) for name, value in result.items()}


def _grid_size(axes: Sequence[s.Axis], scope: Scope) -> Poly:
    extents = prod((static_value(axis.extent, scope) for axis in axes), start=ONE)
    return scope.facts.restore(scope.facts.simplify(extents))
