"""Modules and their algorithms, as Python sees them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import io_cost
from archline.analysis.checks.failures import (
    endless_recursion,
    misplaced_accesses,
    passed_bounds,
    refusal,
    reported,
    side_conditions,
)
from archline.analysis.checks.races import certain_races
from archline.analysis.communication.derive import LONGEST
from archline.analysis.cost import Cost, Costs
from archline.api import rules
from archline.api.costs import CostReport
from archline.api.running import USUAL, Run, run, run_at
from archline.api.settings import unplaced
from archline.compare.trials import COST_GRID, Messages, checked
from archline.execution.results import TIMEOUT
from archline.execution.run import tried
from archline.growth import rules as growth_rules
from archline.ir.declarations import declared
from archline.ir.recursive import inherited
from archline.language import model
from archline.language import syntax as s
from archline.language.checking.scopes import machine_symbols
from archline.language.conditions import BAD_SIZE
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.extra_facts import with_where
from archline.language.loader import load_target
from archline.language.parser import parse_facts
from archline.language.syntax_rules import NO_ALGORITHM
from archline.records import record, replace
from archline.report.communication import ProblemBounds
from archline.report.documents import Document, WithPage
from archline.report.library import declaration

if TYPE_CHECKING:
    from archline.analysis.checks.runs import Failure
    from archline.execution.results import Cache


MAX_KNOWN = 256
MAX_CONFIRMED = 3
"""So many of the smallest sizes of a certain failure are executed to confirm it."""


@record(eq=False)
class Added:
    """Facts that are added to an algorithm as it stands in its file: they are about the outermost call."""

    module: model.Module
    node: s.Algorithm
    facts: tuple[s.Fact, ...] = ()

    @cached_property
    def inherited(self) -> tuple[s.Fact, ...]:
        """Those that hold in all calls that it makes of itself."""
        return inherited(self.module, self.node, self.facts) if self.facts else ()

    @cached_property
    def derived(self) -> tuple[model.Module, s.Algorithm]:
        """What costs are derived from: the algorithm under those facts."""
        return with_where(self.module, self.node, self.inherited)

    @cached_property
    def of_sizes(self) -> tuple[model.Module, s.Algorithm]:
        """The same for flops, work and span, of which facts of the machine alone say nothing; P is a size of a grid."""
        symbols = set(machine_symbols(self.module.signatures[self.node])) - ({"P"} if self.node.grid else set())
        own = tuple(fact for fact in self.inherited if not s.names(fact) <= symbols)
        return self.derived if own == self.inherited else with_where(self.module, self.node, own)

    @cached_property
    def costs(self) -> Costs:
        """Flops, work and span under those facts; what is not found then is that without them."""
        found = derive(*self.of_sizes)
        if not self.inherited or all(cost.upper is not None for cost in found):
            return found
        plain = derive(self.module, self.node)
        metrics = {**found.metrics, **_known(found.metrics, plain.metrics)}
        kinds = {**found.flops_by_kind, **_known(found.flops_by_kind, plain.flops_by_kind)}
        return replace(found, metrics=metrics, flops_by_kind=kinds)

    @cached_property
    def io(self) -> Cost:
        """Io under those facts, or without them likewise."""
        found = io_cost(*self.derived)
        return io_cost(self.module, self.node) if self.inherited and found.upper is None else found


def _known(costs: Mapping[str, Cost], others: Mapping[str, Cost]) -> dict[str, Cost]:
    """Of the costs that are unknown the others."""
    return {name: others[name] for name, cost in costs.items() if cost.upper is None and name in others}


class Algorithm(WithPage):
    """One algorithm of a checked module."""

    def __init__(self, module: model.Module, node: s.Algorithm, added: Added | None = None) -> None:
        self._module = module
        self._node = node
        self._added = added or Added(module, node)

    @property
    def name(self) -> str:
        """Its name."""
        return self._node.name

    @property
    def doc(self) -> str | None:
        """Its docstring."""
        return self._node.doc

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return tuple(parameter.name for parameter in self._node.parameters)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of its sizes, in order."""
        return self.signature.size_names

    @property
    def signature(self) -> model.Signature:
        """How sizes are bound, and their least values."""
        return self._module.signatures[self._node]

    @property
    def node(self) -> s.Algorithm:
        """Its syntax tree."""
        return self._node

    @property
    def module(self) -> model.Module:
        """The checked module it is part of."""
        return self._module

    def assuming(self, where: str | None, *, fitting: bool = False) -> Algorithm:
        """The algorithm under further facts, such as `"nz >= n, n is power of 2"`. Raises ArchlineError.

        With `fitting`, those about other sizes than the algorithm's are left out.
        """
        if not where:
            return self
        before, facts = self._added, parse_facts(where, "where")
        if fitting:
            # On a grid P is the number of processors.
            own = {*self.sizes, *(["P"] if self._node.grid else [])}
            facts = tuple(fact for fact in facts if s.names(fact) <= own)
        added = Added(before.module, before.node, (*before.facts, *facts))
        narrowed = Algorithm(*with_where(self._module, self._node, facts), added)
        _require_sizes(narrowed, facts)
        return narrowed

    @property
    def executed(self) -> tuple[model.Module, s.Algorithm]:
        """What is run: under the facts that hold in all of its calls."""
        return self._added.derived

    @property
    def further_facts(self) -> tuple[s.Fact, ...]:
        """The facts that it was given besides those of its own."""
        return self._added.facts

    @property
    def of_first_call(self) -> tuple[s.Fact, ...]:
        """The facts that are known of the outermost call only."""
        return tuple(fact for fact in self._added.facts if fact not in self._added.inherited)

    def cost(self, where: str | None = None, *, problem: str | None = None) -> CostReport:
        """Its derived flops, work and span; on a grid words, messages and memory too.

        `problem` names the problem that an algorithm on a grid solves, such as `"matmul(n, n, n)"`, for lower bounds on
        its communication; that of algorithms of the library is known.

        Raises ArchlineError for a `where` that is not facts in its sizes, and for what certainly fails: a race
        (AL301), recursion that does not end (AL302), an access outside an array (AL303), an argument of another
        shape (AL232), a message that is lost or waited for in vain on up to COST_GRID processors (AL531 to AL535).
        A program with one has no cost.
        """
        subject = self.assuming(where)
        found = subject.messages(COST_GRID)
        if found is not None and found.failure is not None:
            raise ArchlineError([found.failure])
        return subject.report(problem=problem)

    def messages(self, most: int) -> Messages | None:
        """What runs on grids of up to so many processors show of its messages; None where it sends none."""
        return checked(*self.executed, most)

    def report(self, where: str | None = None, *, problem: str | None = None) -> CostReport:
        """Its `cost`, without the runs that look for lost messages."""
        subject = self.assuming(where)
        subject._refuse_certain_failures()
        added = subject._added
        found = CostReport(
            subject.module,
            subject.node,
            added.costs,
            lambda: added.io,
            subject.of_first_call,
            ProblemBounds.of(*subject.executed, problem),
            side_conditions(*subject.executed),
            partial(refusal, *subject.executed),
            subject.executed,
        )
        limited = any(LONGEST.names & s.names(fact) for fact in subject.node.where)
        return found.with_longest if limited else found

    def _refuse_certain_failures(self) -> None:
        failures = _certain_failures(*self._added.derived)
        if failures:
            raise ArchlineError(failures)

    def run(
        self,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        cache: Cache | None = None,
        compiled: bool | None = None,
        seed: int = 0,
        engine: str = "simulated",
        timeout: float = TIMEOUT,
        **arguments: Any,
    ) -> Run:
        """Run it on data: numpy arrays (or nested lists) and numbers by parameter name; the arrays stay as they are.

        Where only sizes are given (`n=64`), the data is generated from `seed`. `given` takes arguments whose names
        are not free here, such as a parameter called `cache`. io and write-backs are counted where a cache is given.
        `compiled` forces or forbids compilation.

        Algorithms on a grid run on simulated processors, or with `engine="mpi"` on ranks of MPI, which are started here
        unless this process is one; after waiting for `timeout` seconds a rank makes sure that not all wait.

        Raises ArchlineError for wrong arguments, for what certainly fails, as `cost` does, and for what goes wrong in
        the run (a race, a subscript out of bounds, a broken fact, a deadlock).
        """
        self._refuse_certain_failures()
        values = {**(given or {}), **arguments}
        settings = replace(USUAL, seed=seed, compiled=compiled, engine=engine, timeout=timeout)
        if self._gives_only_sizes(values):
            return run_at(self, unplaced(values), cache, settings)
        return run(self, values, cache, settings)

    def _gives_only_sizes(self, values: Mapping[str, Any]) -> bool:
        """Whether sizes are given, and none of the data that the algorithm takes."""
        sizes = {*self.sizes, *self.signature.indices}
        data = {*self.parameters} - sizes
        if self.node.grid:
            sizes.add("P")
        return bool(data and sizes & values.keys() and not data & values.keys())

    def __repr__(self) -> str:
        return f"<archline algorithm {self.name}({', '.join(self.parameters)})>"

    @property
    def page(self) -> Document:
        """What notebooks show."""
        return declaration(self._node, self.signature)


