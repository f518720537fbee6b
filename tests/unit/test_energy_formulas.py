"""Formulas: their number domains agree, bounds are sound, and what is typed by hand is read with care."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import archline as al
from archline.energy.estimates import ModelOnMachine, estimate_amounts
from archline.energy.formulas import FormulaBounds, bound_formula, bound_value, check_units, names_in
from archline.energy.machine_files import machine
from archline.energy.models import find_model
from archline.energy.targets import read_target
from archline.energy.units import parse_dimension
from archline.expr.arrays import compile_formulas
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.parser import parse_expression
from energy_support import exact, held, made, positive, refusal, whole_machines

F = Fraction
NAMES = ("a", "b", "c")
PYTHON: dict[str, Any] = {
    "sqrt": math.sqrt, "log2": math.log2, "floor": math.floor, "ceil": math.ceil, "max": max, "min": min,
}  # fmt: skip


def texts(*, differences: bool) -> st.SearchStrategy[str]:
    """Formulas as text; without differences they rise or fall with each name."""
    leaves = st.sampled_from([*NAMES, "1", "2", "3", "0.25", "1e-3", "17"])

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        kinds = [
            pair.map(lambda p: f"({p[0]} + {p[1]})"),
            pair.map(lambda p: f"{p[0]}*({p[1]})"),
            pair.map(lambda p: f"({p[0]})/({p[1]})"),
            pair.map(lambda p: f"max({p[0]}, {p[1]})"),
            pair.map(lambda p: f"min({p[0]}, {p[1]}, 40)"),
            inner.map(lambda each: f"sqrt({each})"),
            inner.map(lambda each: f"({each})^2"),
            inner.map(lambda each: f"({each})^(3/2)"),
            inner.map(lambda each: f"log2(1 + {each})"),
        ]
        if differences:
            kinds += [
                pair.map(lambda p: f"({p[0]} - {p[1]})"),
                inner.map(lambda each: f"(-({each}))"),
                inner.map(lambda each: f"floor(1 + {each})"),
                inner.map(lambda each: f"ceil({each})"),
            ]
        return st.one_of(kinds)

    return st.recursive(leaves, grown, max_leaves=7)


points = st.fixed_dictionaries(dict.fromkeys(NAMES, positive))


def by_python(text: str, point: Mapping[str, Any]) -> float:
    """The value by Python's own arithmetic in floating point."""
    values = {name: float(each) for name, each in point.items()}
    return float(eval(text.replace("^", "**"), {"__builtins__": {}, **PYTHON}, values))


def bounds(text: str, values: Mapping[str, Interval]) -> Interval:
    return bound_value(parse_expression(text), values)


@given(texts(differences=True), points)
def test_intervals_arrays_and_floats_agree(text: str, point: dict[str, Fraction]) -> None:
    """On one formula at one point; where rounding decides a floor, or whether there is a value, no number is wrong."""
    try:
        found = bounds(text, {name: Interval.of(each) for name, each in point.items()})
    except EvaluationError:
        assume(False)
    with np.errstate(all="ignore"):
        try:
            expected = by_python(text, point)
        except (ValueError, ZeroDivisionError, TypeError, OverflowError):
            assume(False)
        (array,) = compile_formulas({"x": parse_expression(text)})(
            {name: float(each) for name, each in point.items()}
        ).values()
        scale = _largest(text, point)
    assume(not ("floor" in text or "ceil" in text) or abs(expected - float(found.middle)) < 0.5)
    tolerance = 1e-9 * max(scale, 1e-9)
    assert float(found.lower) - tolerance <= expected <= float(found.upper) + tolerance
    assert math.isclose(float(array), expected, rel_tol=1e-9, abs_tol=tolerance)


def _largest(text: str, point: Mapping[str, Any]) -> float:
    """The largest value of a subexpression: how much cancellation there may be."""
    best = 0.0

    def walk(expr: s.Expr) -> None:
        nonlocal best
        with suppress(EvaluationError):
            best = max(best, abs(float(bound_value(expr, {n: Interval.of(v) for n, v in point.items()}).upper)))
        match expr:
            case s.Unary(operand=operand):
                walk(operand)
            case s.Binary(left=left, right=right):
                walk(left)
                walk(right)
            case s.Call(arguments=arguments):
                for each in arguments:
                    walk(each)

    walk(parse_expression(text))
    return best


ranges = st.fixed_dictionaries(dict.fromkeys(NAMES, st.tuples(positive, positive).map(lambda p: (min(p), max(p)))))
shares = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from([F(0), F(1, 7), F(1, 2), F(1)])))


