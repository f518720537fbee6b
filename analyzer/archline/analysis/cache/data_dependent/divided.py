"""Extract recursive algorithms in which data determines how arguments are divided among calls.

The rule is that of `recursive.evaluate`: a call whose arrays fit fetches their lines, any other call what its parts
fetch. The volume of a call measures what is divided: the words of its arguments that depend on data-dependent sizes,
or roughly their cost. A bound is a concave function of the volume, for given other sizes: if a volume is divided into
parts, concave functions of these sum to at most the function of the whole with all pieces by decreasing slope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Monomial, Poly, sum_polynomials
from archline.analysis.metrics.accesses import METRIC, ContiguousArrays, WordModel
from archline.analysis.metrics.derivation import Derivation
from archline.ir.declarations import declared_scope
from archline.ir.places import read_array_type
from archline.ir.scope import static_value
from archline.language import call_graph
from archline.language import syntax as s
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import compute_symbol_values_in_call
from archline.recurrences.exact.transitions import Transition, build_steps
from archline.recurrences.model import SizeFunction

VOLUME_SHARES = tuple(fmpq(*pair) for pair in ((1, 2), (3, 5), (2, 3), (3, 4), (4, 5), (9, 10), (19, 20), (1, 1)))
"""The shares of a volume that are tried as upper bounds for calls."""


class UndividedError(Exception):
    """Calls are not known to divide a volume, or sizes do not have the form from which a volume is computed."""


@record(eq=False)
class DividedCall:
    """A call, made `factor` times: its target, the arguments, and its volume, at most `share` times the caller's.

    `share` is None if the volume does not depend on data. `within` maps sizes of the target to sizes of the caller
    that bound them.
    """

    factor: Poly
    target: DividedAlgorithm
    arguments: Mapping[str, Poly]
    volume: Poly
    share: fmpq | None
    within: Mapping[str, str]


@record(eq=False)
class DivisionCase:
    """A case of an algorithm: its conditions, its own cost, and its calls.

    `bounds` has lower and upper bounds of sizes and data-dependent integers, in order of definition. All calls
    together have at most `share` times the volume of the caller; None if that is unknown.
    """

    known: tuple[Poly, ...]
    facts: Facts
    bounds: Mapping[str, tuple[tuple[Poly, ...], tuple[Poly, ...]]]
    cost: Poly
    inner: tuple[DividedCall, ...]
    share: fmpq | None


@dataclass(eq=False)
class DividedAlgorithm:
    """An algorithm with its data-dependent sizes (`measured`), their volume, and its argument words.

    The lines of its arguments, times L, are at most `words` + `rest`, and at most L*`words` + `apart`, which is
    less if each array has few words. Only `words` depends on data-dependent sizes.
    """

    function: SizeFunction
    measured: frozenset[str]
    volume: Poly
    words: Poly
    rest: Poly
    apart: Poly
    cases: tuple[DivisionCase, ...] = ()

    @cached_property
    def volume_in_sizes(self) -> Poly:
        """The volume in terms of the algorithm's sizes."""
        return self.function.facts.restore(self.volume)

    @cached_property
    def words_in_sizes(self) -> tuple[Poly, Poly, Poly]:
        """The three word counts `words`, `rest` and `apart`, in terms of the algorithm's sizes."""
        words, rest, apart = map(self.function.facts.restore, (self.words, self.rest, self.apart))
        return words, rest, apart

    @cached_property
    def non_increasing_sizes(self) -> tuple[str, ...]:
        """The measured sizes that never increase in recursive calls."""
        inner = [call for case in self.cases for call in case.inner]
        if any(self in call.target.reachable for call in inner if call.target is not self):
            return ()
        mappings = [call.within for call in inner if call.target is self and call.share is not None]
        return tuple(name for name in sorted(self.measured) if all(mapping.get(name) == name for mapping in mappings))

    @property
    def reachable(self) -> set[DividedAlgorithm]:
        """All divided algorithms that this one calls, directly or indirectly."""
        return {
            *call_graph.traverse_reachable(
                lambda form: [call.target for case in form.cases for call in case.inner], self
            )
        }

    @cached_property
    def known_sizes(self) -> tuple[str, ...]:
        """The sizes that do not depend on data."""
        return tuple(name for name in self.function.parameters if name not in self.measured)


