"""Examine the conditions of runs: those that fail at all sizes are errors, unproved ones are assumptions of results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.checks.conditions import SIZE_CONDITION_TEXT, Assumption, describe_assumptions, find_assumptions
from archline.analysis.checks.runs import Failure, FollowedRuns, Outcome, follow_run_at
from archline.analysis.sampling import CHECK_SCALES, list_check_sizes, list_short_run_sizes
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure
from archline.expr.values import evaluate_fact
from archline.ir.conditions import scope_after
from archline.ir.counters import count_while
from archline.ir.declarations import declared_scope
from archline.ir.places import read_array_type
from archline.ir.recursive import inherited_facts
from archline.ir.scope import known_value
from archline.language import conditions as rules
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, find_recursive_component, has_recursion
from archline.language.call_rules import TOO_MANY_ITERATIONS
from archline.language.diagnostics import ArchlineError, Diagnostic, Proposal, Rule, propose_text
from archline.language.extra_facts import add_where_facts
from archline.language.model import Module
from archline.language.proposals import propose_larger_extents, propose_real_start, propose_zero_starts
from archline.language.substitution import find_exact_divisions
from archline.language.type_rules import SHAPE
from archline.numbers import format_point
from archline.records import record, replace

ENDLESS_RECURSION = Rule(
    "AL302",
    "recursion that does not end",
    """
    Every run makes the call, or runs of some sizes make, for any data, a call in which no size is smaller. Such runs
    never end, and have no cost.

    ```
    algorithm f(x: inout real[n]):
        f(x)                     # write: f(x[0..n//2]), under a condition such as `if n > 1:`
    ```

    Make some size smaller or change an index in every recursive call, or declare in the header what decreases:
    `decreases n + m, k`.
    """,
)
ACCESS_OUTSIDE = Rule(
    "AL303",
    "access outside an array",
    """
    A subscript or slice lies outside its array for any data, at the sizes that the message names and at all large ones
    that were examined, so that no run that reaches it ends. A run at these sizes was executed and stopped there. Every
    result assumes that accesses which are, or may be, outside at some sizes only are inside; at sizes where this is
    certainly false there is no result (AL501, AL502).

    ```
    for i in 0..n:
        y[i] = x[i + 1]          # the last i reads x[n]
    ```
    """,
)
LARGE_SIZE_RATIO = 5
"""Sizes are large if each is at least 1/LARGE_SIZE_RATIO of the largest value tried for it."""
MAX_OUTPUT_RUNS, MAX_BOUNDED_SIZE, MAX_CACHED_RESULTS = 12, 17, 256
SIZE_INDEPENDENT_RULES = (rules.NOT_DECREASING, TOO_MANY_ITERATIONS)
"""Rules whose failures are faults of the program at any size; they are reported apart."""
Point = Mapping[str, int]
MAX_EQUAL_SIZE = 2000
"""Sizes below this one are tried for a bound of a `while` that is too small."""
NOWHERE_ELSE = ", nor anywhere else"
RULES_AT_ALL_SIZES = {
    rules.OUT_OF_BOUNDS: ACCESS_OUTSIDE,
    rules.SLICE_OUT_OF_BOUNDS: ACCESS_OUTSIDE,
    rules.SHAPE: SHAPE,
    rules.NOT_DECREASING: ENDLESS_RECURSION,
}


def build_failure_diagnostic(failure: Failure, algorithms: Iterable[s.Algorithm] = ()) -> Diagnostic:
    """Build the diagnostic of a failure at all sizes, as `check` and `cost` report it.

    For a subscript outside its array, its hint is an edit of the algorithm among `algorithms` that has the subscript.
    """
    if failure.zero is None or failure.rule is rules.SIZE_TOO_SMALL:
        rule, diagnostic = RULES_AT_ALL_SIZES.get(failure.rule, failure.rule), failure.diagnostic
        candidates = tuple(algorithms)
        hints: list[str | None] = [_propose_extent_or_end(failure, algorithm) for algorithm in candidates]
        if failure.rule is rules.NOT_EXACT:
            hints.append(propose_real_start(candidates, failure.node))
        return replace(diagnostic, rule=rule, hint=next(filter(None, hints), diagnostic.hint))
    callee, sizes = failure.zero
    message = f"the recursion reaches `{callee.name}` at {format_point(sizes)}, where no run ends: {failure.message}"
    hint = "end the recursion earlier, or let the algorithm do nothing at size 0"
    return Diagnostic(rules.SIZE_TOO_SMALL, message, failure.node.span, hint=hint)


def _propose_extent_or_end(failure: Failure, algorithm: s.Algorithm) -> str | None:
    """Propose an edit for a subscript that equals the extent of its array: a larger array, or an earlier end of a loop.

    None if the failure is of another kind.
    """
    part = failure.node
    elements = s.find_nodes(algorithm.body, s.Element)
    access = next((element for element in elements if part in element.subscripts), None)
    declared: list[Any] = [*algorithm.parameters, *s.find_nodes(algorithm.body, s.Local)]
    array = next((item for item in declared if access is not None and item.name == access.array), None)
    if access is None or array is None or not isinstance(array.type, s.ArrayType):
        return None
    axis = next(number for number, subscript in enumerate(access.subscripts) if subscript is part)
    if re.search(r"\(index (\d+), extent \1\)", failure.message) is None:
        return None
    loops, output = list(s.find_nodes(algorithm.body, s.Loop)), getattr(array, "mode", "out") == "out"
    starts = {loop.lo.value for loop in loops if isinstance(loop.lo, s.Integer)}
    extent = array.type.shape[axis]
    if output and 1 in starts and 0 not in starts:
        # The elements of a local array are its algorithm's own; a parameter's extents are part of the interface.
        local = isinstance(array, s.Local)
        larger = propose_larger_extents(array, range(len(array.type.shape)), safe=local)
        loop = next((outer for outer in loops if _is_counted_from_one(outer, part, extent)), None)
        if local or loop is None or larger is None:
            return larger
        words = f"{larger}, or count from 0: `for {loop.variable} in 0..{format_expression(extent)}:`"
        return Proposal(words, larger.edits, safe=False)
    end = _propose_earlier_end(part, extent, loops)
    return end or (propose_larger_extents(array, (axis,), safe=False) if output else None)


def _is_counted_from_one(loop: s.Loop, part: s.Node, extent: s.Expr) -> bool:
    """Whether a subscript is the variable of a loop from 1 to the extent of an array."""
    if loop.down or not isinstance(part, s.Name) or part.id != loop.variable:
        return False
    match loop.lo, loop.hi:
        case s.Integer(value=1), s.Binary(op="+", left=left, right=s.Integer(value=1)):
            return has_same_structure(left, extent)
        case _:
            return False


def _propose_earlier_end(part: s.Node, extent: s.Expr, loops: Iterable[s.Loop]) -> str | None:
    """Propose a smaller subscript, or an earlier end of its loop, for a subscript that reaches its array's extent."""
    if has_same_structure(part, extent):
        return propose_text(part.span, _subtract_one(extent), "the last subscript is `{}`", safe=False)
    for loop in loops:
        if not loop.down and isinstance(part, s.Name) and part.id == loop.variable:
            match loop.hi:
                case s.Binary(op="+", left=left, right=s.Integer(value=1)) if has_same_structure(left, extent):
                    # The end of `a to b` and of `a..=b` is b.
                    taken = "+" not in loop.hi.span.text
                    text = _subtract_one(extent) if taken else format_expression(extent)
                    return propose_text(loop.hi.span, text, "the loop goes too far: let it end at `{}`", safe=False)
                case _:
                    pass
    return None


