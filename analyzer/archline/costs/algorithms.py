"""Represent the algorithms of a module under further facts, with their costs and certain failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Self

from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.checks.failures import (
    build_failure_diagnostic,
    describe_side_conditions,
    find_certain_failure,
    find_common_failures,
    find_endless_recursion,
    find_exceeded_while_bounds,
    list_assumed_size_facts,
)
from archline.analysis.checks.races import find_certain_races, find_certain_spawn_race
from archline.analysis.checks.runs import Failure
from archline.analysis.communication import derive as grid_costs
from archline.analysis.cost import Cost, Costs
from archline.costs import communication, rules, trials
from archline.costs.derived import DerivedCosts
from archline.execution import run as executor
from archline.execution.run_rules import RACE as DATA_RACE
from archline.expr.text import format_fact
from archline.growth import rules as growth_rules
from archline.ir.conditions import is_refuted
from archline.ir.declarations import declared_scope
from archline.ir.recursive import inherited_facts
from archline.language import model
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.checking.scopes import list_machine_symbols
from archline.language.conditions import BAD_SIZE
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.extra_facts import add_where_facts
from archline.language.loader import load_target
from archline.language.parser import parse_facts
from archline.language.syntax_rules import NO_ALGORITHM
from archline.records import replace

if TYPE_CHECKING:
    from archline.costs.trials import MessageCheck

MAX_CACHED_FAILURES = 256
MAX_CONFIRMED_FAILURES = 3
"""The number of failures of each kind, those at the smallest sizes, that are executed to confirm one."""


def _select_known_costs(costs: Mapping[str, Cost], others: Mapping[str, Cost]) -> dict[str, Cost]:
    """Return the entries of `others` for the costs that are unknown in `costs`."""
    return {name: others[name] for name, cost in costs.items() if cost.upper is None and name in others}


class AlgorithmUnderFacts:
    """An algorithm of a checked module, under the facts of its `where` and further ones."""

    costs_class: type[DerivedCosts] = DerivedCosts

    def __init__(
        self,
        module: model.Module,
        node: s.Algorithm,
        plain: tuple[model.Module, s.Algorithm] | None = None,
        further_facts: tuple[s.Fact, ...] = (),
    ) -> None:
        """Represent an algorithm; `plain` is the algorithm as written, to which `further_facts` were added.

        The further facts hold in the outermost call; they need not hold in recursive calls.
        """
        self.module = module
        self.node = node
        self._plain = plain or (module, node)
        self.further_facts = further_facts

    @cached_property
    def inherited(self) -> tuple[s.Fact, ...]:
        """The further facts that hold in all recursive calls too."""
        return inherited_facts(*self._plain, self.further_facts) if self.further_facts else ()

    @cached_property
    def executed(self) -> tuple[model.Module, s.Algorithm]:
        """The module and the algorithm under inherited facts, from which costs are derived and which is executed."""
        return add_where_facts(*self._plain, self.inherited)

    @cached_property
    def _without_machine_facts(self) -> tuple[model.Module, s.Algorithm]:
        """The algorithm without facts on machine symbols alone, for flops, work and span; P of a grid is a size."""
        symbols = set(list_machine_symbols(self.signature)) - ({"P"} if self.node.grid else set())
        of_sizes = tuple(fact for fact in self.inherited if not s.find_names(fact) <= symbols)
        return self.executed if of_sizes == self.inherited else add_where_facts(*self._plain, of_sizes)

    @cached_property
    def _costs(self) -> Costs:
        """The flops, work and span under inherited facts; unknown ones are derived under alternative facts."""
        costs = derive(*self._without_machine_facts)
        for facts in self._alternative_facts:
            if all(cost.upper is not None for cost in costs):
                break
            other_costs = derive(*add_where_facts(*self._plain, facts))
            metrics = {**costs.metrics, **_select_known_costs(costs.metrics, other_costs.metrics)}
            kinds = {**costs.flops_by_kind, **_select_known_costs(costs.flops_by_kind, other_costs.flops_by_kind)}
            costs = replace(costs, metrics=metrics, flops_by_kind=kinds)
        return costs

    @cached_property
    def _io(self) -> Cost:
        """The io under inherited facts, or under alternative facts if it is unknown."""
        cost = derive_io_cost(*self.executed)
        for facts in self._alternative_facts:
            if cost.upper is None:
                cost = derive_io_cost(*add_where_facts(*self._plain, facts))
        return cost

    @property
    def _alternative_facts(self) -> Iterator[tuple[s.Fact, ...]]:
        """Yield the facts under which an unknown cost is derived again: with the assumptions of results, then none."""
        assumed = inherited_facts(*self.executed, list_assumed_size_facts(*self.executed))
        if assumed:
            yield (*self.inherited, *assumed)
        if self.inherited:
            yield ()

    @classmethod
    def every(cls, target: str, where: str | None = None) -> tuple[Self, ...]:
        """Load the algorithm that a target names, or all algorithms of a file, under the further facts `where`.

        Raises ArchlineError (AL109 if there is none).
        """
        module, node = load_target(target)
        nodes = module.algorithms.values() if node is None else [node]
        if not nodes:
            hint = "`archline check` decides its claims"
            raise error(NO_ALGORITHM, f"`{target}` has no algorithm", path=target, hint=hint)
        return tuple(cls(module, algorithm).assuming(where) for algorithm in nodes)

    @classmethod
    def named(cls, target: str) -> Self:
        """Load the algorithm that a target names. Raises ArchlineError: AL109 for none, AL410 for several."""
        algorithms = cls.every(target)
        if len(algorithms) != 1:
            shown = ", ".join(f"`{target}::{algorithm.name}`" for algorithm in algorithms[:12])
            message = f"`{target}` defines {len(algorithms)} algorithms"
            raise error(rules.WHICH_ALGORITHM, message, path=target, hint=f"name one: {shown}")
        return algorithms[0]

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.node.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(parameter.name for parameter in self.node.parameters)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes, in order."""
        return self.signature.size_names

    @property
    def signature(self) -> model.Signature:
        """The signature: how sizes are bound, and their minimum values."""
        return self.module.signatures[self.node]

    def assuming(self, where: str | tuple[s.Fact, ...] | None, *, fitting: bool = False) -> Self:
        """Return the algorithm under further facts, which may be a text: `"nz >= n, n is power of 2"`.

        With `fitting`, facts with sizes that the algorithm does not have are omitted. Raises ArchlineError.
        """
        if not where:
            return self
        facts = parse_facts(where, "where") if isinstance(where, str) else where
        if fitting:
            # On a grid P is the number of processors.
            names = {*self.sizes, *(["P"] if self.node.grid else [])}
            facts = tuple(fact for fact in facts if s.find_names(fact) <= names)
        both = (*self.further_facts, *facts)
        narrowed = type(self)(*add_where_facts(self.module, self.node, facts), self._plain, both)
        _require_satisfiable_facts(narrowed, facts)
        return narrowed

    @property
    def of_first_call(self) -> tuple[s.Fact, ...]:
        """The further facts that hold only in the outermost call."""
        return tuple(fact for fact in self.further_facts if fact not in self.inherited)

    def cost(self, where: str | tuple[s.Fact, ...] | None = None, *, problem: str | None = None) -> DerivedCosts:
        """Derive flops, work and span; on a grid words, messages and memory too.

        `problem` names the problem that an algorithm on a grid solves, such as `"matmul(n, n, n)"`, for lower
        bounds on its communication; that of library algorithms is known.

        Raises ArchlineError for a `where` that is not facts about its sizes, and for certain failures: a race (AL301,
        AL304), recursion that does not end (AL302), an access outside an array (AL303), an argument of a wrong
        shape (AL232), a message that is lost or waited for in vain on up to COST_GRID processors (AL531 to AL535).
        A program with a certain failure has no cost.
        """
        subject = self.assuming(where)
        messages = subject.messages(trials.COST_GRID) if subject.node.grid else None
        if messages is not None and messages.failure is not None:
            raise ArchlineError([messages.failure])
        return subject.report(problem=problem)

    def messages(self, most: int) -> MessageCheck | None:
        """Check messages by runs on grids of up to `most` processors; None if the algorithm sends no messages."""
        return trials.check_messages(*self.executed, most) if self.node.grid else None

    def report(self, where: str | None = None, *, problem: str | None = None) -> DerivedCosts:
        """Derive the costs as `cost` does, but without the runs that look for lost messages."""
        subject = self.assuming(where)
        subject.refuse_certain_failures()
        about = subject.executed
        costs = self.costs_class(
            subject.module,
            subject.node,
            subject._costs,
            lambda: subject._io,
            subject.of_first_call,
            communication.ProblemBounds.of(*about, problem) if subject.node.grid or problem is not None else None,
            describe_side_conditions(*about),
            partial(find_certain_failure, *about),
            about,
        )
        limited = any(grid_costs.LONGEST_MESSAGE.names & s.find_names(fact) for fact in subject.node.where)
        return costs.with_longest if limited else costs

    def refuse_certain_failures(self) -> None:
        """Raise ArchlineError for failures that are certain for any data."""
        _require_satisfiable_facts(self, self.node.where)
        failures = _find_certain_failures(*self.executed)
        if failures:
            raise ArchlineError(failures)