def extract_divided_algorithms(
    module: Module,
    reached: Iterable[s.Algorithm],
    model: WordModel,
    rows: ContiguousArrays,
    line: int,
    by_words: bool,
    adopted: Mapping[s.Algorithm, DividedAlgorithm] | None = None,
) -> dict[s.Algorithm, DividedAlgorithm]:
    """Extract the divided form of all recursive algorithms in `reached`, with their costs under `model`.

    `by_words` measures volumes in words, instead of costs. `rows` has the arrays of each algorithm that lie in rows.
    The data-dependent sizes and the volumes of `adopted` are taken over. Raises UndividedError.
    """
    statements = Derivation(module, coarse=False, model=model)
    functions: dict[str, SizeFunction] = {}
    result: dict[str, DividedAlgorithm] = {}
    of: dict[s.Algorithm, str] = {}
    for algorithm in reached:
        if call_graph.find_recursive_component(module, algorithm):
            function = _extract_cost_function(statements, algorithm)
            if function is not None:
                of[algorithm] = function.name
                functions[function.name] = function
    measured = _find_data_dependent_sizes(
        functions, {of[source]: form.measured for source, form in (adopted or {}).items() if source in of}
    )
    for original, name in of.items():
        function, data_sizes = functions[name], measured[name]
        if len(function.parameters) > len(function.least) or not data_sizes.isdisjoint(function.facts.rewrites):
            raise UndividedError
        words, rest, apart = _split_parameter_words(module, original, rows[original], data_sizes, line)
        volume = words if by_words else sum_polynomials(_weight_size(size, function) for size in sorted(data_sizes))
        if adopted is not None and original in adopted:
            volume = adopted[original].volume
        result[name] = DividedAlgorithm(function, data_sizes, volume, words, rest, apart)
    for divided in result.values():
        divided.cases = tuple(_build_division_cases(divided, result))
    return {original: result[name] for original, name in of.items()}


def _extract_cost_function(statements: Derivation, algorithm: s.Algorithm) -> SizeFunction | None:
    """Derive the upper cost of an algorithm as equations; None if it is zero. Raises UndividedError."""
    extracted = statements.recursions.extract_systems(algorithm)
    if any(case.tally.rounds for case in extracted.cases):
        raise UndividedError
    if extracted.get_system(METRIC) is None:
        return None
    function = extracted.get_function(METRIC, True)
    if function is None:
        raise UndividedError
    return function


def _collect_names(monomial: Monomial) -> frozenset[str]:
    return frozenset[str]().union(*(atom.names for atom, _ in monomial))