def _subtract_one(extent: s.Expr) -> str:
    match extent:
        case s.Binary(op="+", left=left, right=s.Integer(value=1)):
            return format_expression(left)
        case _:
            return f"{format_expression(extent)} - 1"


def find_endless_recursion(module: Module, algorithm: s.Algorithm) -> Diagnostic | None:
    """Report a recursive call that keeps all runs, or all runs at some sizes, from ending; None if there is none."""
    if not has_recursion(module, algorithm):
        return None
    call = _find_unconditional_call(module, algorithm)
    if call is not None:
        message = "every run makes this recursive call, so no run terminates"
        return Diagnostic(
            ENDLESS_RECURSION, message, call.span, hint="add a case that ends the recursion, such as `if n <= 1:`"
        )
    if algorithm.grid:
        return None
    runs = FollowedRuns(module, algorithm)
    failures = (runs.follow_run(point).failure for point in list_check_sizes(module, algorithm))
    endless = (failure for failure in failures if failure is not None and failure.rule is rules.NOT_DECREASING)
    return next(map(build_failure_diagnostic, endless), None)


def find_common_failures(module: Module, algorithm: s.Algorithm) -> tuple[Failure, ...]:
    """Return the failures at the statement where all runs of large sizes stop, or those of recursive calls at size 0.

    Smallest sizes come first. Empty if there are `index` parameters, as callers may restrict their values.
    """
    return _examine_runs(module, algorithm).failures