@lru_cache(maxsize=MAX_KNOWN)
def _certain_failures(module: model.Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """What is wrong with an algorithm whatever the data."""
    endless = endless_recursion(module, algorithm)
    if endless is not None:
        return (endless,)
    kinds = misplaced_accesses(module, algorithm), passed_bounds(module, algorithm)
    failures = chain.from_iterable(islice(kind, MAX_CONFIRMED) for kind in kinds)
    failure = next((each for each in failures if _confirmed(module, algorithm, each)), None)
    return certain_races(module, algorithm) if failure is None else (reported(failure),)


def _confirmed(module: model.Module, algorithm: s.Algorithm, failure: Failure) -> bool:
    """Whether an execution at the sizes of a failure stops there."""
    found = tried(module, algorithm, failure.sizes)
    # There is no data of some sizes.
    return failure.rule is BAD_SIZE if found is None else isinstance(found, Diagnostic) and found.rule is failure.rule


def _require_sizes(algorithm: Algorithm, facts: tuple[s.Fact, ...]) -> None:
    """Raise ArchlineError (AL483) where one size is bounded by numbers that leave none."""
    for name, bounds in declared(algorithm.module, algorithm.node).facts.bounds.items():
        if bounds.least is not None and bounds.most is not None and bounds.least > bounds.most:
            span = next((fact.span for fact in reversed(facts) if name in s.names(fact)), None)
            message = f"no `{name}` is at least {bounds.least} and at most {bounds.most}"
            raise error(growth_rules.NO_SIZES, message, span=span)


def algorithm(target: str) -> Algorithm:
    """The algorithm that a target names: `dense.matmul::matmul_basic`, or the only one of a file.

    Raises ArchlineError (AL109 where there is none, AL410 where several would do).
    """
    found = algorithms(target)
    if len(found) != 1:
        shown = ", ".join(f"`{target}::{each.name}`" for each in found[:12])
        message = f"`{target}` defines {len(found)} algorithms"
        raise error(rules.WHICH_ALGORITHM, message, path=target, hint=f"say which: {shown}")
    return found[0]


def algorithms(target: str, where: str | None = None) -> tuple[Algorithm, ...]:
    """The algorithm a target names, or all of its file, under further facts.

    Raises ArchlineError (AL109 where there is none).
    """
    module, node = load_target(target)
    nodes = module.algorithms.values() if node is None else [node]
    if not nodes:
        hint = "`archline check` decides its claims"
        raise error(NO_ALGORITHM, f"`{target}` has no algorithm", path=target, hint=hint)
    return tuple(Algorithm(module, each).assuming(where) for each in nodes)