@given(texts(differences=True), ranges, shares)
def test_a_value_lies_within_its_bounds(
    text: str, ends: dict[str, tuple[Fraction, Fraction]], share: dict[str, Fraction]
) -> None:
    try:
        wide = bounds(text, {name: Interval.of(each) for name, each in ends.items()})
    except EvaluationError:
        assume(False)
    inside = {name: low + share[name] * (high - low) for name, (low, high) in ends.items()}
    point = bounds(text, {name: Interval.of(each) for name, each in inside.items()})
    assert wide.lower <= point.upper
    assert point.lower <= wide.upper
    # Exactly, where nothing is rounded.
    if not any(word in text for word in ("sqrt", "log2", "^(3/2)")):
        assert wide.lower <= point.lower <= point.upper <= wide.upper


@given(texts(differences=False), ranges)
def test_bounds_as_expressions_have_the_values_of_intervals(
    text: str, ends: dict[str, tuple[Fraction, Fraction]]
) -> None:
    """Bounds by names of the ends, evaluated by the language's own evaluator."""
    names = {name: FormulaBounds(parse_expression(f"{name}_low"), parse_expression(f"{name}_high")) for name in NAMES}
    expr = parse_expression(text)
    found = bound_formula(expr, names)
    point: Any = {f"{name}_low": low for name, (low, _) in ends.items()}
    point |= {f"{name}_high": high for name, (_, high) in ends.items()}
    box = {name: Interval.of(each) for name, each in ends.items()}
    expected = bound_value(expr, box, shared=False)
    assert held(expected, bound_value(expr, box))
    for end, each in ((expected.lower, found.lower), (expected.upper, found.upper)):
        value = evaluate(each, point)
        low, high = (value.lower, value.upper) if isinstance(value, Interval) else (F(value), F(value))
        # A logarithm makes an absolute error of the relative one of its argument: log2(1 + sqrt(a)^2) near 0.
        assert low - max(low, 1) * F(1, 10**9) <= end <= high + max(high, 1) * F(1, 10**9)
    # Names that are exact give one expression.
    same = {name: FormulaBounds(each.lower, each.lower) for name, each in names.items()}
    once = bound_formula(expr, same)
    assert once.lower is once.upper


def test_a_difference_of_amounts_is_bounded_by_opposite_ends() -> None:
    names = {name: FormulaBounds(parse_expression(f"{name}_low"), parse_expression(f"{name}_high")) for name in NAMES}
    found = bound_formula(parse_expression("c*max(0, a - b)/(b + 1)"), names)
    assert format_expression(found.lower) == "c_low*max(0, a_low - b_high)/(b_high + 1)"
    assert format_expression(found.upper) == "c_high*max(0, a_high - b_low)/(b_low + 1)"
    minus = bound_formula(parse_expression("-a"), names)
    assert (format_expression(minus.lower), format_expression(minus.upper)) == ("-a_high", "-a_low")


# Irrational powers.
@pytest.mark.parametrize(
    "text", ["2^(7/2)", "M^(2 - w/2)", "M^(w/2 - 1)", "n^w", "n^(1/3)", "(M/n)^(0-w)", "sqrt(n)", "log2(n)"]
)
def test_irrational_powers_are_enclosed(text: str) -> None:
    source = random.Random(text)
    with mpmath.workdps(80):
        for _ in range(60):
            point = {
                "M": F(source.randint(1, 10 ** source.randint(1, 12)), source.randint(1, 50)),
                "n": F(source.randint(1, 10 ** source.randint(1, 12))),
                "w": F(source.randint(2000, 3000), 1000),
            }
            found = bounds(text, {name: Interval.of(each) for name, each in point.items()})
            numbers = {name: mpmath.mpf(each.numerator) / each.denominator for name, each in point.items()}
            functions = {"sqrt": mpmath.sqrt, "log2": lambda x: mpmath.log(x, 2)}
            python = text.replace("^", "**").replace("7/2", "mpf(7)/2").replace("1/3", "mpf(1)/3")
            true = eval(python, {"__builtins__": {}, "mpf": mpmath.mpf, **functions, **numbers})
            # An 80-digit number decides which side it is on, unless it is the end itself.
            slack = mpmath.mpf(10) ** -70 * (1 + abs(true))
            assert _mpf(found.lower) <= true + slack
            assert true - slack <= _mpf(found.upper)
            assert found.width <= F(1, 10**9) * max(abs(found.upper), F(1))


