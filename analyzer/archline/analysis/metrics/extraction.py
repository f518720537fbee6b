"""Derive the cases of a recursive algorithm, and make a system of recurrences for each metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.disjunctions import Alternatives, Knowledge, split_into_alternatives
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly
from archline.analysis.metrics.data import amount_at_sizes
from archline.analysis.metrics.statements import Outcome, Result, Statements
from archline.analysis.metrics.tally import DerivationStep, Tally
from archline.expr.tree import has_same_structure, substitute_names
from archline.ir.amounts import Amount, KnownAmount, UnknownAmount
from archline.ir.conditions import UNDECIDED_INDICATOR, assume_facts, disjunctive_form, negate_condition
from archline.ir.declarations import declared_scope, read_index_properties
from archline.ir.iteration_bounds import make_iteration_counts
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component, iterate_callees, traverse_reachable
from archline.language.checking.scopes import list_machine_symbols
from archline.language.metrics import CALL
from archline.records import field, memoised, record, replace
from archline.recurrences.model import Decision, Equation, RecurrenceSystem, SizeFunction, find_calls

MAX_CASES = 48


@record
class DecisionPath:
    """The outcomes of conditions on a path through a body, and the facts that they imply."""

    decisions: tuple[Decision, ...]
    known: Knowledge


@record
class BodyCase:
    """A path through the body of a recursive algorithm, and its costs, to which the call itself adds 1.

    `way` has the conditions on sizes along the path, `facts` hold on it, `data` names the integers that depend on data.
    """

    way: DecisionPath
    facts: Facts
    tally: Tally
    steps: tuple[DerivationStep, ...] = ()
    data: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The conditions on sizes along the path, with their outcomes."""
        return self.way.decisions

    @property
    def known(self) -> tuple[Poly, ...]:
        """The nonnegative values that the decisions imply."""
        return self.way.known.nonnegative

    def build_equation(self, value: Poly, exits: bool = False) -> Equation:
        data = tuple(x for x in self.data if x in value.names)
        return Equation(self.decisions, self.facts, value, data, self.known, exits)


class UndecidedError(Exception):
    """An `if` on sizes is not decided by the conditions of the current path: it has to be split."""

    def __init__(self, branch: s.Branch, indicator: Poly, condition: s.Expr, scope: Scope) -> None:
        super().__init__()
        self.branch, self.indicator, self.condition, self.scope = branch, indicator, condition, scope


class TooManyCasesError(Exception):
    """The body has more than MAX_CASES paths."""


def enumerate_cases(facts: Facts, follow: Callable[[DecisionPath], BodyCase]) -> list[BodyCase]:
    """List the cases of a body, one for each path by conditions on sizes. Raises TooManyCasesError.

    `follow` derives the case of a path, or raises UndecidedError, at which the path is split in two.
    """
    result: list[BodyCase] = []
    pending = [DecisionPath((), Knowledge(facts))]
    while pending:
        if len(result) + len(pending) > MAX_CASES:
            raise TooManyCasesError
        path = pending.pop()
        try:
            result.append(follow(path))
        except UndecidedError as undecided:
            pending.extend(reversed(list(_split_path(path, undecided))))
    return result


def _split_path(way: DecisionPath, undecided: UndecidedError) -> Iterator[DecisionPath]:
    branch, scope = undecided.branch, undecided.scope
    assert branch.condition is not None
    before = replace(way.known, facts=scope.facts)
    for outcome in (True, False):
        condition = branch.condition if outcome else negate_condition(branch.condition)
        learned = before.assume_disjunction(disjunctive_form(condition, scope))
        if learned is not None:
            decision = Decision(branch, outcome, undecided.indicator, undecided.condition)
            yield DecisionPath((*way.decisions, decision), learned)


CostsAt = Callable[[tuple[Poly, ...]], Mapping[str, Amount] | UnknownAmount]
"""A function from the sizes of a call to its costs by metric and kind, or the reason why they are unknown."""


