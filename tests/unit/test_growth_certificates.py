"""Certificates and counterexamples are plain data, whose formal identities and numbers are checked here by sympy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sympy

from archline.growth.is_big_o import Proved, Refuted
from growth_questions import order_texts
from test_growth import FAILS, FAR, HOLDS


def constant(text: str) -> sympy.Expr:
    """A constant of a certificate; logarithms in terms of those of primes."""
    names = {"log2": lambda value: sympy.log(value) / sympy.log(2), "sqrt": sympy.sqrt}
    value = eval(text.replace("^", "**"), {"__builtins__": {}}, {**names, "Integer": sympy.Integer})
    return sympy.sympify(value)


def exact(text: str) -> sympy.Expr:
    """As `constant`, with literals made exact rationals first."""
    return constant(re.sub(r"(?<![\w.])(\d+)", r"Integer(\1)", text))


Powers = dict[str, sympy.Expr]


def times(total: Powers, monomial: Mapping[str, str], power: sympy.Expr) -> None:
    for atom, each in monomial.items():
        total[atom] = total.get(atom, sympy.Integer(0)) + exact(each) * power


def is_one(total: Powers) -> bool:
    return all(
        sympy.expand(sympy.expand_log(each, force=True)) == 0 or abs(each.evalf(60)) < 1e-50 for each in total.values()
    )


def leaves(proof: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "split" in proof:
        for case in proof["cases"]:
            yield from leaves(case["proof"])
    else:
        yield proof


def assert_nonnegative(text: str) -> None:
    assert exact(text).evalf(60) >= 0


def check_uses(uses: list[Mapping[str, Any]], total: Powers) -> None:
    """Multiply by small/large of each use; those that rest on others are looked into."""
    for use in uses:
        assert_nonnegative(use["times"])
        times(total, use["small"], exact(use["times"]))
        times(total, use["large"], -exact(use["times"]))
        if "uses" in use:
            check_derived(use)


def argument(monomial: Mapping[str, str]) -> str:
    (atom,) = monomial
    return atom.removeprefix("log2(")[:-1] if atom.startswith("log2(") else f"2^{atom}"


def powers_of(text: str) -> dict[str, str]:
    """An argument of a logarithm without quotient."""
    assert "/" not in text
    return {text: "1"}


def check_derived(use: Mapping[str, Any]) -> None:
    """What a rule about logarithms rests on, for arguments that are no quotients."""
    inner = argument(use["small"])
    if "/" in inner or "/" in str(use["large"]):
        return
    total: Powers = {}
    if use["because"]["rule"] == "order of logs":
        times(total, powers_of(argument(use["large"])), exact(use["because"]["power"]))
        times(total, powers_of(inner), sympy.Integer(-1))
    elif use["because"]["rule"] == "log below power":
        assert exact(use["because"]["power"]) > 0
        times(total, powers_of(inner), sympy.Integer(1))
        assert use["large"] == {inner: use["because"]["power"]}
    check_uses(use["uses"], total)
    assert is_one(total)


def in_sizes(text: str) -> sympy.Expr:
    """An expression in sizes, its logarithms as functions of which nothing is known."""
    names = {name: sympy.Symbol(name) for name in re.findall(r"[a-z]+", text)}
    exact_text = re.sub(r"(?<![\w.])(\d+)", r"Integer(\1)", text).replace("^", "**")
    known = {**names, "log2": sympy.Function("log2"), "Integer": sympy.Integer}
    return sympy.sympify(eval(exact_text, {"__builtins__": {}}, known))


def shifted(difference: Mapping[str, Any]) -> sympy.Expr:
    """What is left of a difference once the share of its terms is taken away, in what factors exceed their values."""
    kept = (sympy.prod(in_sizes(atom) ** exact(by) for atom, by in term.items()) for term in difference["keeps"])
    rest = in_sizes(difference["of"]) - exact(difference["share"]) * sum(kept)
    for index, bound in enumerate(difference["least"]):
        ((factor, _),) = bound["large"].items()
        rest = rest.subs(in_sizes(factor), sympy.Symbol(f"x{index}") + 1 / exact(bound["factor"]))
    return sympy.expand(rest)


def check(certificate: Mapping[str, Any]) -> None:
    assert certificate["format"] == 1
    for bound in certificate["bounds"]:
        for proof in leaves(bound["proof"]):
            total: Powers = {}
            for side, allowed, sign in (("left", "smallest_of", -1), ("right", "largest_of", 1)):
                assert sympy.simplify(sum(exact(weight) for _, weight in proof[side]) - 1) == 0
                for monomial, weight in proof[side]:
                    assert_nonnegative(weight)
                    assert monomial in bound[allowed]
                    times(total, monomial, sign * exact(weight))
            check_uses(proof["uses"], total)
            assert is_one(total)
    for difference in certificate["differences"]:
        if "least" in difference:
            assert min(sympy.Poly(shifted(difference), *sympy.symbols("x:9")).coeffs()) >= 0
        for cover in difference.get("covers", ()):
            total = {}
            times(total, cover["into"], sympy.Integer(-1))
            times(total, cover["term"], sympy.Integer(1))
            factor = sympy.Integer(1)
            for use in cover["uses"]:
                assert_nonnegative(use["times"])
                times(total, use["large"], exact(use["times"]))
                times(total, use["small"], -exact(use["times"]))
                factor *= exact(use["factor"]) ** exact(use["times"])
            assert is_one(total)
            assert (exact(cover["factor"]) - factor).evalf(40) >= 0


@pytest.mark.parametrize(("f", "g", "where"), [*HOLDS, *FAR])
def test_certificates_add_up(f: str, g: str, where: str) -> None:
    answer = order_texts(f, g, where)
    assert isinstance(answer, Proved)
    certificate = answer.certificate
    assert json.loads(json.dumps(certificate)) == certificate
    check(certificate)


@pytest.mark.parametrize(("f", "g", "where"), FAILS)
def test_counterexamples_show_it(f: str, g: str, where: str) -> None:
    answer = order_texts(f, g, where)
    assert isinstance(answer, Refuted)
    found = answer.counterexample
    assert json.loads(json.dumps(found)) == found
    if found["kind"] == "point":
        assert float(found["f"]) > 0 >= float(found["g"])
        return
    samples: Any = found["samples"]
    ratios = [each["ratio"] for each in samples]
    assert len(samples) >= 2
    logs = [float("inf") if ratio == "infinite" else logarithm(ratio) for ratio in ratios]
    assert logs[-1] > logs[0] or logs[0] == float("inf")


def logarithm(text: str) -> float:
    """log2 of `1.5e+7` or `2^1.5e+7`."""
    return float(text[2:]) if text.startswith("2^") else float(sympy.log(sympy.Float(text), 2))


def test_the_mean_inequality_has_equal_weights() -> None:
    answer = order_texts("(n*m*p)^(2/3)", "n*m + m*p + n*p")
    assert isinstance(answer, Proved)
    (bound,) = answer.certificate["bounds"]  # type: ignore[misc]
    assert [weight for _, weight in bound["proof"]["right"]] == ["1/3", "1/3", "1/3"]
    assert bound["proof"]["uses"] == []


def test_a_logarithm_below_a_power_is_not_needlessly_slow() -> None:
    answer = order_texts("n*log2(n)", "n^(3/2)")
    assert isinstance(answer, Proved)
    (bound,) = answer.certificate["bounds"]  # type: ignore[misc]
    assert bound["proof"]["uses"][0]["because"] == {"rule": "log below power", "power": "1/2"}


def test_sizes_of_a_counterexample() -> None:
    """n = 16: 2^8 against 16*log2(18); a person can check that."""
    answer = order_texts("n^2", "n*log2(n)")
    assert isinstance(answer, Refuted)
    found: Any = answer.counterexample
    assert found["curve"] == {"n": "2^T"}
    assert found["ratio"] == "2^T/T"
    assert found["samples"][0] == {"at": {"n": "16"}, "f": "256", "g": "66.7188", "ratio": "3.83700"}