def _mpf(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(
    "text", ["1/a", "1/(a - 1)", "a^(0-1)", "log2(a)", "sqrt(a - 1)", "log2(a - 2)", "(a - 5)^(1/2)"]
)
def test_what_has_no_value_everywhere_is_undefined(text: str) -> None:
    with pytest.raises(EvaluationError):
        bounds(text, {"a": Interval.of((0, 3))})


@pytest.mark.parametrize(
    "text", ["2^(10^9)", "a^(a^a)", "(2^60000)^60000", "(1/3)^(10^8)", "2^(0-10^9)", "1.5^(2^40)", "3^(10^9/2)"]
)
def test_powers_that_would_not_fit_are_refused_at_once(text: str) -> None:
    with pytest.raises(EvaluationError):
        bounds(text, {"a": Interval.of(50)})


@given(whole_machines(), positive, positive, positive, st.sampled_from(["ice", "roofline", "roofline+cap", "linear"]))
def test_elasticities_are_derivatives(on: Any, one: Fraction, other: Fraction, io: Fraction, name: str) -> None:
    """Against differences of the model's own energies, for parameters that move a little."""
    chosen = find_model(name)
    amounts: dict[str, Any] = {"work": max(one, other), "span": min(one, other), "io": io, "flops": one}
    amounts |= {"traffic": io, "words": other, "messages": io, "memory": one, "P": 3}
    estimate = estimate_amounts(chosen, on, amounts)
    found = ModelOnMachine(chosen, on, amounts.keys()).derive_elasticities(estimate)
    energy = exact(estimate.energy)
    names = {each for term in chosen.energy for each in names_in(chosen.formula(term))} & on.quantities.keys()
    for parameter in names:
        sides = []
        for step in (F(-1, 10**6), F(1, 10**6)):
            moved = made({**on.values, parameter: on.values[parameter] * (1 + step)})
            sides.append(float((exact(estimate_amounts(chosen, moved, amounts).energy) - energy) / (energy * step)))
        low, high = min(sides), max(sides)
        scale = max(1e-6, abs(low), abs(high)) * 1e-4
        assert low - scale <= found.get(parameter, 0.0) <= high + scale, parameter


# Units, and names.
@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("sqrt(eps_mem*eps_mem)", "J/B"),
        ("eps_mem^2/eps_mem", "J/B"),
        ("eps_mem^(1/2)*eps_mem^0.5", "J/B"),
        ("max(0, eps_mem)", "J/B"),
        ("0", "J"),
        ("0*word", "J"),
        ("-pi0*tau_mem", "J/B"),
        ("pi0/power_limit", "1"),
        ("log2(pi0/power_limit)", "1"),
        ("2^(pi0/power_limit)", "1"),
        ("1/frequency*pi0", "J"),
    ],
)
def test_units_of_formulas(text: str, unit: str) -> None:
    check_units(parse_expression(text), parse_dimension(unit))
    for other in ("message", "J*s"):
        if not text.startswith("0"):
            refusal(lambda other=other: check_units(parse_expression(text), parse_dimension(other)), "AL461")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("pi0 + eps_mem", "pi0 + eps_mem"),
        ("pi0*(tau_mem - tau_flop)", "tau_mem - tau_flop"),
        ("eps_mem^cores", "cores"),
        ("2^word", "word"),
        ("floor(word)", "floor(word)"),
        ("eps_mem^(1/0)", "1/0"),
    ],
)
def test_places_of_wrong_units(text: str, culprit: str) -> None:
    span = refusal(lambda: check_units(parse_expression(text), parse_dimension("J")), "AL461").span
    assert text[span.column - 1 : span.end_column - 1] == culprit


def test_unknown_names_are_found() -> None:
    found = refusal(lambda: check_units(parse_expression("eps_mme*traffic"), parse_dimension("J")), "AL462")
    assert "eps_mme" in found.message
    assert "eps_mem" in (found.hint or "")


@pytest.mark.parametrize(
    "text", ["a // 2", "a % 2", "abs(a)", "gcd(a, 2)", "a < 2", "a[1]", "min(a)", "max()", "not a", "sqrt(a, a)"]
)
def test_what_is_no_formula(text: str) -> None:
    def read() -> None:
        bound_value(parse_expression(text), {"a": Interval.of(1)})

    if text == "min(a)":
        read()
        return
    with pytest.raises(al.ArchlineError) as problem:
        read()
    assert problem.value.diagnostics[0].rule.code[:4] in ("AL46", "AL10")


# Targets typed by hand.
XEON = machine("xeon-e5-2650l-v3")


def energy(text: str, **at: Any) -> Callable[[], al.Energy]:
    return lambda: al.energy(text, machine=XEON, at=at)


def test_a_target_by_hand() -> None:
    found = energy("ice:work=3*n^3, span=n, io = n^3/L", n=10)()
    # 3000 operations, 125 lines of the default 8 words; memory: 23.29*125 > 0.108*3000.
    assert found.total == F("1e-9") * (F("0.263") * 3000 + F("8.86") * 125 + F("23.29") * 125 * F(10, 3000))
    assert found.parts["memory"] == F("8.86e-9") * 125
    assert energy("ice:work=3*n^3, span=n, io = n^3/L", n=10, L=1)().parts["memory"] == F("8.86e-9") * 1000
    # A whole number or not, a size of a formula is a number.
    assert energy("ice:work=n,span=1,io=0", n=F(5, 2))().parts["computation"] == F("0.263e-9") * F(5, 2)