class CaseDerivation(Statements):
    """Derives the cases of a recursive algorithm, with the costs of recursive calls as unknown functions.

    Calls of the algorithm itself and of other recursive algorithms become `AppliedFunction` atoms. Mutually recursive
    algorithms are derived in place.
    """

    _solves = False

    def __init__(
        self, outer: Statements, algorithm: s.Algorithm, applied: Callable[[s.Algorithm], CostsAt | None]
    ) -> None:
        """`applied` returns the costs of calls of an algorithm as functions of sizes; None for a body to be inlined."""
        super().__init__(outer.module, coarse=False, model=outer.model)
        self._algorithm = algorithm
        self._circle = find_recursive_component(outer.module, algorithm)
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
        self._last_assigned = _find_last_assignments(algorithm)

    def list_cases(self) -> list[BodyCase]:
        """List the cases of the body, one for each path by conditions on sizes. Raises TooManyCasesError."""
        return enumerate_cases(declared_scope(self.module, self._algorithm).facts, self._derive_case)

    def derive_paths(self, ways: Iterable[DecisionPath]) -> list[BodyCase]:
        """Derive the cases of given paths, which are the same for all metrics."""
        return list(map(self._derive_case, ways))

    def _derive_case(self, way: DecisionPath) -> BodyCase:
        scope = declared_scope(self.module, self._algorithm).with_facts(way.known.facts)
        self._way, self._data, self._loops, self._facts = way, {}, 0, scope.facts
        self._unsettled, self._older, self._lets = {}, frozenset(), {}
        tally, steps = self.derive_block(self._algorithm.body, scope)
        counts = make_iteration_counts(self.module, self._algorithm)
        closed = tally.then(self.model.sync, scope.facts).fold_iterations(counts)
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

    @contextmanager
    def _without_splits(self) -> Iterator[None]:
        """Suspend case splits inside a loop or a mutually recursive algorithm."""
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1

    # Overrides for recursive algorithms
    def derive_algorithm(self, algorithm: s.Algorithm) -> Result:
        if algorithm not in self._circle:
            return self._outer.derive_algorithm(algorithm)
        with self._without_splits():
            return super().derive_algorithm(algorithm)

    def derive_call(self, call: s.Call, scope: Scope) -> Tally:
        target = self.module.targets[call]
        applied = self._applied(target) if isinstance(target, s.Algorithm) else None
        if applied is None or not isinstance(target, s.Algorithm):
            if target in self._circle and not self._loops:
                self._split_by_conditions_of(call, target, scope)
            return super().derive_call(call, scope)
        sizes = self.evaluate_callee_sizes(call, target, scope)
        signature = self.module.signatures[target]
        names = (*signature.size_names, *signature.indices)
        arguments = tuple(self._name_data(scope.facts.simplify(sizes[name]), scope) for name in names)
        costs = applied(arguments)
        if isinstance(costs, UnknownAmount):
            return Tally(gap=costs)
        applied_costs = self.model.build_tally(costs)
        if target is not self._algorithm and (rounds := self._outer.recursions.derive_iteration_costs(target)):

            def express_at_call(amount: Amount) -> Amount:
                return amount_at_sizes(amount, dict(zip(names, arguments, strict=True)), scope.facts, call)

            applied_costs = replace(
                applied_costs, rounds={name: once.map_amounts(express_at_call) for name, once in rounds.items()}
            )
        return self.model.count_event(CALL).then(self._attribute_call(target, applied_costs), scope.facts)

    def _attribute_call(self, target: s.Algorithm, body: Tally) -> Tally:
        # In a recursion each statement has the costs of all of its executions.
        return body if target in self._circle else super()._attribute_call(target, body)

    def _split_by_conditions_of(self, call: s.Call, target: s.Algorithm, scope: Scope) -> None:
        """Raise UndecidedError for a condition on sizes at the start of a body that is inlined, if it is undecided."""
        sizes = self.module.bindings[call]
        for branch in (statement.branches[0] for statement in target.body if isinstance(statement, s.If)):
            if branch.condition is None or not s.find_names(branch.condition) <= sizes.keys():
                continue
            values = {name: value for name in s.find_names(branch.condition) if (value := sizes[name]) is not None}
            condition = substitute_names(branch.condition, values)
            if len(values) < len(s.find_names(branch.condition)) or any(
                has_same_structure(decision.branch.condition, condition) for decision in self._way.decisions
            ):
                continue
            holding = self._indicator_bounds(condition, scope)
            simplified = scope.facts.simplify(holding.lower)
            if holding.exact and not simplified.is_constant:
                stated = substitute_names(condition, self._lets)
                raise UndecidedError(replace(branch, condition=condition), simplified, stated, scope)

    def _name_data(self, value: Poly, scope: Scope) -> Poly:
        """Replace data atoms in a size by symbols, and record these as data of the case."""

        def symbol_of_data(atom: Atom) -> Poly | None:
            if not isinstance(atom, a.Data):
                return None
            if atom.key not in self._data:
                self._data[atom.key] = None
                self._unnamed[atom.key] = atom
            return Poly.symbol(atom.key)

        return value.map_atoms(symbol_of_data)

    def derive_block(self, body: tuple[s.Stmt, ...], scope: Scope) -> Result:
        declared_before = dict(self._unsettled)
        try:
            return super().derive_block(body, scope)
        finally:
            # Facts of an inner block about an integer of an outer one end with the block, so it is settled later.
            self._unsettled = declared_before

    def scope_after(self, statement: s.Stmt, scope: Scope, following: tuple[s.Stmt, ...] = ()) -> Scope:
        scope = super().scope_after(statement, scope)
        if self._loops:
            return scope
        if statement.integer_register:
            self._unsettled[statement.integer_register] = None
        last = max((node.span.line, node.span.column) for node in s.iterate_nodes(statement))
        for name in [integer for integer in self._unsettled if self._last_assigned.get(integer, (0, 0)) <= last]:
            # From here on the integer keeps its value.
            del self._unsettled[name]
            label = self._unused_label(name)
            self._data[label] = None
            scope = scope.with_value(name, Poly.symbol(label)).with_facts(scope.facts.with_symbol(label))
            scope = self._with_call_sizes(label, following, scope)
        self._facts = self._facts.with_bounds(self._merge_bounds(scope.facts))
        return scope

    def _unused_label(self, name: str) -> str:
        """Return an unused symbol name for a data-dependent integer, as several branches may use the same name."""
        label, count = name, 1
        while label in self._data:
            count += 1
            label = f"{name} ({count})"
        return label

    def _merge_bounds(self, facts: Facts) -> dict[str, Bounds]:
        """Merge new bounds into the bounds of the case; in a branch on data, only of symbols that it introduces."""
        merged = dict(self._facts.bounds)
        for name, bound in facts.bounds.items():
            if name not in merged:
                merged[name] = bound
            elif name not in self._older:
                prior = merged[name]
                merged[name] = Bounds(
                    tuple(dict.fromkeys((*prior.lower, *bound.lower))),
                    tuple(dict.fromkeys((*prior.upper, *bound.upper))),
                )
        return merged

    def _with_call_sizes(self, settled: str, following: tuple[s.Stmt, ...], scope: Scope) -> Scope:
        """Add the fact that each size of a later call that contains the symbol `settled` is at least its minimum."""
        facts = scope.facts
        for call in (call for statement in following if isinstance(statement, s.Simple) for call in statement.calls):
            target = self.module.targets.get(call)
            if not isinstance(target, s.Algorithm):
                continue
            sizes, least = self.evaluate_callee_sizes(call, target, scope), self.module.signatures[target].at_least
            for name, value in sizes.items():
                if settled in value.names and name in least:
                    facts = facts.with_nonnegative(value - least[name])
        return scope.with_facts(facts)

    def let(self, let: s.Let, scope: Scope) -> Outcome:
        self._lets[let.name] = substitute_names(let.value, self._lets)
        return super().let(let, scope)

    def loop(self, loop: s.Loop, scope: Scope) -> Outcome:
        with self._without_splits():
            return super().loop(loop, scope)

    def while_loop(self, loop: s.While, scope: Scope) -> Outcome:
        with self._without_splits():
            return super().while_loop(loop, scope)

    def branches(self, branches: tuple[s.Branch, ...], scope: Scope) -> Outcome:
        first, *rest = branches
        if self._loops or first.condition is None:
            return super().branches(branches, scope)
        if isinstance(first.condition, s.Reached):
            return self._derive_data_branches(branches, scope)
        holding = self._indicator_bounds(first.condition, scope)
        if not holding.exact:
            return self._derive_data_branches(branches, scope)
        decided = next((decision.taken for decision in self._way.decisions if decision.branch is first), None)
        simplified = scope.facts.simplify(holding.lower)
        if decided is None:
            if not simplified.is_constant:
                raise UndecidedError(first, simplified, substitute_names(first.condition, self._lets), scope)
            decided = bool(simplified)
        test = self._test_cost(first.condition, scope)
        if decided:
            body, children = self.derive_block(first.body, scope)
            return test.then(body, scope.facts), "test, which holds in this case", children
        otherwise, _, children = self._derive_remaining_branches(rest, scope)
        return test.then(otherwise, scope.facts), "test, which does not hold in this case", children

    def _indicator_bounds(self, condition: s.Expr, scope: Scope) -> KnownAmount:
        indicator = super()._indicator_bounds(condition, scope)
        # A settled data-dependent integer has a symbol too.
        by_data = not (indicator.lower.names | indicator.upper.names).isdisjoint(self._data)
        return UNDECIDED_INDICATOR if by_data or not (indicator.exact or self._loops) else indicator

    def _scope_of_data_branch(self, condition: s.Expr, scope: Scope) -> Scope:
        """Bind data-dependent integers of a condition to new symbols in its branch, and assume the condition."""
        for name in sorted(s.find_names(condition)):
            old = next(iter(scope.values[name].names), "") if name in scope.values else ""
            if old not in self._data or scope.values[name] != Poly.symbol(old):
                continue
            label, bounds = self._unused_label(name), scope.facts.bounds.get(old, Bounds())
            self._data[label] = None
            facts = scope.facts.with_symbol(label, bounds.lower, bounds.upper)
            scope = scope.with_value(name, Poly.symbol(label)).with_facts(facts)
        return assume_facts(scope, condition)

    def _derive_data_branches(self, branches: tuple[s.Branch, ...], scope: Scope) -> Outcome:
        """Derive branches whose conditions depend on data; facts of one branch are not used in another."""
        outer = self._older
        self._older = frozenset(self._facts.bounds)
        try:
            return super().branches(branches, scope)
        finally:
            self._older = outer