def find_exceeded_while_bounds(module: Module, algorithm: s.Algorithm) -> Iterator[Failure]:
    """Yield the failures of runs of small sizes that exceed the bound of a `while`, for any data and indices."""
    algorithms = (algorithm, *find_reachable(module, algorithm))
    if any(s.find_nodes(tuple(called.body for called in algorithms), s.While)):
        points = (*list_short_run_sizes(module, algorithm), *_find_sizes_beyond_limits(module, algorithm))
        failures = (follow_run_at(module, algorithm, point).failure for point in points)
        yield from (failure for failure in failures if failure is not None and failure.rule is TOO_MANY_ITERATIONS)


def _find_sizes_beyond_limits(module: Module, algorithm: s.Algorithm) -> Iterator[Point]:
    """Yield sizes at which a `while` of the algorithm's own block has more iterations than `at most` allows."""
    scope = declared_scope(module, algorithm)
    for statement in algorithm.body:
        if isinstance(statement, s.While) and statement.limit is not None and not algorithm.grid:
            counted, limit = count_while(statement, scope), known_value(statement.limit, scope)
            if counted is not None and counted.exact and limit is not None:
                excess = scope.facts.restore(counted.range.trips - limit)
                # Callers may restrict the values of indices.
                if excess.names <= set(module.signatures[algorithm].size_names):
                    yield from islice(_iterate_sizes_above_zero(excess, module, algorithm), 1)
        scope = scope_after(statement, scope)


def _iterate_sizes_above_zero(value: Poly, module: Module, algorithm: s.Algorithm) -> Iterator[Point]:
    """Yield sizes at which an expression is positive: those of checks, then equal ones in ascending order."""
    equal = (dict.fromkeys(module.signatures[algorithm].size_names, size) for size in range(MAX_EQUAL_SIZE))
    for point in chain(list_check_sizes(module, algorithm), equal):
        with suppress(EvaluationError):
            if evaluate(value, point) > 0 and all(evaluate_fact(fact, point) for fact in algorithm.where):
                yield point


def describe_side_conditions(module: Module, algorithm: s.Algorithm) -> tuple[str, ...]:
    """Describe the unproved conditions of runs as texts for reports."""
    return _examine_runs(module, algorithm).texts