def test_formulas_of_numbers_alone_have_a_value() -> None:
    found = al.energy("roofline:W=1e9,Q=1e6", machine="gtx-580@double")
    # 1e9 flops at 197.63 Gflop/s, 212 pJ each; 1e6 B at 513 pJ; 122 W all the time.
    seconds = F(10**9) / F("197.63e9")
    assert (found.time, found.total) == (seconds, F("0.212") + F("513e-6") + 122 * seconds)
    assert al.energy("roofline:W=n,Q=1e6", machine="gtx-580@double").total is None
    (point,) = al.compare("roofline:W=1e9,Q=1e6", "roofline:W=1e9,Q=1e7", machine="gtx-580").points
    assert point.verdict.less == "A"


@pytest.mark.parametrize(
    ("text", "code", "culprit"),
    [
        ("linear:F=W,W=2*S,S=W/m", "AL466", "2*S"),
        ("linear:F=1,W=2*W,S=1", "AL466", "2*W"),
        ("linear:F=n^2,Q=3", "AL466", "Q"),
        ("linear:F=n^2,W=3,F=4", "AL466", "F"),
        ("linear:F=n^2,flops=4", "AL466", "flops"),
        ("ice:work=n,span=1,io=1,wrok=2", "AL466", "wrok"),
        ("ice:work=n/0,span=1,io=1", "AL462", "n/0"),
        ("ice:work=n,span=1,io=log2(n - 3)", "AL462", "log2(n - 3)"),
        ("ice:work=n,span=1,io=2^(10^9)", "AL462", "2^(10^9)"),
        ("ice:work=n,span=1,io=n//2", "AL462", "n//2"),
        ("ice:work=n,span=1,io=1e99999", "AL462", "1e99999"),
        ("ice:work=n,span=1,io=n +", "AL101", ""),
        ("ice:work=n,span=1,io=n[1]", "AL462", "n[1]"),
        ("ice:work=n,span=1,io=f(n)", "AL462", "f(n)"),
        ("ice:work=n,span=1,", "AL101", ""),
        ("ice:=", "AL101", "="),
        ("ice:work=,span=1,io=1", "AL101", ","),
        ("ice:work==n,span=1,io=1", "AL10", None),
        ("ice:work=n;span=1,io=1", "AL10", None),
        ("ice:work=__import__('os').system('echo'),span=1,io=1", "AL10", None),
        ("ice:work=open,span=1,io=1", "AL40", None),
        ("ice:work=n.real,span=1,io=1", "AL401", None),
        ("ice:work=lambda,span=1,io=1", "AL40", None),
    ],
)
def test_places_of_mistakes_in_targets(text: str, code: str, culprit: str | None) -> None:
    with pytest.raises(al.ArchlineError) as problem:
        energy(text, n=3)()
    found = problem.value.diagnostics[0]
    assert found.rule.code.startswith(code)
    if culprit is not None:
        assert text[found.span.column - 1 : found.span.end_column - 1].startswith(culprit)
        assert not culprit or found.span.end_column - found.span.column >= len(culprit)


def test_models_and_sizes_of_targets() -> None:
    assert "did you mean `ice`" in (refusal(energy("icee:work=n,span=1,io=1", n=3), "AL459").hint or "")
    assert "did you mean `cap`" in (refusal(energy("roofline+cup:W=1,Q=1"), "AL459").hint or "")
    assert "`k`" in refusal(energy("ice:work=n,span=1,io=1", n=3, k=1), "AL401").message
    assert "`n`" in refusal(energy("ice:work=n,span=1,io=1"), "AL402").message
    refusal(energy("ice:work=n,span=1,io=1", n=-1), "AL406")
    refusal(energy("ice:work=n,span=1,io=1", n="3"), "AL404")
    assert "`io`" in refusal(energy("ice:work=n,span=1", n=3), "AL460").message
    refusal(energy("ice:work=1,span=n,io=1", n=3), "AL460")
    refusal(energy("ice:work=n,span=n - 3,io=1", n=3), "AL460")
    refusal(energy("ice:work=n,span=1,io=1 - n", n=3), "AL460")


@given(st.text(alphabet="nPMZL()+-*/^,=.0123456789eE_ :[]'\"", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(al.ArchlineError):
        found = read_target(f"linear:F={text},W=1")
        found.amounts(dict.fromkeys((*found.sizes, "P"), 2))