def _find_last_assignments(algorithm: s.Algorithm) -> dict[str, tuple[int, int]]:
    """Find the last source position at which each scalar is assigned."""
    result: dict[str, tuple[int, int]] = {}
    for node in s.find_nodes(algorithm.body, s.Simple):
        place = node.span.line, node.span.column
        result |= {
            target.id: max(place, result.get(target.id, place)) for target in node.writes if isinstance(target, s.Name)
        }
    return result


LOWER_PREFIX, UPPER_PREFIX = "least ", "most "
"""Prefixes of the names of lower and upper functions, for a cost that depends on data in part."""


@record(eq=False)
class ExtractedSystems:
    """The system of recurrences of an algorithm for each metric and kind, or the reason why there is none.

    A metric that `systems` lacks is 0, or unknown if there is a `gap`. `cases` are the cases of the body.
    """

    algorithm: s.Algorithm
    systems: Mapping[str, RecurrenceSystem | UnknownAmount]
    cases: tuple[BodyCase, ...] = field(repr=False, default=())
    gap: UnknownAmount | None = None

    def get_system(self, metric: str) -> RecurrenceSystem | UnknownAmount | None:
        """Return the system of a metric, or the reason for its absence; None if the metric is 0."""
        return self.systems.get(metric, self.gap)

    def is_exact(self, metric: str) -> bool:
        """Test whether one function of the sizes gives a metric exactly, rather than a lower and an upper function."""
        system = self.get_system(metric)
        return isinstance(system, RecurrenceSystem) and system.exact

    def get_function(self, metric: str, upper: bool) -> SizeFunction | None:
        """Return the function that equals the metric or bounds it, from above (`upper`) or below; None if not known."""
        system = self.get_system(metric)
        if not isinstance(system, RecurrenceSystem):
            return None
        return system.functions[_function_name(metric, self.algorithm, system.exact, upper)]