def find_unset_outputs(module: Module, algorithm: s.Algorithm) -> dict[str, Diagnostic]:
    """Map `out` arrays with an element that runs at some sizes leave unset, for any data, to warnings.

    With indices, as callers may restrict their values, and on grids, only outputs that no statement names are reported.
    """
    outputs = [parameter for parameter in algorithm.parameters if parameter.mode == "out" and not parameter.local]
    if algorithm.grid or module.signatures[algorithm].indices:
        named = s.find_names(algorithm.body) | {getattr(node, "array", "") for node in s.iterate_nodes(algorithm.body)}
        return {
            output.name: _build_unset_warning(
                output, [0] * len(read_array_type(output.type)[0] or ()), NOWHERE_ELSE, {}
            )
            for output in outputs
            if output.name not in named
        }
    runs = list(_examine_runs(module, algorithm).unset)
    if runs:
        # Messages are clearest at sizes above 1, and for outputs with some set elements.
        above = next(
            (point for point in list_short_run_sizes(module, algorithm) if min(point.values(), default=0) > 1), {}
        )
        runs.insert(0, (above, follow_run_at(module, algorithm, above)))
    arrays = [(array, point, run.failure) for point, run in runs for array in run.unset]
    loops = s.find_nodes(algorithm.body, s.Loop)
    looped = {node.array for loop in loops for node in s.iterate_nodes(loop.body) if isinstance(node, s.Element)}
    warnings: dict[str, Diagnostic] = {}
    for array, point, failure in sorted(arrays, key=lambda entry: (entry[2] is not None, not entry[0].elements)):
        output = next(parameter for parameter in outputs if parameter.name == array.name)
        place = array.first_unset or 0
        likely = array.name in looped and array.is_in_unset_border(place)
        rest = "; ranges are half-open and begin at 0" if likely else "" if array.elements else NOWHERE_ELSE
        if failure is not None and failure.unset is not None:
            span = failure.node.span
            line = f"line {span.line}" if span.source is output.span.source else f"{span.source.path}:{span.line}"
            place, rest = failure.unset[1], f" where {line} reads it, which stops the run"
        warning = _build_unset_warning(output, array.compute_subscripts(place), rest, point)
        if likely and 0 in array.compute_subscripts(place):
            warning = replace(warning, hint=_suggest_starts(algorithm, array.name) or warning.hint)
        if failure is not None and failure.hint:
            warning = replace(warning, hint=failure.hint)
        warnings.setdefault(array.name, warning)
    return warnings


def _suggest_starts(algorithm: s.Algorithm, array: str) -> Proposal | None:
    """Propose to let all loops that index an array begin at 0; None if any does not begin at 1."""
    loops = [
        loop
        for loop in s.find_nodes(algorithm.body, s.Loop)
        if any(
            element.array == array and loop.variable in s.find_names(element)
            for element in s.find_nodes(loop.body, s.Element)
        )
    ]
    from_one = loops and all(isinstance(loop.lo, s.Integer) and loop.lo.value == 1 and not loop.down for loop in loops)
    words = "ranges begin at 0 and end before their bound: write `{}`"
    if not from_one:
        return None
    first = loops[0]
    subscripts = (x.subscripts for x in s.find_nodes(first.body, s.Element) if x.array == array)
    if any([getattr(subscript, "id", "") for subscript in places] == [first.variable] for places in subscripts):
        end, i = format_expression(first.hi), first.variable
        words += f" or, to count from 1, `for {i} in 1..{end} + 1:` and `{array}[{i} - 1]`"
    return propose_zero_starts(loops, words)


def _build_unset_warning(output: s.Parameter, subscripts: Sequence[int], rest: str, point: Point) -> Diagnostic:
    at = f" (seen at {format_point(point)})" if point else ""
    ever = "not" if rest.startswith(" where") else "never"
    message = f"`{output.name}` is {ever} set at [{', '.join(map(str, subscripts))}]{rest}{at}"
    hint = f"set all of `{output.name}`, declare it `inout` if callers set the rest, or remove the parameter"
    return Diagnostic(rules.NEVER_SET, message, output.span, hint=hint)


def list_assumed_size_facts(module: Module, algorithm: s.Algorithm) -> tuple[s.Fact, ...]:
    """List the assumptions that are facts about sizes, under which claims are decided."""
    return _examine_runs(module, algorithm).facts


