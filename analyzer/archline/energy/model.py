"""An energy model has formulas of metrics and machine quantities, and answers with time, energy and power."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property

from archline.energy import rules
from archline.energy.formulas import check_units, names_in, parse_formula, require_same_units
from archline.energy.machines import Machine
from archline.energy.quantities import METRICS, QUANTITIES
from archline.energy.units import parse_dimension
from archline.expr.tree import substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import error, suggest_closest
from archline.records import field, record, replace


@record(slots=True)
class Option:
    """A variation of a model, `MODEL+OPTION`: formulas that replace the model's own, or are added to them.

    If it is `at_most`, its energy replaces the model's, and is an upper bound.
    """

    meaning: str
    time: str = ""
    energy: Mapping[str, str] = field(default_factory=dict, hash=False)
    sides: Mapping[str, str] = field(default_factory=dict, hash=False)
    inputs: tuple[str, ...] = ()
    definitions: Mapping[str, str] = field(default_factory=dict, hash=False)
    positive: tuple[str, ...] = ()
    error: str = ""
    accuracy: Fraction | None = None
    convention: str = ""
    completed: Callable[[Model, Machine], Model] | None = field(default=None, compare=False)
    """Builds the model with the formulas that depend on quantities of a machine."""
    without: tuple[str, ...] = ()
    """Options that exclude this one."""
    at_most: bool = False


@record(slots=True)
class Figure:
    """A further number of a report: its formula and unit, and the `source`, the paper's equation for it."""

    formula: str
    unit: str
    source: str