def _function_name(metric: str, algorithm: s.Algorithm, exact: bool, upper: bool) -> str:
    side = "" if exact else UPPER_PREFIX if upper else LOWER_PREFIX
    return f"{side}{metric} of {algorithm.name}"


class Extraction:
    """Extracts the systems of recurrences of recursive algorithms, for each algorithm once."""

    def __init__(self, outer: Statements) -> None:
        self._outer = outer
        self._done: dict[s.Algorithm, ExtractedSystems] = {}

    def extract_systems(self, algorithm: s.Algorithm) -> ExtractedSystems:
        """Return the systems of recurrences of a recursive algorithm."""
        if algorithm not in self._done:
            self._done[algorithm] = self._extract_systems(algorithm)
        return self._done[algorithm]

    def _extract_systems(self, algorithm: s.Algorithm) -> ExtractedSystems:
        try:
            first = self._make_case_derivation(algorithm, (), split=False).list_cases()
            names, paths = self._list_counted_metrics(first), [case.way for case in first]
            cases = tuple(self._make_case_derivation(algorithm, names, split=False).derive_paths(paths))
            systems = {metric: self._build_system(metric, algorithm, cases, split=False) for metric in names}
            if None in systems.values():
                bounded = tuple(self._make_case_derivation(algorithm, names, split=True).derive_paths(paths))
                for metric, system in systems.items():
                    if system is None:
                        systems[metric] = self._build_system(metric, algorithm, bounded, split=True)
        except TooManyCasesError:
            reason = UnknownAmount(f"`{algorithm.name}` has too many cases to follow", algorithm.span)
            return ExtractedSystems(algorithm, {}, gap=reason)
        gap = next((case.tally.gap for case in cases if case.tally.gap is not None), None)
        gap = gap or next(filter(None, map(_find_recursion_in_iterations, cases)), None)
        return ExtractedSystems(algorithm, {metric: system for metric, system in systems.items() if system}, cases, gap)

    def _list_counted_metrics(self, cases: Iterable[BodyCase]) -> tuple[str, ...]:
        """List the metrics and kinds that are counted in the recursion: those of the cases and of the model."""
        in_cases = frozenset[str]().union(*(case.tally.names for case in cases))
        return tuple(sorted(in_cases | set(self._outer.model.recurrence_metrics)))

    def _make_case_derivation(self, algorithm: s.Algorithm, names: tuple[str, ...], split: bool) -> CaseDerivation:
        """Create the derivation of cases; with `split`, recursive calls have a lower and an upper function."""
        circle = find_recursive_component(self._outer.module, algorithm)

        def call_costs(target: s.Algorithm) -> CostsAt | None:
            """Return the costs of calls of the algorithm itself, or of other recursive algorithms; None if inlined."""
            if target is algorithm:
                return partial(_apply_functions, target, dict.fromkeys(names, not split))
            inlined = self._ends_without(target, algorithm) or not self._ends_without(algorithm, target)
            if (target in circle and inlined) or not find_recursive_component(self._outer.module, target):
                return None
            extracted = self.extract_systems(target)
            if (gap := extracted.gap) is not None:
                return lambda _: gap
            return partial(
                _apply_functions,
                target,
                {
                    name: system if isinstance(system, UnknownAmount) else system.exact
                    for name, system in extracted.systems.items()
                },
            )

        return CaseDerivation(self._outer, algorithm, call_costs)

    def _ends_without(self, algorithm: s.Algorithm, other: s.Algorithm) -> bool:
        """Test whether an algorithm calls itself only through the `other`, so that its body can be inlined there."""
        module = self._outer.module

        def list_callees(caller: s.Algorithm) -> list[s.Algorithm]:
            return [callee for callee in iterate_callees(module, caller.body) if callee is not other]

        return algorithm not in traverse_reachable(list_callees, algorithm)

    def _build_system(
        self, metric: str, algorithm: s.Algorithm, cases: tuple[BodyCase, ...], split: bool
    ) -> RecurrenceSystem | UnknownAmount | None:
        """Build the system of a metric; None if it depends on data and an exact one is asked for (not `split`)."""
        amounts = [case.tally.amount(metric) for case in cases]
        valid = [amount for amount in amounts if not isinstance(amount, UnknownAmount)]
        if len(valid) < len(amounts):
            return next(amount for amount in amounts if isinstance(amount, UnknownAmount))
        if not split and not all(
            amount.exact and amount.lower.names.isdisjoint(case.data) for case, amount in zip(cases, valid, strict=True)
        ):
            return None
        module = self._outer.module
        signature = module.signatures[algorithm]
        functions: dict[str, SizeFunction] = {}
        for upper in (False, True) if split else (True,):
            name = _function_name(metric, algorithm, not split, upper)
            both = zip(cases, valid, strict=True)
            equations = [
                case.build_equation(amount.upper if upper else amount.lower, split and _may_omit_calls(amount))
                for case, amount in both
            ]
            functions[name] = SizeFunction(
                name,
                algorithm,
                (*signature.size_names, *signature.indices),
                {size: signature.at_least[size] for size in signature.size_names},
                self._declared_facts(algorithm),
                tuple(equations),
                algorithm.where,
                self._list_promised_values(algorithm),
                metric,
            )
        return RecurrenceSystem(metric, functions, not split)

    @memoised
    def _declared_facts(self, algorithm: s.Algorithm) -> Facts:
        """Return the declared facts about sizes, as one object whose cached proofs all metrics share."""
        return declared_scope(self._outer.module, algorithm).facts

    @memoised
    def _list_promised_values(self, algorithm: s.Algorithm) -> tuple[Poly, ...]:
        """Return the values of parameters alone that the header promises to be >= 0."""
        scope = declared_scope(self._outer.module, algorithm)
        machine = list_machine_symbols(self._outer.module.signatures[algorithm])
        facts = read_index_properties(algorithm, scope).facts
        return tuple(fact for fact in facts if fact.names.isdisjoint(machine))

    def collect_functions(self, metric: str) -> dict[str, SizeFunction]:
        """Collect all functions of a metric that were extracted so far, by name; for a kind also those of the total.

        Costs of a statement that calls another recursive algorithm have that algorithm's total in them.
        """
        result: dict[str, SizeFunction] = {}
        for extracted in self._done.values():
            for name in {metric.partition(".")[0], metric}:
                system = extracted.systems.get(name)
                if isinstance(system, RecurrenceSystem):
                    result |= system.functions
        return result