def _find_data_dependent_sizes(
    functions: Mapping[str, SizeFunction], known: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Find the sizes of each function that depend on data in some call; `known` sizes are among them."""
    result = {**dict.fromkeys(functions, frozenset[str]()), **known}
    while True:
        before = dict(result)
        for name, function in functions.items():
            for equation in function.equations:
                decided = result[name].union(equation.data)
                for call in _iterate_calls(equation.value, functions):
                    target = functions[call.function]
                    pairs = zip(target.parameters, call.arguments, strict=True)
                    new = {size for size, value in pairs if not decided.isdisjoint(equation.facts.restore(value).names)}
                    result[call.function] |= new
        if result == before:
            return result


def _iterate_calls(value: Poly, functions: Mapping[str, SizeFunction]) -> Iterator[a.AppliedFunction]:
    for atom in value.atoms():
        if isinstance(atom, a.AppliedFunction):
            if atom.function not in functions:
                raise UndividedError
            yield atom
        for part in atom.parts:
            yield from _iterate_calls(part, functions)


def bound_parameter_words_above(module: Module, algorithm: s.Algorithm, in_rows: frozenset[str], line: int) -> Poly:
    """Bound the words of an algorithm's arguments in whole lines; arrays in `in_rows` lie in rows."""
    return declared_scope(module, algorithm).facts.restore(
        _split_parameter_words(module, algorithm, in_rows, frozenset(), line)[1]
    )


def _weight_size(name: str, function: SizeFunction) -> Poly:
    """Return a size times its largest coefficient in the costs of cases, or times 1 if that is larger."""
    size = Poly.symbol(name)
    (monomial,) = size.terms
    counts = (equation.value.terms.get(monomial, fmpq(0)) for equation in function.equations)
    return size.scaled(max(*counts, fmpq(1)))


def _split_parameter_words(
    module: Module, algorithm: s.Algorithm, in_rows: frozenset[str], measured: frozenset[str], line: int
) -> tuple[Poly, Poly, Poly]:
    """Return `words`, `rest` and `apart` of a `DividedAlgorithm` with the sizes `measured`.

    Rows of arrays that lie in rows are rounded up to whole lines; elements of other arrays have a line each.
    """
    scope = declared_scope(module, algorithm)
    volume, rest, apart = ZERO, ZERO, ZERO
    for parameter in algorithm.parameters:
        shape, _ = read_array_type(parameter.type)
        if shape is None:
            continue
        *outer, row = (static_value(extent, scope) for extent in shape)
        in_lines = row + (2 * line - 2) if parameter.name in in_rows else row.scaled(line)
        varying, fixed = _split_terms(reduce(mul, outer, in_lines), measured)
        volume, rest = volume + varying, rest + fixed
        apart = apart + (_split_terms(row, measured)[1].scaled(line) if varying and not outer else fixed)
    return volume, rest, apart


def _split_terms(value: Poly, measured: frozenset[str]) -> tuple[Poly, Poly]:
    """Split a value into the terms that mention sizes in `measured`, and the rest."""
    varying = {
        monomial: number
        for monomial, number in value.terms.items()
        if not measured.isdisjoint(_collect_names(monomial))
    }
    return Poly(varying), value - Poly(varying)


def _build_division_cases(divided: DividedAlgorithm, by_name: Mapping[str, DividedAlgorithm]) -> Iterator[DivisionCase]:
    for equation in divided.function.equations:
        restore = equation.facts.restore
        decided = divided.measured.union(equation.data)
        for step in build_steps(divided.function, equation, upper=True):
            inner = [
                _build_divided_call(step, divided, by_name[call.function], factor, call, decided)
                for factor, call in step.calls
            ]
            volumes = [factor * volume for (factor, _), (_, volume) in zip(step.calls, inner, strict=True)]
            whole, bounds = sum(volumes, ZERO), step.facts.bounds
            yield DivisionCase(
                tuple(map(restore, equation.known)),
                step.facts,
                {name: (tuple(map(restore, x.lower)), tuple(map(restore, x.upper))) for name, x in bounds.items()},
                restore(step.forcing),
                tuple(call for call, _ in inner),
                _find_smallest_share(whole, divided.volume, step.facts),
            )


def _build_divided_call(
    step: Transition,
    caller: DividedAlgorithm,
    target: DividedAlgorithm,
    factor: Poly,
    call: a.AppliedFunction,
    decided: frozenset[str],
) -> tuple[DividedCall, Poly]:
    """Return a call, and the part of the caller's volume that it takes (0 if it does not depend on data)."""
    restore = step.facts.restore
    volume = step.facts.simplify(
        target.volume.substitute(compute_symbol_values_in_call(target.function, call.arguments))
    )
    arguments = dict(zip(target.function.parameters, map(restore, call.arguments), strict=True))
    restored = restore(volume)
    divides = not decided.isdisjoint(restored.names)
    share = _find_smallest_share(volume, caller.volume, step.facts) if divides else None
    if divides and share is None:
        raise UndividedError
    within = dict(_iterate_bounding_sizes(step, caller, target, call)) if divides else {}
    return DividedCall(restore(factor), target, arguments, restored, share, within), volume if divides else ZERO


def _iterate_bounding_sizes(
    step: Transition, caller: DividedAlgorithm, target: DividedAlgorithm, call: a.AppliedFunction
) -> Iterator[tuple[str, str]]:
    """Yield sizes of the target that are at most a size of the caller, each with that size."""
    for name, value in zip(target.function.parameters, call.arguments, strict=True):
        if name in target.measured:
            # The size of the same name is tried first, as recursion usually passes it on.
            for size in sorted(caller.measured, key=lambda candidate: (candidate != name, candidate)):
                if step.facts.nonnegative(Poly.symbol(size) - value):
                    yield name, size
                    break


def _find_smallest_share(volume: Poly, whole: Poly, facts: Facts) -> fmpq | None:
    """Find the smallest of `VOLUME_SHARES` such that `volume` is at most that share of `whole`; None if none is."""
    return next((share for share in VOLUME_SHARES if facts.nonnegative(whole.scaled(share) - volume)), None)
