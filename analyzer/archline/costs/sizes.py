"""Read and check the values that `--at`, `--cache` or keyword arguments give to sizes, and make a point of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from numbers import Integral
from typing import TypeAlias

from archline.costs import rules
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import Span, iterate_defined_sizes
from archline.expr.values import evaluate, evaluate_fact, find_sizes_given_by_facts
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, suggest_closest
from archline.language.iterations import list_iterations
from archline.language.model import Module
from archline.language.parser import parse_settings
from archline.numbers import format_readable
from archline.records import field, record

Point = dict[str, Number]
Given: TypeAlias = Mapping[str, tuple[object, Span | None]]
"""Values by name, each with its place on the command line, if it has one."""


def convert_python_values(values: Mapping[str, object]) -> Given:
    """Convert values from Python code."""
    return {name: (value, None) for name, value in values.items()}


def merge_sizes(sizes: Mapping[str, object] | str | None, named: Mapping[str, object]) -> Given | None:
    """Merge sizes from a mapping, or a text, and from keywords, which take precedence; None if neither gives any."""
    if isinstance(sizes, str):
        return {**read_settings(sizes, "at"), **convert_python_values(named)}
    return None if sizes is None and not named else convert_python_values({**(sizes or {}), **named})


@record
class SizeNames:
    """The names that may have values: sizes with their minimum values, indices (any sign), cost symbols (>= 0).

    A point must have the `needed` names; machine symbols are always allowed. `iterations` are the sizes that a run
    counts, with their minimum values; `numbers` are scalar parameters, which a run alone takes.
    """

    sizes: Mapping[str, int]
    indices: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    iterations: Mapping[str, int] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()

    @staticmethod
    def of(module: Module, algorithm: s.Algorithm, free: Iterable[str] = ()) -> SizeNames:
        """Collect the names of an algorithm; `free` are names in its costs that also need values."""
        signature = module.signatures[algorithm]
        sizes = {name: signature.at_least.get(name, 1) for name in signature.size_names}
        amounts = tuple(find_cost_symbols(module.externs.values()))
        held = set(free)
        iterations = {counted.name: counted.least for counted in list_iterations(module, algorithm)}
        further = [name for name in (*iterations, *signature.indices, *amounts) if name in held]
        return SizeNames(sizes, signature.indices, amounts, (*sizes, *further), iterations, _list_numbers(algorithm))

    @property
    def run_input_names(self) -> tuple[str, ...]:
        """The names of the values that a run takes."""
        return (*self.data_names, *self.numbers)

    @property
    def all(self) -> tuple[str, ...]:
        """Every name that may be given a value."""
        return tuple(dict.fromkeys((*self.sizes, *self.iterations, *self.indices, *self.amounts, *MACHINE_SYMBOLS)))

    @property
    def data_names(self) -> tuple[str, ...]:
        """The names for which data is generated: indices too, even if costs do not contain them."""
        return (*self.sizes, *self.indices, *(name for name in self.needed if name in self.amounts))

    @property
    def counted_iterations(self) -> tuple[str, ...]:
        """The names that a run counts, and whose values costs need: iterations of loops without a bound."""
        return tuple(name for name in self.iterations if name in self.needed)

    def get_minimum(self, name: str) -> int | None:
        """Return the minimum value of a name; None if any integer is allowed."""
        if name in self.sizes:
            return self.sizes[name]
        if name in self.iterations:
            return self.iterations[name]
        if name in self.indices:
            return None
        return 0 if name in self.amounts else 1


def _list_numbers(algorithm: s.Algorithm) -> tuple[str, ...]:
    """Return the scalar parameters whose values are data."""
    scalars = (part for part in algorithm.parameters if isinstance(part.type, s.ScalarType))
    return tuple(part.name for part in scalars if part.mode != "out" and not part.local)


def read_settings(text: str, option: str) -> dict[str, tuple[Number, Span]]:
    """Parse names and exact values, as `n=64,m=p=2^20`. Raises ArchlineError (AL101, AL403, AL404)."""
    result: dict[str, tuple[Number, Span]] = {}
    problems: list[Diagnostic] = []
    for name, expr, span in parse_settings(text, option):
        if name in result:
            first, second = result[name][0], _evaluate_number(name, expr, [])
            values = "" if first == second else f", `{name}={_format_value(first)}` or `{name}={_format_value(second)}`"
            hint = f"give `{name}` once{values}"
            problems.append(Diagnostic(rules.REPEATED_SIZE, f"`{name}` is given twice", span, hint=hint))
            continue
        value = _evaluate_number(name, expr, problems)
        result[name] = (value, span)
    if problems:
        raise ArchlineError(problems)
    return result


def read_sizes(text: str, option: str = "--at") -> dict[str, int]:
    """Parse names and integers, as `n=64,m=2^20`. Raises ArchlineError as `read_settings` does, and AL405."""
    result: dict[str, int] = {}
    for name, (value, span) in read_settings(text, option).items():
        if value != int(value):
            raise error(rules.NOT_AN_INTEGER, f"the value of `{name}` is not an integer", span=span)
        result[name] = int(value)
    return result


def parse_share(text: str) -> Fraction:
    """Parse a share, as `2%` or `0.02`; without `%` it must be below 1. Raises ArchlineError (AL404)."""
    number = text.strip().removesuffix("%")
    if not re.fullmatch(r"[0-9]+([./][0-9]+)?", number) or "/0" in number:
        raise error(rules.NOT_A_NUMBER, f"`{text[:40]}` is not a share", hint="write it as 2% or 0.02")
    share = Fraction(number) / (100 if text.strip().endswith("%") else 1)
    if share >= 1 and not text.strip().endswith("%"):
        raise error(
            rules.NOT_A_NUMBER, f"`{text[:40]}` is not a share below 1", hint=f"write {number}% or a share, as 0.02"
        )
    return share


def _evaluate_number(name: str, expr: s.Expr, problems: list[Diagnostic]) -> Number:
    """Evaluate the value of a name; add a diagnostic to `problems` and return 1 if it has no exact value."""
    try:
        value = evaluate(expr, {})
    except EvaluationError as problem:
        culprit = problem.expr if problem.expr is not None else expr
        reason = f"`{culprit.id}` is a name" if isinstance(culprit, s.Name) else str(problem)
        message = f"the value of `{name}` is not a number: {reason}"
        hint = "write it with constants, such as 64 or 2^20"
        problems.append(Diagnostic(rules.NOT_A_NUMBER, message, culprit.span, hint=hint))
        return 1
    if isinstance(value, Interval):
        message = f"the value of `{name}` is irrational"
        problems.append(Diagnostic(rules.NOT_AN_INTEGER, message, expr.span))
        return 1
    return value


def require_known_names(given: Given, names: Sequence[SizeNames]) -> None:
    """Raise ArchlineError (AL401) for each given name that no algorithm has.

    A name has the value None if it is given by a fact.
    """
    sizes = {name for algorithm in names for name in algorithm.data_names}
    allowed = list(dict.fromkeys(name for algorithm in names for name in algorithm.all))
    numbers = {name for algorithm in names for name in algorithm.numbers}
    needed = _list_accepted_names(given, (name for algorithm in names for name in algorithm.needed), allowed)
    problems = [
        diagnose_unknown_in_fact(name, sizes, span)
        if value is None
        else _diagnose_unknown_name(name, numbers, allowed, needed, span)
        for name, (value, span) in given.items()
        if name not in allowed
    ]
    if problems:
        raise ArchlineError(problems)


def diagnose_unknown_in_fact(name: str, sizes: Set[str], span: Span | None) -> Diagnostic:
    """Build the diagnostic (AL401) of a fact about a name that is not a size."""
    hint = suggest_closest(name, sizes) or f"the sizes are {', '.join(sorted(sizes)) or 'none'}"
    return Diagnostic(rules.UNKNOWN_SIZE, f"there is no size `{name}`", span, hint=hint)


def _list_accepted_names(given: Given, needed: Iterable[str], known: Iterable[str]) -> list[str]:
    """List the names that need values, and the `known` names that are given one, such as P of a grid."""
    return list(dict.fromkeys((*needed, *(name for name in given if name in known))))


def _diagnose_unknown_name(
    name: str, numbers: Collection[str], known: Sequence[str], needed: Iterable[str], span: Span | None
) -> Diagnostic:
    if name in numbers:
        hint = f"`{name}` is a number of the data, which no cost depends on; `archline run --at` takes it"
        return Diagnostic(rules.UNKNOWN_SIZE, f"`{name}` is not a size", span, hint=hint)
    hint = suggest_closest(name, known) or _format_names("values are given for", needed)
    return Diagnostic(rules.UNKNOWN_SIZE, f"there is no size `{name}`", span, hint=hint)


def check_point(
    values: Given,
    names: SizeNames,
    where: Iterable[s.Fact] = (),
    *,
    option: str = "--at",
    needed: Iterable[str] | None = None,
) -> Point:
    """Check values given by `--at` or keyword arguments, and return them as a point.

    `needed` are the names that must have values, by default those of `names`. Hints of errors say to give them by
    `option`. Raises ArchlineError (AL401, AL402, AL404 to AL407) with all findings.
    """
    problems: list[Diagnostic] = []
    point: Point = {}
    for name, (raw_value, span) in values.items():
        # Integers of numpy become Python integers.
        value = int(raw_value) if isinstance(raw_value, Integral) and not isinstance(raw_value, bool) else raw_value
        if name not in names.all:
            accepted = _list_accepted_names(values, names.needed, names.all)
            problems.append(_diagnose_unknown_name(name, names.numbers, names.all, accepted, span))
            continue
        finding = diagnose_wrong_value(name, value, names, span)
        if finding is not None:
            problems.append(finding)
        elif isinstance(value, int | Fraction):
            point[name] = value if name in names.amounts else int(value)
    whole = {name: value for name, value in point.items() if isinstance(value, int)}
    point |= {name: value for name, value in find_sizes_given_by_facts(where, whole).items() if name in names.all}
    asked = names.needed if needed is None else tuple(needed)
    missing = [name for name in asked if name not in values and name not in point]
    if missing:
        problems.extend(_diagnose_missing_sizes(missing, asked, tuple(where), point, option))
    if "Z" in point and "L" in point and point["Z"] < point["L"]:
        problems.append(diagnose_small_cache(point["Z"], point["L"], values["Z"][1]))
    if not problems:
        problems.extend(diagnose_broken_facts(point, where))
    if problems:
        raise ArchlineError(problems)
    return point


def diagnose_small_cache(words: Number, line: Number, span: Span | None = None) -> Diagnostic:
    """Return the diagnostic (AL408) of a cache that is smaller than a line."""
    hint = f"give Z={_format_value(line)} or more, or L={_format_value(words)} or less"
    return Diagnostic(rules.WRONG_CACHE, "the cache has no room for a line: Z is below L", span, hint=hint)


def diagnose_wrong_value(name: str, value: object, names: SizeNames, span: Span | None) -> Diagnostic | None:
    """Return the diagnostic of a value that is wrong whatever the other values are; None if it is valid."""

    def report_finding(rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(rule, message, span, hint=hint)

    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return report_finding(rules.NOT_A_NUMBER, f"the value of `{name}` is not an integer but {_format_value(value)}")
    if name not in names.amounts and value != int(value):
        return report_finding(rules.NOT_AN_INTEGER, f"`{name}` is {_format_value(value)}; a size is an integer")
    least = names.get_minimum(name)
    if least is not None and value < least:
        reason = f"its `where` makes it at least {least}" if least > 1 else f"it must be at least {least}"
        hint = f"give `{name}={least}` or more"
        if value == 0 and name in names.sizes and least == 1:
            hint += f"; under `where {name} >= 0` the algorithm takes 0 too"
        return report_finding(rules.TOO_SMALL, f"`{name}` is {_format_value(value)}; {reason}", hint)
    return None


def _format_value(value: object) -> str:
    return format_readable(value) if isinstance(value, int | Fraction) else f"`{str(value)[:40]}`"


def _format_names(head: str, names: Iterable[str]) -> str:
    return f"{head} " + ", ".join(f"`{name}`" for name in names)


def diagnose_broken_facts(point: Mapping[str, Number], where: Iterable[s.Fact]) -> list[Diagnostic]:
    """Return a diagnostic for each fact that does not hold at a point."""
    whole = {name: value for name, value in point.items() if isinstance(value, int)}
    return [
        Diagnostic(rules.FACT_FAILS, f"`{format_fact(fact)}` does not hold at these sizes", fact.span)
        for fact in where
        if evaluate_fact(fact, whole) is False
    ]


def _diagnose_missing_sizes(
    missing: Sequence[str], asked: Sequence[str], where: tuple[s.Fact, ...], point: Point, option: str
) -> Iterator[Diagnostic]:
    """Report the `missing` sizes that no value determines, or else those whose definition is not an integer."""
    defined = _find_defined_names(where, missing)
    values = tuple(value for name, value in iterate_defined_sizes(where) if name in defined)
    defining = sorted(s.find_names(values) - {*point, *missing})
    undefined = [*(name for name in missing if name not in defined), *defining]
    if undefined:
        names = dict.fromkeys((*asked, *defining))
        hint = f"give {option} ".rstrip() + " " + ",".join(f"{name}=..." for name in names if name not in defined)
        yield Diagnostic(rules.MISSING_SIZE, _format_names("no value is given for", undefined), hint=hint)
        return
    for name, value in iterate_defined_sizes(where):
        if name in missing:
            message = f"`{name}` is {format_expression(value)}, which is not an integer at these sizes"
            yield Diagnostic(rules.FACT_FAILS, message, value.span)


def _find_defined_names(where: Iterable[s.Fact], missing: Sequence[str]) -> frozenset[str]:
    """Find the missing names that facts such as `s == n*m/P` define by other names."""
    result: set[str] = set()
    for name, value in iterate_defined_sizes(where):
        if name in missing and not s.find_names(value) & {name, *result}:
            result.add(name)
    return frozenset(result)