def _may_omit_calls(amount: KnownAmount) -> bool:
    """Test whether a run may omit recursive calls that the upper bound of its costs has."""

    def list_certain_arguments(value: Poly | Alternatives) -> set[tuple[Poly, ...]]:
        if isinstance(value, Poly):
            atoms = (atom for monomial in value.terms for atom, _ in monomial if isinstance(atom, a.AppliedFunction))
            return {atom.arguments for atom in atoms}
        parts = map(list_certain_arguments, value.parts)
        return set.intersection(*parts) if value.least else set.union(*parts)

    certain = list_certain_arguments(split_into_alternatives(amount.lower, a.AppliedFunction))
    return any(call.arguments not in certain for call in find_calls(amount.upper))


def _find_recursion_in_iterations(case: BodyCase) -> UnknownAmount | None:
    """Return the reason why costs are unknown if an iteration of a loop without a bound makes a recursive call."""
    for once in case.tally.rounds.values():
        for amount in map(once.amount, once.names):
            if isinstance(amount, KnownAmount) and find_calls(amount.upper):
                return UnknownAmount("a loop whose iterations data decides makes recursive calls")
    return None


def _apply_functions(
    target: s.Algorithm, exact: Mapping[str, bool | UnknownAmount], arguments: tuple[Poly, ...]
) -> Mapping[str, Amount]:
    """Return the costs of a call by metric as functions of its sizes: one if `exact`, else a lower and an upper one."""

    def applied_amount(metric: str, single: bool | UnknownAmount) -> Amount:
        if isinstance(single, UnknownAmount):
            return single
        low, high = (
            a.AppliedFunction(_function_name(metric, target, single, upper), arguments) for upper in (False, True)
        )
        return KnownAmount(Poly.of_atom(low), Poly.of_atom(high))

    return {metric: applied_amount(metric, single) for metric, single in exact.items()}
