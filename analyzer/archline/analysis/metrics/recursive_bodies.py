"""The body of a recursive algorithm, case by case: what one call costs apart from the calls it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.disjunctions import Knowledge
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly
from archline.analysis.metrics.cases import BodyCase, DecisionPath, UndecidedError, every_case
from archline.analysis.metrics.statements import Outcome, Result, Statements
from archline.analysis.metrics.tally import Tally
from archline.expr.tree import substituted
from archline.ir.amounts import Amount, Known, Unknown
from archline.ir.conditions import MAYBE, knowing
from archline.ir.declarations import declared
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.language.metrics import CALL

CostsAt = Callable[[tuple[Poly, ...]], Mapping[str, Amount] | Unknown]
"""The costs of a call as functions of its sizes, by metric and kind, or why they are not known."""


class Bodies(Statements):
    """Derives the cases of one recursive algorithm, with the costs of recursive calls as unknown functions.

    Calls of the algorithm itself and of other recursive algorithms become `Applied` atoms. Algorithms that call it back
    are derived in place.
    """

    _solves = False

    def __init__(
        self, outer: Statements, algorithm: s.Algorithm, applied: Callable[[s.Algorithm], CostsAt | None]
    ) -> None:
        """`applied` has the algorithms whose costs stay functions of their sizes."""
        super().__init__(outer.module, coarse=False, model=outer.model)
        self._algorithm = algorithm
        self._circle = component(outer.module, algorithm)
        self._outer = outer
        self._applied = applied
        self._way = DecisionPath((), Knowledge(Facts()))
        self._loops = 0
        self._data: dict[str, None] = {}
        self._facts = Facts()
        self._older: frozenset[str] = frozenset()
        self._unnamed: dict[str, a.Data] = {}
        self._unsettled: dict[str, None] = {}
        self._lets: dict[str, s.Expr] = {}
        self._last_assigned = _last_assigned(algorithm)

    def cases(self) -> list[BodyCase]:
        """Every way through the body that conditions on sizes distinguish. Raises TooManyCasesError."""
        return every_case(declared(self.module, self._algorithm).facts, self._follow)

    def along(self, ways: Iterable[DecisionPath]) -> list[BodyCase]:
        """The same, where the ways are known: other metrics are decided by the same conditions."""
        return list(map(self._follow, ways))

    def _follow(self, way: DecisionPath) -> BodyCase:
        scope = declared(self.module, self._algorithm).with_facts(way.known.facts)
        self._way, self._data, self._loops, self._facts = way, {}, 0, scope.facts
        self._unsettled, self._older, self._lets = {}, frozenset(), {}
        tally, steps = self.block(self._algorithm.body, scope)
        closed = tally.then(self.model.sync, scope.facts)
        facts = self._facts
        for name in self._data:
            if name in self._unnamed:
                ends = (
                    (end,) if end is not None else () for end in (self._unnamed[name].low, self._unnamed[name].high)
                )
                facts = facts.with_symbol(name, *ends)
            elif name not in facts.bounds:
                facts = facts.with_symbol(name)
        return BodyCase(way, facts, closed, steps, tuple(self._data))

    # What differs from other algorithms
    def algorithm(self, algorithm: s.Algorithm) -> Result:
        if algorithm not in self._circle:
            return self._outer.algorithm(algorithm)
        self._loops += 1
        try:
            return super().algorithm(algorithm)
        finally:
            self._loops -= 1

    def call(self, call: s.Call, scope: Scope) -> Tally:
        target = self.module.targets[call]
        applied = self._applied(target) if isinstance(target, s.Algorithm) else None
        if applied is None or not isinstance(target, s.Algorithm):
            return super().call(call, scope)
        sizes = self.sizes(call, target, scope)
        signature = self.module.signatures[target]
        names = (*signature.size_names, *signature.indices)
        arguments = tuple(self._named(scope.facts.simplify(sizes[name]), scope) for name in names)
        costs = applied(arguments)
        if isinstance(costs, Unknown):
            return Tally(gap=costs)
        return self.model.event(CALL).then(self.model.tally(costs), scope.facts)

    def _named(self, value: Poly, scope: Scope) -> Poly:
        """A size with a symbol for what only the data gives in it."""

        def name(atom: Atom) -> Poly | None:
            if not isinstance(atom, a.Data):
                return None
            if atom.key not in self._data:
                self._data[atom.key] = None
                self._unnamed[atom.key] = atom
            return Poly.symbol(atom.key)

        return value.map_atoms(name)

    def block(self, body: tuple[s.Stmt, ...], scope: Scope) -> Result:
        declared_before = dict(self._unsettled)
        try:
            return super().block(body, scope)
        finally:
            # What a block inside learns of an older integer is not known behind it, where the integer is settled anew.
            self._unsettled = declared_before

    def behind(self, statement: s.Stmt, scope: Scope, following: tuple[s.Stmt, ...] = ()) -> Scope:
        scope = super().behind(statement, scope)
        if self._loops:
            return scope
        if isinstance(statement, s.Let):
            self._lets[statement.name] = substituted(statement.value, self._lets)
        if isinstance(statement, s.Local) and statement.is_integer:
            self._unsettled[statement.name] = None
        for name in [each for each in self._unsettled if self._last_assigned.get(each, (0, 0)) <= _last(statement)]:
            # From here on the integer keeps its value.
            del self._unsettled[name]
            label = self._label(name)
            self._data[label] = None
            scope = scope.with_value(name, Poly.symbol(label)).with_facts(scope.facts.with_symbol(label))
            scope = self._with_extents(label, following, scope)
        self._facts = self._facts.with_bounds(self._together(scope.facts))
        return scope

    def _label(self, name: str) -> str:
        """A symbol for an integer of the data; branches may each have one of the same name."""
        label, count = name, 1
        while label in self._data:
            count += 1
            label = f"{name} ({count})"
        return label

    def _together(self, facts: Facts) -> dict[str, Bounds]:
        """What holds in the whole case, with what is learned here: in a branch that the data picks, only of its own."""
        known = dict(self._facts.bounds)
        for name, each in facts.bounds.items():
            if name not in known:
                known[name] = each
            elif name not in self._older:
                before = known[name]
                known[name] = Bounds(
                    tuple(dict.fromkeys((*before.lower, *each.lower))),
                    tuple(dict.fromkeys((*before.upper, *each.upper))),
                )
        return known

    def _with_extents(self, settled: str, following: tuple[s.Stmt, ...], scope: Scope) -> Scope:
        """What an integer of the data is known to obey: the sizes of the calls behind it in its block are sizes."""
        facts = scope.facts
        for call in (call for each in following if isinstance(each, s.Simple) for call in each.calls):
            target = self.module.targets.get(call)
            if not isinstance(target, s.Algorithm):
                continue
            sizes, least = self.sizes(call, target, scope), self.module.signatures[target].at_least
            for name, value in sizes.items():
                if settled in value.names and name in least:
                    facts = facts.with_nonnegative(value - least[name])
        return scope.with_facts(facts)

    def loop(self, loop: s.Loop, scope: Scope) -> Outcome:
        self._loops += 1
        try:
            return super().loop(loop, scope)
        finally:
            self._loops -= 1

    def while_loop(self, loop: s.While, scope: Scope) -> Outcome:
        self._loops += 1
        try:
            return super().while_loop(loop, scope)
        finally:
            self._loops -= 1

    def branches(self, branches: tuple[s.Branch, ...], scope: Scope) -> Outcome:
        first, *rest = branches
        if self._loops or first.condition is None:
            return super().branches(branches, scope)
        taken = self._holding(first.condition, scope)
        if not taken.exact:
            return self._by_data_branch(branches, scope)
        decided = next((each.taken for each in self._way.decisions if each.branch is first), None)
        simplified = scope.facts.simplify(taken.lower)
        if decided is None:
            if not simplified.is_constant:
                raise UndecidedError(first, simplified, substituted(first.condition, self._lets), scope)
            decided = bool(simplified)
        test = self._test(first.condition, scope)
        if decided:
            body, children = self.block(first.body, scope)
            return test.then(body, scope.facts), "test, which holds in this case", children
        other, _, children = self._rest(rest, scope)
        return test.then(other, scope.facts), "test, which does not hold in this case", children

    def _holding(self, condition: s.Expr, scope: Scope) -> Known:
        found = super()._holding(condition, scope)
        # An integer of the data has a symbol too, once it is settled.
        by_data = not (found.lower.names | found.upper.names).isdisjoint(self._data)
        return MAYBE if by_data or not (found.exact or self._loops) else found

    def _chosen_by_data(self, condition: s.Expr, scope: Scope) -> Scope:
        """Integers of the data in a condition have symbols of their own in its branch, of which it is known to hold."""
        for name in sorted(s.names(condition)):
            old = next(iter(scope.values[name].names), "") if name in scope.values else ""
            if old not in self._data or scope.values[name] != Poly.symbol(old):
                continue
            label, known = self._label(name), scope.facts.bounds.get(old, Bounds())
            self._data[label] = None
            facts = scope.facts.with_symbol(label, known.lower, known.upper)
            scope = scope.with_value(name, Poly.symbol(label)).with_facts(facts)
        return knowing(scope, condition)

    def _by_data_branch(self, branches: tuple[s.Branch, ...], scope: Scope) -> Outcome:
        """Branches of which the data picks one: what an `assume` says in one of them does not hold in the others."""
        outer = self._older
        self._older = frozenset(self._facts.bounds)
        try:
            return super().branches(branches, scope)
        finally:
            self._older = outer


def _last_assigned(algorithm: s.Algorithm) -> dict[str, tuple[int, int]]:
    """Where each scalar is assigned to for the last time."""
    found: dict[str, tuple[int, int]] = {}
    for node in s.nodes(algorithm.body):
        for target in node.writes if isinstance(node, s.Simple) else ():
            if isinstance(target, s.Name):
                place = node.span.line, node.span.column
                found[target.id] = max(place, found.get(target.id, place))
    return found


def _last(statement: s.Stmt) -> tuple[int, int]:
    """Where the last node of a statement begins."""
    return max((node.span.line, node.span.column) for node in s.nodes(statement))