@record
class Model:
    """An energy model.

    `inputs` are the metrics that it takes, `letters` the paper's names for these; `conversions` give metrics that an
    algorithm does not have, and quantities that a machine does not have, from others. `definitions` are named parts of
    formulas; `time` is in seconds, each term of `energy` in joules, and the largest of the `sides` binds. `essential`
    is the answer that a machine must allow: "energy" or "time". `accuracy` is the relative error that the source states
    (`error` has it in words). `coarser` has coarser formulas of some terms, which test how robust a comparison is.
    """

    name: str
    title: str
    source: str
    inputs: tuple[str, ...]
    time: str
    energy: Mapping[str, str] = field(hash=False)
    sides: Mapping[str, str] = field(hash=False)
    error: str
    leaves_out: tuple[str, ...]
    convention: str
    essential: str = "energy"
    accuracy: Fraction | None = None
    positive: tuple[str, ...] = ()
    """Formulas of quantities that have to be above 0."""
    processors: str = ""
    """What the number of processors determines: `span` (by Brent's theorem), a quantity or a metric; empty: nothing."""
    unlimited: bool = False
    """Whether processors are unlimited, so that the time may be shorter than the machine's peak allows."""
    scale: tuple[str, ...] = ()
    """Quantities that time is proportional to and energy independent of: ratios do not need their values."""
    definitions: Mapping[str, str] = field(default_factory=dict, hash=False)
    figures: Mapping[str, Figure] = field(default_factory=dict, hash=False)
    letters: Mapping[str, str] = field(default_factory=dict, hash=False)
    conversions: Mapping[str, str] = field(default_factory=dict, hash=False)
    coarser: Mapping[str, str] = field(default_factory=dict, hash=False)
    options: Mapping[str, Option] = field(default_factory=dict, hash=False)
    levels: tuple[str, ...] = ()
    """The levels of caches in its formulas."""
    completed: Callable[[Model, Machine], Model] | None = field(default=None, compare=False)
    """Adds the formulas that depend on quantities of a machine."""
    at_most: bool = False
    """Whether the energy is only an upper bound."""

    def with_machine_formulas(self, machine: Machine) -> Model:
        """Return the model with the formulas that a machine adds. Raises ArchlineError (AL458)."""
        return self if self.completed is None else self.completed(self, machine).require_units()

    def with_option(self, name: str) -> Model:
        """Return the model with one of its options applied. Raises ArchlineError (AL459) if it does not have it."""
        option = self.options.get(name)
        if option is None:
            hint = suggest_closest(name, self.options)
            options = ", ".join(f"`{self.name}+{option_name}`" for option_name in self.options)
            hint = hint or (f"its options are {options}" if options else "it has no options")
            raise error(rules.UNKNOWN_MODEL, f"model `{self.name}` has no option `{name}`", hint=hint)
        for selected in self.name.split("+")[1:]:
            if selected in option.without or name in self.options[selected].without:
                message = f"model `{self.name}` cannot have the option `{name}` too"
                raise error(rules.UNKNOWN_MODEL, message, hint=f"`{selected}` and `{name}` are alternatives")
        return replace(
            self,
            name=f"{self.name}+{name}",
            time=option.time or self.time,
            energy={**({} if option.at_most else self.energy), **option.energy},
            sides={**self.sides, **option.sides},
            inputs=(*self.inputs, *option.inputs),
            definitions={**self.definitions, **option.definitions},
            positive=(*self.positive, *option.positive),
            error=f"{self.error}; {option.error}" if option.at_most else option.error or self.error,
            leaves_out=tuple(omission for omission in self.leaves_out if f"+{name}`" not in omission),
            accuracy=option.accuracy if option.error and not option.at_most else self.accuracy,
            convention="; ".join(filter(None, (self.convention, option.convention))),
            completed=option.completed or self.completed,
            essential="energy" if option.at_most else self.essential,
            figures={} if option.at_most else self.figures,
            at_most=self.at_most or option.at_most,
        )

    def require_units(self) -> Model:
        """Return the model itself. Raises ArchlineError (AL461, AL462) if the unit of a formula is wrong."""
        expected = {"time": "s", **dict.fromkeys(self.energy, "J"), **{n: f.unit for n, f in self.figures.items()}}
        for name, unit in expected.items():
            check_units(self.formula(name), parse_dimension(unit))
        for name, formula in self.coarser.items():
            check_units(self.expand_formula(formula), parse_dimension(expected[name]))
        for name, formula in self.conversions.items():
            definition = METRICS[name] if name in METRICS else QUANTITIES[name]
            check_units(parse_formula(formula), definition.dimension)
        require_same_units([self.expand_formula(side) for side in self.sides.values()])
        return self

    def formula(self, name: str) -> s.Expr:
        """Return the formula of `time`, of a term of the energy or of a figure, in metrics and quantities."""
        if name == "time":
            return self.expand_formula(self.time)
        return self.expand_formula(self.energy[name] if name in self.energy else self.figures[name].formula)

    def expand_formula(self, text: str) -> s.Expr:
        if text not in self._expansions:
            self._expansions[text] = substitute_names(parse_formula(text), self._definitions)
        return self._expansions[text]

    @cached_property
    def _expansions(self) -> dict[str, s.Expr]:
        return {}

    @cached_property
    def _definitions(self) -> Mapping[str, s.Expr]:
        expansions: dict[str, s.Expr] = {}
        for name, formula in self.definitions.items():
            expansions[name] = substitute_names(parse_formula(formula), expansions)
        expansions["time"] = substitute_names(parse_formula(self.time), expansions)
        expansions["energy"] = substitute_names(parse_formula(self.expression), expansions)
        return expansions

    def answer_formula(self, name: str) -> s.Expr:
        """Return the formula of `energy`, `time`, `power` (at most a power cap), `energy_delay` or `flops_per_joule`.

        Raises ArchlineError (AL458) if the model's energy is only an upper bound.
        """
        texts = {
            "power": "min(energy/time, power_limit)" if "power cap" in self.sides else "energy/time",
            "energy_delay": "energy*time",
            "flops_per_joule": f"{'P*' if self.processors == 'P' else ''}flops/energy",
        }
        if self.at_most and name in {"energy", *texts}:
            message = (
                f"model `{self.name}` gives only an upper bound on the energy, which does not determine the {name}"
            )
            raise error(rules.UNSUITED_MACHINE, message, hint="ask for the time, or use a model of the energy")
        return self.expand_formula(texts.get(name, name))

    @cached_property
    def expression(self) -> str:
        """The energy as a sum, in metrics and quantities."""
        return " + ".join(self.energy.values())

    @cached_property
    def formula_names(self) -> frozenset[str]:
        """The names in the model's formulas of time and energy, and in their conversions."""
        texts = (self.time, self.expression, *self.conversions.values())
        return frozenset().union(*(names_in(self.expand_formula(text)) for text in texts))