def find_certain_failure(module: Module, algorithm: s.Algorithm, sizes: Mapping[str, int]) -> Failure | None:
    """Return the failure of runs at sizes that occurs for any data; None if some run may end."""
    if not _examine_runs(module, algorithm).open and not find_exact_divisions(algorithm):
        return None
    signature = module.signatures[algorithm]
    names = (*signature.size_names, *signature.indices, *(("P",) if algorithm.grid else ()))
    return _failure_at(module, algorithm, tuple((name, sizes[name]) for name in names if name in sizes))


@lru_cache(maxsize=MAX_CACHED_RESULTS)
def _failure_at(module: Module, algorithm: s.Algorithm, sizes: tuple[tuple[str, int], ...]) -> Failure | None:
    """Return the failure of the run at given sizes; None if it does not fail. The result is cached."""
    return follow_run_at(module, algorithm, dict(sizes)).failure


@record(eq=False)
class _ExaminedRuns:
    """The results of examined runs.

    `failures` stop all runs of large sizes, `texts` and `facts` are the assumptions; `open` is true if runs had to be
    followed, and `unset` are points with the outcomes of runs that leave elements unset.
    """

    failures: tuple[Failure, ...] = ()
    texts: tuple[str, ...] = ()
    facts: tuple[s.Fact, ...] = ()
    open: bool = False
    unset: Sequence[tuple[Point, Outcome]] = ()


@lru_cache(maxsize=MAX_CACHED_RESULTS)
def _examine_runs(module: Module, algorithm: s.Algorithm) -> _ExaminedRuns:
    """Follow runs at small sizes, if some condition is unproved or an array may stay unset; return their results."""
    unproved = find_assumptions(module, algorithm)
    if not unproved and not _has_unset_arrays(module, algorithm):
        return _ExaminedRuns()
    # Few runs are enough for unset elements, which depend less on sizes than bounds of subscripts do.
    tried = sorted(list_short_run_sizes(module, algorithm, indices=True), key=lambda point: sum(point.values()))
    runs = [
        (point, follow_run_at(module, algorithm, point)) for point in tried[: None if unproved else MAX_OUTPUT_RUNS]
    ]
    failing = [
        run.failure for _, run in runs if run.failure is not None and run.failure.rule not in SIZE_INDEPENDENT_RULES
    ]
    ending = [point for point, run in runs if run.ends]
    # A form that is false at the sizes of a run that ends is too strong, and is dropped.
    needs = [
        replace(need, kind="other") if any(_holds_at(need, at) is False for at in ending) else need for need in unproved
    ]
    for fault in failing:
        if not any(need.node is fault.node or _holds_at(need, fault.sizes) is False for need in needs):
            owner = next(
                alg
                for alg in (algorithm, *find_reachable(module, algorithm))
                if fault.node in set(s.iterate_nodes(alg))
            )
            needs.append(Assumption(owner.name, fault.about, fault.node, fault.about))
    needs = _replace_needs_by_size_bound(module, algorithm, needs)
    failures: tuple[Failure, ...] = ()
    if needs and not module.signatures[algorithm].indices:
        at_zero = tuple(fault for fault in failing if _always_stops_at_zero(module, fault))
        failures = at_zero or _find_failures_at_large_sizes(module, algorithm, failing)
    needs = _drop_implied_facts(module, algorithm, needs)
    passed = {statement for _, run in runs if run.ends for statement in run.reached}
    unset = [
        (at, run) for at, run in runs if run.unset and (run.failure is None or run.failure.statement not in passed)
    ]
    return _ExaminedRuns(failures, describe_assumptions(needs, algorithm.name), _list_size_facts(needs), True, unset)


def _list_size_facts(found: Iterable[Assumption]) -> tuple[s.Fact, ...]:
    candidates = (need.fact for need in found if need.condition_text and not need.when and not need.recursive)
    return tuple(fact for fact in candidates if fact is not None)


