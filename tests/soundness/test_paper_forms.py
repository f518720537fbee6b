"""Forms of papers against evaluation: symbolic forms keep their values, and what is proved has no counterexample."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.language.parser import parse_expression
from archline.papers import forms
from effort import drawn

NAMES = ("a", "b", "c")


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """Forms of positive names; what is subtracted may be larger."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([*NAMES, "2", "3/2"]))
    left, right = draw(texts(depth - 1)), draw(texts(depth - 1))
    power = draw(st.sampled_from(["2", "(1/2)", "(2/3)", "(-1)", "(3/2)"]))
    return draw(
        st.sampled_from(
            [
                f"({left} + {right})",
                f"({left} - {right})",
                f"{left}*{right}",
                f"{left}/({right})",
                f"max({left}, {right})",
                f"min({left}, {right})",
                f"({draw(st.sampled_from(NAMES))}*{draw(st.sampled_from(NAMES))} + 1)^{power}",
                f"{draw(st.sampled_from(NAMES))}^{power}",
                f"log2({draw(st.sampled_from(NAMES))}*{draw(st.sampled_from(NAMES))})",
            ]
        )
    )


def value(text: str, point: dict[str, Fraction]) -> float | None:
    found = forms.evaluate_at(parse_expression(text), point)
    return None if found is None else float(found.middle)


def undefined() -> tuple[object, ...]:
    """What sympy makes of a division by 0, or of a root of a negative number."""
    import sympy

    return sympy.zoo, sympy.nan, sympy.oo, sympy.I


def somewhere(seed: int) -> dict[str, Fraction]:
    drawn_at = random.Random(seed)
    return {name: Fraction(drawn_at.randint(1, 400), drawn_at.choice([1, 10, 100])) for name in NAMES}


@settings(max_examples=drawn(40, 4), deadline=None)
@given(texts(), st.integers(0, 10**6))
def test_a_symbolic_form_has_the_value_of_the_expression(text: str, seed: int) -> None:
    point = somewhere(seed)
    expected = value(text, point)
    try:
        form = forms.build_form(parse_expression(text))
    except ZeroDivisionError:
        return
    if expected is None or form.has(*undefined()):
        return
    found = value(forms.format_form(form), point)
    assert found is None or abs(found - expected) <= 1e-6 * max(1, abs(expected))


@settings(max_examples=drawn(40, 4), deadline=None)
@given(texts(), texts(), st.integers(0, 10**6))
def test_what_vanishes_is_0_and_a_sign_is_that_of_the_value(left: str, right: str, seed: int) -> None:
    point = somewhere(seed)
    values = value(left, point), value(right, point)
    form = forms.build_form(parse_expression(f"{left} - ({right})"))
    if None in values or form.has(*undefined()):
        return
    gap = values[0] - values[1]  # type: ignore[operator]
    scale = 1e-6 * max(1.0, *map(abs, values))  # type: ignore[arg-type]
    if forms.is_zero(form):
        assert abs(gap) <= scale
    sign = forms.compute_sign(form)
    assert sign is None or sign * gap >= -scale


@st.composite
def claims(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Inequalities of sums of powers, and facts that bound one name by others."""

    def product() -> str:
        return "*".join(f"{name}^({draw(st.sampled_from(['1', '2', '1/2', '-1', '-2/3']))})" for name in NAMES)

    sides = [" + ".join(product() for _ in range(draw(st.integers(1, 2)))) for _ in range(2)]
    relation = draw(st.sampled_from(["<=", ">=", "<", ">"]))
    facts = draw(
        st.sampled_from(
            [[], ["a >= b"], ["a <= b"], ["b >= 1", "a >= b"], ["a > b"], ["a >= b", "a <= b^2"], ["a <= 1"]]
        )
    )
    return f"{sides[0]} {relation} {sides[1]}", facts


@settings(max_examples=drawn(40, 4), deadline=None)
@given(claims(), st.sampled_from(["every", "no", "some"]), st.integers(0, 10**6))
def test_a_claim_is_decided_as_points_have_it(claim: tuple[str, list[str]], quantifier: str, seed: int) -> None:
    text, facts = claim
    with TemporaryDirectory() as folder:
        path = Path(folder) / "own.toml"
        path.write_text(f'[[row]]\nplace = "1"\nkind = "claim"\nprinted = "{quantifier}: {text}"\nwhere = {facts}\n')
        (found,) = al.papers(str(path)).rows
    if found.verdict == "undecided":
        return
    claimed = quantifier if found.verdict == "equal" else found.derived.partition(":")[0]
    held = [
        holds(text, point) for point in map(somewhere, range(seed, seed + 60)) if all(holds(f, point) for f in facts)
    ]
    if claimed == "every":
        assert all(held)
    if claimed == "no":
        assert not any(held)
    assert found.verdict == "equal" or (found.witness is not None and found.witness.is_confirmed())


def holds(text: str, point: dict[str, Fraction]) -> bool:
    left, right = sides(text, point)
    return "=" in text if close(left, right) else (left < right) == ("<" in text)


def sides(text: str, point: dict[str, Fraction]) -> tuple[float, float]:
    left, right = (value(each, point) for each in re.split("[<>]=?", text))
    assert left is not None
    assert right is not None
    return left, right


def close(left: float, right: float) -> bool:
    return abs(left - right) <= 1e-9 * max(abs(left), abs(right))