@lru_cache(maxsize=MAX_CACHED_FAILURES)
def _find_certain_failures(module: model.Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """Find the failures of an algorithm that are certain for any data; most are confirmed by an execution."""
    endless = find_endless_recursion(module, algorithm)
    if endless is not None:
        return (endless,)
    kinds = find_common_failures(module, algorithm), find_exceeded_while_bounds(module, algorithm)
    failures = chain.from_iterable(islice(kind, MAX_CONFIRMED_FAILURES) for kind in kinds)
    failure = next((candidate for candidate in failures if _is_confirmed_by_run(module, algorithm, candidate)), None)
    if failure is not None:
        return (build_failure_diagnostic(failure, (algorithm, *find_reachable(module, algorithm))),)
    races = find_certain_races(module, algorithm)
    spawned = None if races else find_certain_spawn_race(module, algorithm)
    if spawned is None:
        return races
    run = executor.try_run(module, algorithm, spawned[1])
    # Confirmed by an execution, as failures are.
    return (spawned[0],) if isinstance(run, Diagnostic) and run.rule is DATA_RACE else ()


def _is_confirmed_by_run(module: model.Module, algorithm: s.Algorithm, failure: Failure) -> bool:
    """Test whether an execution at the sizes of a failure stops with the same rule."""
    run = executor.try_run(module, algorithm, failure.sizes)
    # At some sizes no data exists, and nothing can be run.
    return failure.rule is BAD_SIZE if run is None else isinstance(run, Diagnostic) and run.rule is failure.rule


def _require_satisfiable_facts(algorithm: AlgorithmUnderFacts, facts: tuple[s.Fact, ...]) -> None:
    """Raise ArchlineError (AL483) if facts exclude all values of a size, or contradict each other."""
    scope = declared_scope(algorithm.module, algorithm.node)
    for name, bounds in scope.facts.bounds.items():
        if bounds.minimum is not None and bounds.maximum is not None and bounds.minimum > bounds.maximum:
            span = next((fact.span for fact in reversed(facts) if name in s.find_names(fact)), None)
            message = f"no `{name}` is at least {bounds.minimum} and at most {bounds.maximum}"
            raise error(growth_rules.NO_SIZES, message, span=span)
    for fact in facts:
        if is_refuted(fact, scope):
            message = f"`{format_fact(fact)}` contradicts the other facts about its sizes"
            raise error(growth_rules.NO_SIZES, message, span=fact.span)


def select_facts(algorithm: AlgorithmUnderFacts, where: str | None) -> tuple[s.Fact, ...]:
    """Select the facts of the text `where` whose names are all sizes, indices or machine symbols of an algorithm."""
    if not where:
        return ()
    allowed = {*algorithm.signature.size_names, *algorithm.signature.indices, "Z", "L", "P", "K"}
    return tuple(fact for fact in parse_facts(where, "--where") if s.find_names(fact) <= allowed)