def _drop_implied_facts(module: Module, algorithm: s.Algorithm, needs: list[Assumption]) -> list[Assumption]:
    """Drop facts about sizes that other facts imply, and join v >= 0 and -v >= 0 to v == 0."""
    least = {need.parts: need for need in needs if need.kind == "least" and _list_size_facts([need])}
    for parts, need in least.items():
        opposite = least.get((-parts[0],))
        if opposite in needs and need in needs:
            needs = [replace(item, kind="equal") if item is need else item for item in needs if item is not opposite]
    for need in reversed(needs):
        rest = [item for item in needs if item is not need]
        # Divisibility facts are used one at a time, as facts rewrite a size by one of them only.
        premise_sets = [[item] for item in rest if item.kind == "divides"] if need.kind == "divides" else [rest]
        if any(_facts_imply(module, algorithm, _list_size_facts(premises), need) for premises in premise_sets):
            needs = rest
    return needs


def _facts_imply(module: Module, algorithm: s.Algorithm, facts: tuple[s.Fact, ...], assumed: Assumption) -> bool:
    """Test whether facts about sizes are proved to imply an assumption."""
    if assumed.kind not in ("least", "divides") or not facts or not _list_size_facts([assumed]):
        return False
    try:
        derived = declared_scope(*add_where_facts(module, algorithm, facts)).facts
    except ArchlineError:
        return False
    first, *rest = (derived.simplify(part.substitute(derived.rewrites)) for part in assumed.parts)
    return all(derived.integral(part * first**-1) for part in rest) if rest else derived.nonnegative(first)


def _replace_needs_by_size_bound(module: Module, algorithm: s.Algorithm, needs: list[Assumption]) -> list[Assumption]:
    """Replace conditions at each recursive call by an upper bound of one size.

    Runs at sizes up to the bound must end, and none above it, and the bound must imply the conditions.
    """
    signature = module.signatures[algorithm]
    if algorithm.grid or signature.indices or not any(need.recursive for need in needs):
        return needs
    near = [
        point for point in list_check_sizes(module, algorithm) if max(point.values(), default=0) <= MAX_BOUNDED_SIZE
    ]
    runs = [(point, follow_run_at(module, algorithm, point).failure is None) for point in near]
    for name in signature.size_names:
        stop = min((point for point, ends in runs if not ends), key=lambda point: point[name], default=None)
        if stop is None or any(ends and point[name] >= stop[name] for point, ends in runs):
            continue
        below = range(stop[name] - 1, 0, -1)
        most = next(
            (size for size in below if follow_run_at(module, algorithm, {**stop, name: size}).failure is None), 0
        )
        facts = (b.binary("<=", b.name(name), b.number(most)),)
        if most and inherited_facts(module, algorithm, facts) == facts:
            unproved = find_assumptions(*add_where_facts(module, algorithm, facts))
            if not any(need.recursive or need.general == SIZE_CONDITION_TEXT for need in unproved):
                bound = (Poly.constant(most) - Poly.symbol(name),)
                rest = [need for need in needs if need.general != SIZE_CONDITION_TEXT]
                return [*rest, Assumption(algorithm.name, SIZE_CONDITION_TEXT, algorithm, kind="least", parts=bound)]
    return needs


def _has_unset_arrays(module: Module, algorithm: s.Algorithm) -> bool:
    """Test whether there is an output or a local array without an initial value."""
    return any(parameter.mode == "out" and not parameter.local for parameter in algorithm.parameters) or any(
        local.value is None
        for part in (algorithm, *find_reachable(module, algorithm))
        for local in s.find_nodes(part.body, s.Local)
    )


