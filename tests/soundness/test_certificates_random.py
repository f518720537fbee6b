"""Random mutations of certificates, and random expressions for the checker's own bounds, held against values."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import floor, mp, mpf

from archline.certificates.bounds import BoundDeriver
from archline.certificates.check import check
from archline.certificates.constants import RejectedError
from archline.certificates.forms import Form, Monomial
from archline.growth.is_big_o import Proved, Refuted
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression, parse_facts
from certificate_mutations import mutated
from effort import drawn
from growth_questions import FACTS, order_texts, questions
from growth_support import grows_somewhere
from test_certificates import answered, growths, outcome
from test_growth import HOLDS

Point = Mapping[str, mpf]
NAMES = ("n", "m", "p")
# Constants stay below this in small expressions; a power of a size as small as 0.01 passes it.
LARGEST = mpf(2) ** 14
EXPONENTS = (0, 0.3, 1, 1.5, 2, 5, 20, 300)


def value(expr: s.Expr, point: Point) -> mpf:
    """The value of an expression by mpmath; log2(w) is log2(2 + w) unless w is a constant."""
    match expr:
        case s.Integer(value=number):
            return mpf(number)
        case s.Real(text=text):
            return mpf(text)
        case s.Name(id=name):
            return point[name]
        case s.Unary(operand=operand):
            return -value(operand, point)
        case s.Binary(op=op, left=left, right=right):
            a, b = value(left, point), value(right, point)
            match op:
                case "+":
                    return a + b
                case "-":
                    return a - b
                case "*":
                    return a * b
                case "/":
                    return a / b
                case "//":
                    return floor(a / b)
                case "%":
                    return a - b * floor(a / b)
                case "^":
                    return a**b
        case s.Call(function="log2", arguments=(inner,)):
            constant = not any(isinstance(each, s.Name) for each in s.iterate_nodes(inner))
            return mp.log(value(inner, point) + (0 if constant else 2), 2)
        case s.Call(function=function, arguments=arguments):
            functions = {"min": min, "max": max, "sqrt": mp.sqrt, "floor": floor, "ceil": mp.ceil, "abs": abs}
            return functions[function](*(value(each, point) for each in arguments))
    raise AssertionError(type(expr).__name__)


def points(chance: random.Random, names: tuple[str, ...], count: int) -> list[Point]:
    return [{name: mpf(2) ** chance.choice(EXPONENTS) for name in names} for _ in range(count)]


def satisfied(fact: s.Fact, point: Point) -> bool:
    """Whether a comparison holds; what is implied by the other facts."""
    match fact:
        case s.Binary(op="and", left=left, right=right):
            return satisfied(left, point) and satisfied(right, point)
        case s.Binary(op=op, left=left, right=right):
            a, b = value(left, point), value(right, point)
            return {"<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b, "==": a == b}[op]
        case s.Divides(divisor=divisor, value=of):
            return value(divisor, point) <= value(of, point)
        case s.IsPower(value=of):
            # Of a base that is at least 1: no other is used in a proof.
            return value(of, point) >= 1
    return True


# Mutations
def assert_still_proved(certificate: dict[str, Any], chance: random.Random) -> None:
    """What was accepted is true by the solver and by values."""
    f, g = parse_expression(certificate["f"]), parse_expression(certificate["g"])
    facts = [fact for text in certificate["facts"] for fact in parse_facts(text)]
    with suppress(ArchlineError):  # where f is nowhere positive
        assert not isinstance(order_texts(certificate["f"], certificate["g"], ", ".join(certificate["facts"])), Refuted)
    names = tuple(sorted(names_in(f, g, *facts)))
    if not uses(("log2",), f, g):
        assert_bounded(f, g, facts, names, chance)
    comparisons = all(isinstance(fact, s.Binary) and fact.op in ("<=", ">=", "==") for fact in facts)
    # What is known needs no values: log2(n)^100 is below n^0.01 from n = 2^220000 on, beyond those tried.
    known = (certificate["f"], certificate["g"], ", ".join(certificate["facts"])) in HOLDS
    hard = uses(("-", "//", "%", "floor", "ceil", "abs", "2^"), f, g) or uses(("2^",), *facts)
    if comparisons and "L" not in names and not hard and not known:
        assert not grows_somewhere(f, g, facts, names, 6)


def assert_bounded(f: s.Expr, g: s.Expr, facts: list[s.Fact], names: tuple[str, ...], chance: random.Random) -> None:
    with mp.workprec(1500):
        for point in points(chance, names, 40):
            cached = "Z" not in point or "L" not in point or point["Z"] >= point["L"]
            if cached and all(satisfied(fact, point) for fact in facts):
                assert value(f, point) <= LARGEST * value(g, point)


def names_in(*parts: s.Fact) -> set[str]:
    return {each.id for part in parts for each in s.iterate_nodes(part) if isinstance(each, s.Name)}


def uses(operations: tuple[str, ...], *exprs: s.Expr) -> bool:
    """Whether one of the operations occurs; "2^" is a power with a name in its exponent."""
    found: set[str] = set()
    for each in (node for expr in exprs for node in s.iterate_nodes(expr)):
        match each:
            case s.Binary(op="^", right=right) if names_in(right):
                found.add("2^")
            case s.Call(function=name) | s.Unary(op=name) | s.Binary(op=name):
                found.add(name)
    return not found.isdisjoint(operations)


@cache
def certificates() -> list[dict[str, Any]]:
    asked = [*HOLDS, *((g, f, where) for f, g, where in HOLDS), *growths()]
    found: list[dict[str, Any]] = []
    for question in asked:
        try:
            found += [answer.certificate for _, answer in answered([question]) if isinstance(answer, Proved)]
        except ArchlineError:
            continue
    return found


SEEDS = 4


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutations_that_are_accepted_are_proofs(seed: int) -> None:
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    for certificate in certificates()[seed::SEEDS]:
        for _ in range(6):
            changed, _, _ = mutated(certificate, chance)
            accepted = check(changed).accepted
            counts["accepted" if accepted else "rejected"] += 1
            if accepted:
                assert_still_proved(changed, chance)
    assert counts["rejected"] > 10 * counts["accepted"] > 100


@pytest.mark.parametrize("where", FACTS[::3])
def test_mutations_of_random_certificates(where: str) -> None:
    chance = random.Random(where)

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(questions())
    def ask(texts: tuple[str, str]) -> None:
        answer = order_texts(*texts, where)
        if isinstance(answer, Proved):
            assert check(answer.certificate).accepted
            for _ in range(6):
                changed, _, _ = mutated(answer.certificate, chance)
                if check(changed).accepted:
                    assert_still_proved(changed, chance)

    ask()


# Bounds
LEAVES = st.sampled_from(["n", "m", "p", "n", "m", "1", "2", "1/2", "n^2", "log2(n)", "log2(m)", "n/m", "1/p", "0"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = [
        "({} + {})", "({} - {})", "{}*{}", "{}/{}", "min({}, {})", "max({}, {})", "{}//{}", "({})%({})",
        "2^log2({})*{}", "({}*2 - {}/2)",
    ]  # fmt: skip
    one = ["({})^2", "sqrt({})", "({})^(1/3)", "floor({})", "ceil({})", "abs({})", "log2({})", "1/({})", "({})^log2(3)"]
    return st.one_of(
        st.builds(lambda form, a, b: form.format(f"({a})", f"({b})"), st.sampled_from(two), inner, inner),
        st.builds(lambda form, a: form.format(a), st.sampled_from(one), inner),
    )


SIDES = ("", "n >= m", "n >= 2*m", "n >= 2", "n >= m + p", "m divides n", "m <= 10", "n >= m^2", "n - m >= p")


@settings(max_examples=drawn(150), suppress_health_check=list(HealthCheck))
@given(
    st.recursive(LEAVES, larger, max_leaves=4), LEAVES, st.sampled_from(SIDES), st.integers(0, 3), st.integers(0, 999)
)
def test_questions_with_subtraction(text: str, other: str, where: str, kind: int, seed: int) -> None:
    """What the prover shows of f, of f and a little less, and of f and a little more is accepted, and true."""
    g = [f"{text} + {other}", f"3*({text}) - {other}", f"({text})*{other} - ({text})/2", other][kind]
    for question in ((text, g, where), (g, text, where)):
        try:
            answer = order_texts(*question)
        except ArchlineError:
            continue
        if isinstance(answer, Proved | Refuted):
            assert str(outcome(question, answer)) == "accepted"
        if isinstance(answer, Proved) and not uses(
            ("log2",), *(f_and_g := [parse_expression(each) for each in question[:2]])
        ):
            facts = list(parse_facts(where)) if where else []
            assert_bounded(*f_and_g, facts, NAMES, random.Random(seed))


def magnitude(bound: Form, point: Point, *, upper: bool) -> mpf:
    inner, outer = (min, max) if upper else (max, min)
    return outer(inner(monomial_at(each, point) for each in clause) for clause in bound)


def monomial_at(monomial: Monomial, point: Point) -> mpf:
    total = mpf(1)
    for atom, by in monomial.powers:
        base = point[atom.text] if atom.of is None else mp.log(2 + monomial_at(atom.of, point), 2)
        total *= base ** mpf(str(by.enclose(200).mid().str(40, radius=False)))
    return total


@settings(max_examples=drawn(250), suppress_health_check=list(HealthCheck))
@given(st.recursive(LEAVES, larger, max_leaves=6), st.integers(0, 10**6))
def test_bounds_hold_at_points(text: str, seed: int) -> None:
    expr, bounds = parse_expression(text), BoundDeriver(lambda terms: None)
    try:
        bounds.require_defined(expr)
        upper, lower = bounds.bound_above(expr), bounds.bound_below(expr)
    except RejectedError:
        return
    with mp.workprec(2000):
        for point in points(random.Random(seed), NAMES, 8):
            found = value(expr, point)
            assert found >= 0 or not bounds.is_nonnegative(expr)
            assert found <= (LARGEST * magnitude(upper, point, upper=True) if upper else 0)
            if lower is not None:
                assert found * LARGEST >= magnitude(lower, point, upper=False)
