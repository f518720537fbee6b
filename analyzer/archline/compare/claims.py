"""Decide the claims of a file, which compare formulas of costs of algorithms, in sizes and on machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from pathlib import Path

from archline.analysis.checks.failures import find_certain_failure, list_assumed_size_facts
from archline.analysis.cost import Cost
from archline.analysis.sampling import find_constants, list_assumed_facts, list_offsets_rules
from archline.claims.decide import decide_claims
from archline.compare.orders import CostOrder, OrderVerdict, separate_parts
from archline.compare.sizes import Point, SizedCost, Sizes
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.energy.caches import DEFAULT_CACHE, list_level_caches, select_machine_cache
from archline.energy.estimates import ModelOnMachine, choose_default_model
from archline.energy.formulas import names_in
from archline.energy.growth import derive_growth
from archline.energy.machine_files import machine as machine_of
from archline.energy.machine_files import split_variant
from archline.energy.models import find_model as model_of
from archline.energy.optimise.constraints import OBJECTIVE_UNITS
from archline.energy.quantities import METRICS, PER_LEVEL
from archline.energy.rules import UNSUITED_MACHINE
from archline.energy.subjects import AlgorithmSubject, choose_model
from archline.execution.results import Cache
from archline.expr import build as b
from archline.expr.build import ONE, ZERO
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import find_divisions, rewrite_parts, substitute_in_fact, substitute_names
from archline.growth.growths import Growth, GrowthVerdict, combine_verdicts, decide_side
from archline.growth.is_big_o import Proved
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.checking.contracts import list_costs
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.iterations import list_iterations
from archline.language.loader import load_path
from archline.language.metrics import OF_CACHE, ON_MACHINE
from archline.language.model import Module
from archline.language.source import note_read, path_exists
from archline.language.substitution import build_processor_count, express_facts_in_sizes
from archline.records import record, replace

GROWTHS = ("O", "Omega", "Theta")


@dataclass
class ClaimedAlgorithms:
    """The algorithms that the claims of a file name, with their derived costs."""

    module: Module
    _subjects: dict[tuple[str, ...], AlgorithmSubject] = field(default_factory=dict)

    def get_subject(self, name: str, *where: s.Fact) -> AlgorithmSubject:
        """Return the algorithm `name` under further facts `where`. Raises ArchlineError."""
        key = (name, *map(format_fact, where))
        if key not in self._subjects:
            module, node = self.module, self.module.visible[name]
            if name not in module.algorithms:
                module = load_path(Path(node.span.source.path))
            algorithm = AlgorithmUnderFacts(module, module.algorithms[name]).assuming(where)
            self._subjects[key] = AlgorithmSubject(algorithm)
        return self._subjects[key]


@record(eq=False)
class _ClaimSetting:
    """An algorithm at the `sizes` that a claim gives it; `least` has the minimum value of each of its sizes.

    If `limited`, messages have at most K words.
    """

    subject: AlgorithmSubject
    sizes: Mapping[str, s.Expr]
    least: Mapping[str, int]
    limited: bool
    apart: str = ""
    """The prefix of the iterations of loops, which other algorithms in the claim, or other sizes, do not share."""

    @property
    def program(self) -> tuple[Module, s.Algorithm]:
        """The module and the algorithm, under the facts of the claim that hold in all of its calls."""
        return self.subject.algorithm.executed

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the algorithm's sizes and indices, and P if it determines the extents of the grid."""
        signature = self.subject.algorithm.signature
        return (*signature.size_names, *signature.indices, *(("P",) if self.subject.takes_processors else ()))

    @property
    def constants(self) -> frozenset[int]:
        module, node = self.program
        return find_constants(node, *find_reachable(module, node))

    @cached_property
    def values(self) -> Mapping[str, s.Expr]:
        """The expressions that the claim gives to the algorithm's names, and the P of its grid."""
        processors = build_processor_count(self.program[1])
        product = {} if processors is None else {"P": substitute_names(processors, self.sizes)}
        counted = [item.name for item in list_iterations(*self.program)] if self.apart else []
        own = {name: b.name(f"{self.apart}.{name}") for name in counted}
        return {**own, **product, **self.sizes}

    def has_runs(self, point: Point) -> bool:
        """Test whether some run may end at these values of the algorithm's sizes."""
        return find_certain_failure(*self.program, {name: point[name] for name in self.names if name in point}) is None

    def cost(self, metric: str) -> Cost:
        """Return the cost of a metric; an unknown cost if it is not derived."""
        with suppress(KeyError):
            return (self.subject.report.with_longest if self.limited else self.subject.report).cost(metric)
        return Cost(metric, "unknown", None, None, f"it is not derived for `{self.subject.name}`")

    def iterate_facts(self) -> Iterator[s.Fact]:
        """Yield the facts, in the sizes of the claim, that all runs of the algorithm need."""
        (module, node), tree = self.program, self.subject.report.costs.tree
        needed: list[s.Fact] = [
            *express_facts_in_sizes(node),
            *list_assumed_facts(node),
            *list_assumed_size_facts(module, node),
        ]
        needed += [
            b.binary("<=", tree(rule.low), tree(rule.high)) for rule in list_offsets_rules(declared_scope(module, node))
        ]
        needed += [b.binary(">=", b.name(name), b.number(least)) for name, least in self.least.items()]
        names = {*self.names, *MACHINE_SYMBOLS}
        for fact in needed:
            if s.find_names(fact) <= names and not any(isinstance(node, s.Element) for node in s.iterate_nodes(fact)):
                yield substitute_in_fact(fact, self.values)
        for part in (part for value in self.sizes.values() for part in find_divisions(value)):
            if isinstance(part, s.Binary) and part.op == "/":
                yield s.Divides(part.right, part.left, span=part.span)