def _find_failures_at_large_sizes(
    module: Module, algorithm: s.Algorithm, failing: Sequence[Failure]
) -> tuple[Failure, ...]:
    """Return the failures at the statement where all runs of large sizes stop, if no run that ends passes it.

    If an argument has a wrong shape at some sizes, its failures are returned even if other runs end, as a wrong shape
    is an error for the checker too.
    """
    sizes = [
        point for point in list_check_sizes(module, algorithm) if max(point.values(), default=0) <= CHECK_SCALES[-1]
    ]
    most = {name: max(point[name] for point in sizes) for name in (sizes[0] if sizes else ())}
    large = [point for point in sizes if all(point[name] * LARGE_SIZE_RATIO >= end for name, end in most.items())]
    misfits = any(map(_is_wrong_shape, failing))
    stopped: list[Failure] = []
    for point in reversed(large):
        failure = follow_run_at(module, algorithm, point).failure
        if (
            failure is not None
            and failure.rule not in SIZE_INDEPENDENT_RULES
            and (not misfits or _is_wrong_shape(failure))
        ):
            stopped.insert(0, failure)
        elif not misfits:
            return ()
    runs = (follow_run_at(module, algorithm, point) for point in sizes)
    if not stopped or (not misfits and any(run.ends and stopped[0].statement in run.reached for run in runs)):
        return ()
    return tuple(fault for fault in (*failing, *stopped) if fault.node is stopped[0].node)


def _always_stops_at_zero(module: Module, failure: Failure) -> bool:
    """Test whether a run stops in a recursive call at size 0 that stops for other values of the other sizes too."""
    if failure.zero is None or failure.rule is rules.SIZE_TOO_SMALL:
        return failure.zero is not None
    callee, sizes = failure.zero
    free = [name for name, size in sizes.items() if size > 0]
    tried = ({**sizes, **dict(zip(free, values, strict=True))} for values in product((1, 2, 3), repeat=len(free)))
    allowed = (point for point in tried if all(evaluate_fact(fact, point) is not False for fact in callee.where))
    return all(follow_run_at(module, callee, point).failure for point in allowed)


def _is_wrong_shape(failure: Failure) -> bool:
    # Buffers of collectives must agree in the number of words, not in shape.
    return failure.rule is rules.SHAPE and not isinstance(failure.statement, s.Communication)


def _holds_at(assumption: Assumption, point: Mapping[str, int]) -> bool | None:
    """Test whether a condition holds at sizes; None if it has no form, or no value there."""
    try:
        if assumption.kind == "other" or any(evaluate(value, point) < 0 for value in assumption.when):
            return None
        first, *others = (evaluate(part, point) for part in assumption.parts)
    except EvaluationError:
        return None
    match assumption.kind:
        case "least":
            return first >= 0
        case "divides":
            return first != 0 and Fraction(others[0], first).denominator == 1
        case _:
            return None


def _find_unconditional_call(module: Module, algorithm: s.Algorithm) -> s.Call | None:
    """Find a recursive call that every run makes, into a recursion without end in which every run makes another one.

    None if there is none.
    """
    endless = {algorithm, *find_reachable(module, algorithm)}
    while ended := [called for called in endless if _find_first_endless_call(module, called.body, endless) is None]:
        endless.difference_update(ended)
    call = _find_first_endless_call(module, algorithm.body, endless)
    while call is not None and not find_recursive_component(module, algorithm):
        target = module.targets[call]
        assert isinstance(target, s.Algorithm)
        algorithm, call = target, _find_first_endless_call(module, target.body, endless)
    return call


def _find_first_endless_call(module: Module, body: tuple[s.Stmt, ...], endless: set[s.Algorithm]) -> s.Call | None:
    """Find the first call of an algorithm in `endless` that each execution of a body makes; None if there is none.

    If all branches of an `if` make such calls, the call of the first branch is returned.
    """
    for statement in body:
        # Calls in a loop, or in some branches only, need not be made.
        first = None
        if isinstance(statement, s.Simple):
            first = next((call for call in statement.calls if module.targets.get(call) in endless), None)
        elif isinstance(statement, s.If) and statement.branches[-1].condition is None:
            calls = [_find_first_endless_call(module, branch.body, endless) for branch in statement.branches]
            first = None if None in calls else calls[0]
        if first is not None:
            return first
    return None