@dataclass
class ClaimOfCosts:
    """A claim that compares costs; `amounts` are the costs in its formulas, `constants` the numbers of a machine.

    `known` are the algorithms, `more` are further facts. With `joint`, iterations of the same name count the same loop
    in all algorithms. `assumed` are assumptions of the verdict that are neither facts of the claim nor of the
    algorithms, `proofs` are the proofs of a growth claim.
    """

    claim: s.Claim
    known: ClaimedAlgorithms
    more: tuple[s.Fact, ...] = ()
    joint: bool = False
    amounts: dict[str, SizedCost] = field(default_factory=dict)
    constants: dict[str, Fraction] = field(default_factory=dict)
    of_amounts: dict[str, tuple[_ClaimSetting, str]] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)
    proofs: tuple[Proved, ...] = ()

    def decide(self) -> OrderVerdict:
        """Decide the claim; unknown if the machine lacks quantities. Raises ArchlineError for unknown machines."""
        try:
            sides = self.build_formula(self.claim.left), self.build_formula(self.claim.right)
        except ArchlineError as problem:
            if problem.diagnostics[0].rule is UNSUITED_MACHINE:
                return OrderVerdict("unknown", problem.diagnostics[0].message)
            raise
        (left, right), parts = separate_parts(sides, self.amounts.keys() | self.constants.keys())
        try:
            sizes = self.build_sizes()
        except ArchlineError as problem:
            return OrderVerdict("unknown", problem.diagnostics[0].message)
        values = {**parts, **self.constants}
        order = CostOrder(left, self.claim.relation, right, self.amounts, values, sizes, self._derive_units())
        verdict = self._decide_growth(order, parts) if self.claim.relation in GROWTHS else order.decide()
        return self._reject_unreached_refutation(verdict)

    def _reject_unreached_refutation(self, verdict: OrderVerdict) -> OrderVerdict:
        """Replace the verdict `fails` by `unknown` if a cost depends on loop iterations that the claim leaves free."""
        named = s.find_names((self.claim.left, self.claim.right, *self.facts))
        for text, (setting, _) in self.of_amounts.items():
            cost = self.amounts[text].cost
            names = {name for bound in (cost.lower, cost.upper) if bound is not None for name in bound.names}
            for item in list_iterations(*setting.program):
                if (
                    verdict.outcome == "fails"
                    and item.name in names
                    and not {item.name} & (named | setting.sizes.keys())
                ):
                    reason = f"{text} depends on {item.name}, {item.described}, which nothing bounds in the sizes"
                    return OrderVerdict("unknown", reason, bounds=verdict.bounds)
        return verdict

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """The facts about sizes that the claim states."""
        at = (b.binary("==", b.name(name), value) for name, value in self.claim.at)
        return (*self.claim.where, *at, *self.more)

    @cached_property
    def settings(self) -> dict[str, _ClaimSetting]:
        """The algorithm with its sizes for each cost of the claim, by the text between the brackets of the cost."""
        return {_format_arguments(cost): self._make_setting(cost) for cost in list_costs(self.claim)}

    def _make_setting(self, cost: s.Call) -> _ClaimSetting:
        """Return the algorithm of a cost, under the facts of the claim about names that the cost sets no values for."""
        (name,) = cost.arguments
        assert isinstance(name, s.Name)
        sizes = dict(cost.sizes)
        subject, limited = self.known.get_subject(name.id), "K" in sizes or "K" in s.find_names((*self.facts, cost))
        unnarrowed = _ClaimSetting(
            subject, sizes, subject.algorithm.signature.at_least, limited, self._choose_iteration_prefix(subject, cost)
        )
        names = {*unnarrowed.names, *MACHINE_SYMBOLS} - sizes.keys()
        facts = [fact for fact in self.claim.where if s.find_names(fact) <= names]
        with suppress(ArchlineError):
            # If the facts exclude all sizes, or all sizes with runs, the algorithm has no cost under them.
            narrowed = self.known.get_subject(name.id, *facts)
            return replace(unnarrowed, subject=narrowed) if narrowed.report else unnarrowed
        return unnarrowed

    @cached_property
    def _runs(self) -> dict[tuple[object, ...], s.Call]:
        """The runs whose costs the claim names: by the algorithm and its sizes, without those of the cache."""
        return {_find_run(cost): cost for cost in reversed(list_costs(self.claim))}

    def _choose_iteration_prefix(self, subject: AlgorithmSubject, cost: s.Call) -> str:
        """Return a prefix that distinguishes the loop iterations of a run from those of other runs in the claim.

        It is empty if the claim names the iterations: all runs then share them, which is added to the assumptions.
        """
        places = {item.name: item for item in list_iterations(*subject.algorithm.executed)}
        if self.joint or not places or len(self._runs) < 2:
            return ""
        claim = self.claim
        named = s.find_names((claim.left, claim.right, claim.where)) | {name for name, _ in claim.at}
        for name in sorted(named & places.keys() - dict(cost.sizes).keys()):
            runs = [run for run in self._runs.values() if name in self._list_free_names(run)]
            texts = [_format_arguments(run) for run in reversed(runs)]
            if len(texts) > 1:
                self.assumed[f"as many iterations {name} in {' as in '.join(texts)}"] = None
        if named & places.keys():
            return ""
        same = [run for run in reversed(self._runs) if run[0] == subject.name]
        number = same.index(_find_run(cost)) + 1
        return subject.name if number == 1 else f"{subject.name}_{number}"

    def _list_free_names(self, cost: s.Call) -> set[str]:
        """Return the iterations and the sizes of a run that its cost sets no values for."""
        (name,) = cost.arguments
        assert isinstance(name, s.Name)
        algorithm = self.known.get_subject(name.id).algorithm
        counted = (item.name for item in list_iterations(*algorithm.executed))
        return {*counted, *algorithm.signature.size_names} - dict(cost.sizes).keys()

    def _derive_units(self) -> tuple[str, str]:
        """Return the units of both sides, empty if unknown; a side without costs has the unit of the opposite side."""
        left, right = (_derive_unit(side, list_costs(self.claim)) for side in (self.claim.left, self.claim.right))
        return (left if left is not None else right) or "", (right if right is not None else left) or ""

    # Formulas
    def build_formula(self, side: s.Expr) -> s.Expr:
        """Replace the costs in a side by names of amounts, and those on a machine by formulas of the model."""
        costs = list_costs(self.claim)

        def replace_cost(part: s.Expr) -> s.Expr | None:
            if not isinstance(part, s.Call) or part not in costs:
                return None
            return (
                self._build_machine_formula(part)
                if part.function in ON_MACHINE
                else self._name_amount(part.function, part)
            )

        return rewrite_parts(side, replace_cost)

    def _name_amount(self, metric: str, cost: s.Call) -> s.Name:
        """Return the name of the amount of a metric, of the algorithm and the sizes in a cost; add it to `amounts`."""
        text, setting = f"{metric}({_format_arguments(cost)})", self.settings[_format_arguments(cost)]
        if text not in self.amounts:
            self.of_amounts[text] = setting, metric
            self.assumed |= dict.fromkeys(f"{need} (`{setting.subject.name}`)" for need in setting.subject.needed)
            self.amounts[text] = SizedCost(text, setting.cost(metric), setting.values, setting.has_runs)
        return s.Name(text, span=cost.span)

    def _build_machine_formula(self, cost: s.Call) -> s.Expr:
        """Return the model's formula for energy, time, power or energy-delay in amounts. Raises ArchlineError."""
        on, setting = self.claim.on, self.settings[_format_arguments(cost)]
        assert on is not None
        try:
            machine = machine_of(self._resolve_machine(on.machine))
            named_model = None if on.model is None else model_of(on.model)
            functions = {machine_cost.function for machine_cost in list_costs(self.claim)}.intersection(ON_MACHINE)
            asked = cost.function if len(functions) == 1 else "energy_delay"
            usual = choose_default_model([machine], at_sizes=self._uses_machine_cache, asked=asked)
            model = choose_model(setting.subject, named_model, usual).with_machine_formulas(machine)
            applied = ModelOnMachine(model, machine, frozenset({*setting.subject.metrics, *PER_LEVEL, "Z", "L"}))
            applied.require_inputs()
            formula = applied.answer_formula(cost.function)
        except ArchlineError as problem:
            diagnostics = (Diagnostic(d.rule, d.message, on.span, hint=d.hint) for d in problem.diagnostics)
            raise ArchlineError(tuple(diagnostics)) from None
        if named_model is None:
            unlimited = "; its time assumes unlimited cores" if model.unlimited and cost.function != "energy" else ""
            self.assumed[f"model {model.name} (the claim names none{unlimited})"] = None
        names = names_in(formula)
        constants = {name: interval.lower for name, interval in applied.constants.items() if name in names}
        self.constants |= {f"machine {name}": value for name, value in constants.items()}
        values: dict[str, s.Expr] = {name: s.Name(f"machine {name}", span=on.span) for name in constants}
        caches = dict(list_level_caches(machine)) if model.levels else {}
        for name in sorted(names & METRICS.keys() - {"Z", "L"}):
            level, metric = PER_LEVEL.get(name, ("", name))
            cache = caches.get(level) or (select_machine_cache(machine) if caches and metric in OF_CACHE else None)
            values[name] = self._name_amount(metric, cost if cache is None else self._with_cache(cost, cache))
        return substitute_names(
            formula, {**values, **{name: setting.sizes[name] for name in "ZL" if name in setting.sizes}}
        )

    def _with_cache(self, cost: s.Call, cache: Cache) -> s.Call:
        """Return a cost with the Z and L of a cache among its sizes; add its setting."""
        words = (("Z", s.Integer(cache.Z, span=cost.span)), ("L", s.Integer(cache.L, span=cost.span)))
        cached_cost = replace(cost, sizes=(*(pair for pair in cost.sizes if pair[0] not in ("Z", "L")), *words))
        self.settings[_format_arguments(cached_cost)] = self._make_setting(cached_cost)
        return cached_cost

    def _resolve_machine(self, machine: str) -> str:
        """Return the name of a machine, or its path: next to the claim's file if it exists there, else as given."""
        near = Path(self.claim.span.source.path).parent / machine
        if not split_variant(machine)[0].endswith(".toml"):
            return machine
        if path_exists(Path(split_variant(str(near))[0])):
            return str(near)
        note_read(near, None)
        return machine

    # Growth
    def _decide_growth(self, order: CostOrder, parts: Mapping[str, s.Expr]) -> OrderVerdict:
        """Decide a claim on O, Omega or Theta by the growth of both sides, or as an `ensures` if a side is one cost."""
        growths = {name: self._derive_growth(name) for name in self.amounts}
        growths |= {name: Growth(part, part) for name, part in parts.items()}
        factors = {name: ONE if value else ZERO for name, value in self.constants.items()}
        left, right = (
            derive_growth(substitute_names(formula, factors), growths) for formula in (order.left, order.right)
        )
        required = (fact for setting in self.settings.values() for fact in setting.iterate_facts())
        facts = tuple(dict.fromkeys((*required, *self.facts)))
        verdicts: dict[str, GrowthVerdict] = {}
        for side, opposite in (("O", "Omega"), ("Omega", "O")):
            if self.claim.relation in (side, "Theta"):
                halves = chain(
                    [decide_side(side, left, right, facts)],
                    self._decide_as_ensures(side, order.left, right, facts),
                    self._decide_as_ensures(opposite, order.right, left, facts),
                )
                first = next(halves)
                verdict = next((half for half in (first, *halves) if half.outcome != "unknown"), first)
                if verdict.outcome == "fails":
                    verdict = replace(verdict, reason=order.explain_refutation(side, verdict.refuted) or verdict.reason)
                elif verdict.outcome == "holds" and (zero := order.describe_vanishing_costs(side)):
                    verdict = GrowthVerdict("fails", zero)
                verdicts[side] = verdict
        whole = combine_verdicts(verdicts)
        self.proofs = whole.proofs
        is_shown = whole.outcome != "holds" and left.text and right.text
        return OrderVerdict(whole.outcome, whole.reason, bounds=f"{left.text} against {right.text}" if is_shown else "")

    def _decide_as_ensures(
        self, side: str, cost: s.Expr, growth: Growth, facts: tuple[s.Fact, ...]
    ) -> Iterator[GrowthVerdict]:
        """Yield verdicts on `cost` is O (or Omega) of a growth, decided as an `ensures` of the cost's algorithm.

        Nothing if `cost` is not a single cost, or if that does not decide it.
        """
        if not isinstance(cost, s.Name) or cost.id not in self.of_amounts:
            return
        setting, metric = self.of_amounts[cost.id]
        names = {*setting.names, *MACHINE_SYMBOLS}
        when = tuple(fact for fact in facts if s.find_names(fact) <= names)
        needed, facing = (growth.lower, growth.upper) if side == "O" else (growth.upper, growth.lower)
        for bound, outcome in ((needed, "holds"), (facing, "fails")):
            if bound is not None and not setting.sizes and s.find_names(bound) <= names:
                ensures = s.Ensures(metric, None, side, bound, when, span=self.claim.span)
                costs = setting.subject.report.including(metric).costs
                (verdict,) = decide_claims(
                    *setting.program, costs, [ensures], list_assumed_size_facts(*setting.program)
                )
                if verdict.outcome == outcome:
                    yield GrowthVerdict(verdict.outcome, verdict.reason, verdict.proofs)

    def _derive_growth(self, name: str) -> Growth:
        """Return the growth of a cost in the sizes of the claim; unknown if its conditions are not implied."""
        setting, metric = self.of_amounts[name]
        in_sizes = setting.subject.express_in_sizes(everywhere=True)
        growth = in_sizes.growth(metric)
        if any(fact not in in_sizes.where for fact in growth.facts):
            return Growth(None, None)
        lower, upper = (bound and substitute_names(bound, setting.values) for bound in (growth.lower, growth.upper))
        return Growth(lower, upper)

    # Sizes
    @property
    def _claimed_names(self) -> set[str]:
        """The sizes and machine symbols that occur in the claim."""
        settings = self.settings.values()
        names = {name for setting in settings for name in setting.names if name not in setting.values}
        names |= s.find_names(tuple(value for setting in settings for value in setting.sizes.values()))
        names |= s.find_names(self.claim.where) | {name for name, _ in self.claim.at}
        return names | s.find_names((self.claim.left, self.claim.right)) & {*MACHINE_SYMBOLS}

    def _record_assumptions(self, held: set[str]) -> None:
        """Add the further facts about the names `held` to the assumptions of the verdict."""
        stated = {format_fact(fact) for fact in self.claim.where}
        texts = (format_fact(fact) for fact in self.more if s.find_names(fact) <= held)
        self.assumed |= dict.fromkeys(text for text in texts if text not in stated)

    def build_sizes(self) -> Sizes:
        """Return the sizes of the claim, with the facts that all its costs need. Raises ArchlineError."""
        settings, held = self.settings.values(), self._claimed_names
        facts = [fact for setting in settings for fact in setting.iterate_facts()]
        for amount in self.amounts.values():
            bounds = (bound for bound in (amount.cost.lower, amount.cost.upper) if bound is not None)
            free = frozenset(("Z", "L") if amount.cost.metric in OF_CACHE else ()).union(*(x.names for x in bounds))
            own = {
                name for name in free & amount.sizes.keys() for name in s.find_names(amount.sizes[name]) if "." in name
            }
            symbols = (free - amount.sizes.keys() | own) - held
            facts += b.lower_bound_facts(sorted(symbols - {*MACHINE_SYMBOLS}), 0)
            held |= symbols
        if "P" in held:
            grids = (setting.values["P"] for setting in settings if "P" in setting.values)
            facts += [
                *(b.binary("==", b.name("P"), processors) for processors in grids),
                *b.lower_bound_facts(["P"], 1),
            ]
        if held >= {"Z", "L"}:
            facts += [b.binary(">=", b.name("Z"), b.name("L")), *self._iterate_cache_facts()]
        self._record_assumptions(held)
        ordered = dict.fromkeys(name for setting in settings for name in setting.names if name in held)
        names = [name for name in (*ordered, *sorted(held)) if name not in MACHINE_SYMBOLS]
        names += [name for name in ("P", "K", "L", "Z") if name in held]
        signed = {name for setting in settings for name in setting.subject.algorithm.signature.indices}
        set_names = {name for setting in settings for name in setting.sizes}
        sizes = Sizes.of(
            names, signed - set_names, (*facts, *(fact for fact in self.facts if s.find_names(fact) <= held))
        )
        return replace(sizes, constants=find_constants(self.claim).union(*(setting.constants for setting in settings)))

    @property
    def _uses_machine_cache(self) -> bool:
        """Whether the claim is about the caches of its machine: it has one, no Z or L, and is not about growth."""
        sides = s.find_names((*self.facts, self.claim.left, self.claim.right))
        named = sides.union(*(dict(cost.sizes) for cost in list_costs(self.claim)))
        return self.claim.on is not None and self.claim.relation not in GROWTHS and not {"Z", "L"} & named

    def _iterate_cache_facts(self) -> Iterator[s.Fact]:
        """Yield facts that set Z and L to the cache of the claim's machine, if the claim names no cache.

        If the machine has no cache, the default cache is used, but only for claims at given sizes.
        """
        if self.claim.on is None or not self._uses_machine_cache:
            return
        machine_cache = select_machine_cache(machine_of(self._resolve_machine(self.claim.on.machine)))
        if machine_cache is not None or self.claim.at:
            cache, whose = machine_cache or DEFAULT_CACHE, ", the machine's" if machine_cache is not None else ""
            self.assumed[f"Z = {cache.Z}, L = {cache.L}{whose}, as the claim names no cache"] = None
            for name, words in (("Z", cache.Z), ("L", cache.L)):
                yield b.binary("==", b.name(name), b.number(words))


def _derive_unit(side: s.Expr, costs: Sequence[s.Call]) -> str | None:
    """Return the unit of a cost, or of sums or multiples of costs of one unit; else empty; None without a cost."""
    match side:
        case s.Call() if side in costs:
            return OBJECTIVE_UNITS.get(side.function, "")
        case s.Unary():
            return _derive_unit(side.operand, costs)
        case s.Binary(op="+" | "-" | "*" | "/"):
            left, right = _derive_unit(side.left, costs), _derive_unit(side.right, costs)
            if right is None or (left == right and side.op in "+-"):
                return left
            return right if left is None and side.op != "/" else ""
        case _:
            return "" if any(part in costs for part in s.iterate_nodes(side)) else None


def _find_run(cost: s.Call) -> tuple[object, ...]:
    """Return the algorithm and the sizes of a cost, without those of the cache, as a key."""
    (name,) = cost.arguments
    assert isinstance(name, s.Name)
    return name.id, *sorted((size, format_expression(value)) for size, value in cost.sizes if size not in ("Z", "L"))


def _format_arguments(cost: s.Call) -> str:
    """Return the text between the brackets of a cost."""
    return format_expression(replace(cost, function=""))[1:-1]
