"""The Python API, as a notebook or a test uses it."""

from __future__ import annotations

import inspect
import pydoc
import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.sympy_bridge import to_sympy
from archline.execution.data import generate_arguments
from archline.expr.intervals import EvaluationError
from effort import drawn, some
from stdlib_targets import TRIED, report

ROOT = Path(__file__).resolve().parents[2]
COSTS = [(target, metric) for target in TRIED for metric in ("flops", "work", "span")]


def code_of(problem: pytest.ExceptionInfo[al.ArchlineError]) -> set[str]:
    return {diagnostic.rule.code for diagnostic in problem.value.diagnostics}


# Loading
def test_load() -> None:
    module = al.load("dense.matmul")
    assert "matmul_basic" in module
    assert next(iter(module)) == "matmul_basic"
    assert len(module) == len(list(module))
    algorithm = module["matmul_basic"]
    assert algorithm.name == "matmul_basic"
    assert algorithm.parameters == ("A", "B", "C")
    assert algorithm.sizes == ("n", "m", "p")
    assert al.algorithm("dense.matmul::matmul_basic").name == "matmul_basic"


def test_load_a_path_and_a_text(tmp_path: Path) -> None:
    text = "algorithm f(x: inout real[n]):\n    x[0] = 1\n"
    path = tmp_path / "f.algo"
    path.write_text(text, encoding="utf-8")
    assert list(al.load(path)) == list(al.load(str(path))) == list(al.loads(text)) == ["f"]


def test_unknown_names() -> None:
    with pytest.raises(al.ArchlineError) as problem:
        al.load("dense.matmul")["matmul_basik"]
    assert problem.value.diagnostics[0].hint == "did you mean `matmul_basic`?"
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        al.lod  # type: ignore[attr-defined]  # noqa: B018
    assert {"load", "energy", "Cache"} <= set(dir(al))


# Costs
def test_costs_are_sympy_expressions() -> None:
    cost = al.load("dense.matmul")["matmul_basic"].cost()
    n, m, p = (cost.symbols[name] for name in "nmp")
    assert cost.flops.lower == cost.flops.upper == 2 * n * m * p
    assert cost.span.upper == 3 * m * p + p + sympy.ceiling(sympy.log(n, 2)) + 2
    assert cost.work.status == "exact"
    assert cost.work.text == "3*n*m*p + n*p + n + 1"
    assert set(cost.flops_by_kind) == {"add", "mul"}
    assert [each.name for each in cost] == ["flops", "work", "span", "io"]


def test_values_at_sizes() -> None:
    cost = al.load("dense.matmul")["matmul_basic"].cost()
    assert cost.flops.at(n=3, m=4, p=5) == 120
    assert isinstance(cost.flops.at(n=3, m=4, p=5), int)
    assert cost.flops.at({"n": 10**30, "m": 1, "p": 1}) == 2 * 10**30
    # The span holds all three, and flops do too; what an expression does not hold may be left out.
    assert al.load("dense.trmm")["trmm"].cost().span.at(n=4, m=8) == 24 + 14 + 3 + 2
    assert al.load("sparse.csr")["spmv_csr"].cost().flops.at(nz=7) == 14
    assert al.load("sort.merge")["merge"].cost().flops.at(n=3, m=4) == (0, 7)


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"n": 0, "m": 1, "p": 1}, "AL406"),
        ({"n": Fraction(1, 2), "m": 1, "p": 1}, "AL405"),
        ({"n": 1.5, "m": 1, "p": 1}, "AL404"),
        ({"n": True, "m": 1, "p": 1}, "AL404"),
        ({"n": "3", "m": 1, "p": 1}, "AL404"),
        ({"n": 1, "m": 1}, "AL402"),
        ({"n": 1, "m": 1, "p": 1, "q": 1}, "AL401"),
    ],
)
def test_wrong_sizes(sizes: dict[str, int], code: str) -> None:
    cost = al.load("dense.matmul")["matmul_basic"].cost()
    with pytest.raises(al.ArchlineError) as problem:
        cost.flops.at(**sizes)
    assert code_of(problem) == {code}


def test_costs_without_a_value() -> None:
    text = "algorithm f(x: inout real[n]):\n    while x[0] < 1.0 at most n^n times:\n        x[0] += 1.0\n"
    recursive = al.loads(text)["f"].cost()
    assert recursive.work.status == "unknown"
    assert recursive.work.lower is None
    assert recursive.work.reason
    assert recursive.work.text == "unknown"
    with pytest.raises(al.ArchlineError) as problem:
        recursive.work.at(n=3)
    assert code_of(problem) == {"AL414"}
    rooted = al.loads(
        "extern g(a: real) -> real costs sqrt(f) flops\n\nalgorithm h(x: inout real[n]):\n    x[0] = g(x[0])\n"
    )
    with pytest.raises(al.ArchlineError) as problem:
        rooted["h"].cost().flops.at(f=2)
    assert code_of(problem) == {"AL415"}
    assert rooted["h"].cost().flops.at(f=4) == 2


def test_where_narrows_a_cost() -> None:
    algorithm = al.loads("algorithm f(x: inout real[n]):\n    for i in 5..n:\n        x[i] = 1\n")["f"]
    n = algorithm.cost().symbols["n"]
    assert algorithm.cost().work.upper == sympy.Max(0, n - 5) + 1
    narrowed = algorithm.cost(where="n >= 5")
    assert narrowed.work.upper == n - 4
    assert narrowed.assumptions == ("n >= 5",)
    with pytest.raises(al.ArchlineError) as problem:
        narrowed.work.at(n=4)
    assert code_of(problem) & {"AL406", "AL407"}
    with pytest.raises(al.ArchlineError):
        algorithm.cost(where="k >= 5")


def test_where_in_a_file_that_uses_others() -> None:
    header = "algorithm f(A: real[n, m], B: real[m, p], C: inout real[n, p]):\n"
    text = f"use dense.matmul\nuse dense.gemv\n\n{header}    matmul_basic(A, B, C)\n"
    algorithm = al.loads(text)["f"]
    assert algorithm.cost(where="n == 1").work.at(n=1, m=2, p=3) == algorithm.cost().work.at(n=1, m=2, p=3)


def test_ensures() -> None:
    verdicts = al.load("dense.matmul")["matmul_basic"].cost().ensures
    assert [each.outcome for each in verdicts[:3]] == ["holds"] * 3


@cache
def translated(target: str, metric: str) -> list[tuple[Poly, sympy.Expr]]:
    """The bounds of a cost, each with its sympy expression."""
    cost = report(target).costs[metric]
    return [(bound, to_sympy(bound)) for bound in dict.fromkeys((cost.lower, cost.upper)) if bound is not None]


@pytest.mark.parametrize(("target", "metric"), some(COSTS, 22), ids=lambda part: str(part))
@settings(max_examples=drawn(8, least=3), deadline=None)
@given(data=st.data())
def test_sympy_agrees_with_exact_evaluation(target: str, metric: str, data: st.DataObject) -> None:
    for bound, expression in translated(target, metric):
        sizes = st.one_of(st.integers(1, 40), st.sampled_from([64, 127, 128, 129]))
        point = {name: data.draw(sizes, name) for name in sorted(bound.names)}
        try:
            expected = evaluate(bound, point)
        except EvaluationError:
            # A logarithm that is irrational there.
            continue
        found = expression.subs({symbol: point[symbol.name] for symbol in expression.free_symbols})
        assert sympy.simplify(found - sympy.Rational(expected.numerator, expected.denominator)) == 0


def test_sympy_symbols_know_their_least_value() -> None:
    cost = al.load("sort.merge")["merge"].cost()
    assert cost.symbols["n"].is_nonnegative
    assert cost.symbols["n"].is_positive is None
    assert al.load("dense.gemv")["gemv"].cost().symbols["n"].is_positive
    assert sympy.lambdify(list(cost.work.upper.free_symbols), cost.work.upper)(3, 4) == 74


# Representations
def test_representations_in_a_notebook() -> None:
    cost = al.load("dense.matmul")["matmul_basic"].cost()
    assert cost.flops._repr_latex_() == r"$\mathrm{flops} = 2\,n\,m\,p$"
    assert "<code>2*n*m*p</code>" in cost._repr_html_()
    assert r"\begin{array}{llll}" in cost._repr_latex_()
    assert "2*n*m*p" in repr(cost.flops)
    assert "2*n*m*p" in repr(cost)
    assert "span               3*m*p + p + ceil(log2(n)) + 2  exact" in str(cost)
    merged = al.load("sort.merge")["merge"].cost().flops
    assert merged._repr_latex_() == r"$0 \le \mathrm{flops} \le n + m$"
    assert "sum over k" in cost.explain("work")
    html = al.loads('algorithm f(x: inout real[n]):\n    "a < b"\n    x[0] = 1\n')["f"].cost()._repr_html_()
    assert "<script" not in html


# Runs
def test_run_in_numpy_out() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.random((3, 4)), generator.random((4, 5))
    c = np.zeros((3, 5))
    run = al.load("dense.matmul")["matmul_basic"].run(A=a, B=b, C=c, cache=al.Cache(Z=64, L=4))
    np.testing.assert_allclose(run.outputs["C"], a @ b)
    assert not c.any()
    assert run.counts.flops == 120
    assert run.counts.io == 3 * 1 + 4 * 2 + 3 * 2
    assert run.sizes == {"n": 3, "m": 4, "p": 5}
    assert run.outside == ()
    assert run.costs.flops.at(**run.sizes) == run.counts.flops
    assert "derived lower" in str(run)


def test_run_without_a_cache() -> None:
    run = al.load("sort.lower_bound")["lower_bound"].run({"a": [1.0, 2.0, 3.0], "key": 2.5})
    assert run.value == 2
    assert run.counts.io is None
    assert "io is not counted" in str(run)
    assert run.outside == ()


def test_run_takes_arguments_by_awkward_names() -> None:
    algorithm = al.loads("algorithm f(cache: inout real[n]):\n    cache[0] += 1\n")["f"]
    assert algorithm.run({"cache": [1.0]}).outputs["cache"][0] == 2.0


def test_run_refuses_wrong_arguments() -> None:
    algorithm = al.load("dense.gemv")["gemv"]
    with pytest.raises(al.ArchlineError) as problem:
        algorithm.run(A=np.zeros((2, 2)))
    assert code_of(problem) == {"AL520"}
    with pytest.raises(al.ArchlineError) as problem:
        algorithm.run(A=np.zeros((2, 2)), B=1)
    assert code_of(problem) == {"AL521"}


# Energy
def test_energy() -> None:
    algorithm = al.load("dense.matmul")["matmul_basic"]
    at = {"n": 8, "m": 8, "p": 8}
    answer = al.energy(
        algorithm, machine="xeon-e5-2650l-v3", model="ice", at=at, cache=al.Cache(Z=64, L=8), measured=True
    )
    assert isinstance(answer, al.Energy)
    assert answer.total == sum(answer.parts.values())
    eps_op = Fraction(263, 10**12)
    assert answer.parts["computation"] == eps_op * algorithm.cost().work.at(**at)
    assert answer.binds in ("computation", "memory", "balanced")
    assert "Z = 64, L = 8" in str(answer)
    bounds = al.energy(algorithm, machine="xeon-e5-2650l-v3", at=at, cache=al.Cache(Z=64, L=8)).total
    low, high = bounds if isinstance(bounds, tuple) else (bounds, bounds)
    assert low <= answer.total <= high
    shown = " ".join(str(al.energy(algorithm, machine="xeon-e5-2650l-v3", at=at)).split())
    assert "Z = 32768, L = 8 (assumed)" in shown
    with pytest.raises(al.ArchlineError) as problem:
        al.energy(algorithm, machine="xeon", at=at)
    assert code_of(problem) == {"AL450"}


def test_energy_is_a_package_too() -> None:
    import archline.energy.models.ice as ice

    assert ice.MODEL.name == "ice"
    assert callable(al.energy)
    assert callable(al.compare)


# The package
def test_one_version() -> None:
    assert f'\nversion = "{al.__version__}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_exported_name_is_there() -> None:
    for name in al.__all__:
        assert getattr(al, name) is not None


def test_regimes_have_conditions_and_expressions() -> None:
    """At n = m = p = 6 in lines of 2: an access each, and from a row and two lines on a column of B at a time."""
    cost = al.load("dense.matmul")["matmul_basic"].cost()
    at = {cost.symbols[name]: value for name, value in {"n": 6, "m": 6, "p": 6, "L": 2}.items()}
    found = {each.when: each.upper.subs(at) for each in cost.io.regimes}
    assert found["Z >= L"] == 3 * 6**3
    assert found["Z >= L*(m + 2)"] == 6 * 6 * 3 + 6 * 6 * 3 + 6 * 3
    assert list(found)[-1] == "Z >= L*(m*ceil(p/L) + ceil(m/L) + 1)"
    assert found[list(found)[-1]] == 3 * 6 * 3
    work = al.load("sort.mergesort")["mergesort"].cost().work
    assert [each.when for each in work.regimes] == ["n <= 1", "otherwise"]
    assert cost.work.regimes == ()


def test_exactly_what_is_public_is_listed() -> None:
    assert dir(al) == sorted(al.__all__)
    assert {"order", "recurrence", "machines", "compare", "energy", "run"} - set(dir(al)) == {"run"}


def test_public_functions_have_signatures() -> None:
    """Packages that are called as functions have those of the functions."""
    for name in dir(al):
        each = getattr(al, name)
        if callable(each):
            assert "arguments" not in inspect.signature(each).parameters, name
    assert list(inspect.signature(al.compare).parameters)[:2] == ["targets", "machine"]
    assert inspect.signature(al.energy).parameters["machine"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "machine: 'str | Machine'" in pydoc.render_doc(al.energy, renderer=pydoc.plaintext)
    with pytest.raises(AttributeError, match="nothing"):
        _ = al.compare.nothing  # type: ignore[attr-defined]


def test_sizes_are_keywords_everywhere() -> None:
    """As keywords and as mappings they are the same."""
    target, other, machine = "dense.matmul::matmul_basic", "dense.matmul::matmul_ikj", "xeon-e5-2650l-v3"
    sizes = {"n": 4, "m": 5, "p": 6}
    algorithm = al.algorithm(target)
    assert algorithm.cost().flops.at(**sizes) == algorithm.cost().flops.at(sizes) == 2 * 4 * 5 * 6
    assert al.energy(target, machine=machine, **sizes).total == al.energy(target, machine=machine, at=sizes).total
    mixed = al.energy(target, machine=machine, at={"n": 4, "m": 9}, m=5, p=6)
    assert mixed.result.at == sizes
    by_keyword = al.compare(target, other, machine=machine, **sizes).points
    assert [each.verdict for each in by_keyword] == [
        each.verdict for each in al.compare(target, other, machine=machine, at=sizes).points
    ]
    assert al.plot_io(algorithm, **sizes).points == al.plot_io(algorithm, sizes).points
    assert str(al.energy(target, machine=machine)) == str(al.energy(target, machine=machine, at=None))


def test_a_run_of_sizes_alone_generates_its_data() -> None:
    algorithm = al.algorithm("dense.matmul::matmul_basic")
    sizes = {"n": 4, "m": 5, "p": 6}
    run = algorithm.run(**sizes, cache=al.Cache(Z=64, L=8), seed=3)
    data = generate_arguments(algorithm.module, algorithm.node, sizes, 3)
    given = algorithm.run(data, cache=al.Cache(Z=64, L=8))
    assert run.sizes == given.sizes == sizes
    assert run.counts == given.counts
    assert np.array_equal(run.outputs["C"], given.outputs["C"])
    assert not np.array_equal(run.outputs["C"], algorithm.run(**sizes, seed=4).outputs["C"])
    assert algorithm.run(sizes).counts.flops == run.counts.flops
    with pytest.raises(al.ArchlineError, match="AL402"):
        algorithm.run(n=4)
    with pytest.raises(al.ArchlineError, match="AL521"):
        algorithm.run(A=data["A"], n=4)


@pytest.mark.parametrize(
    ("sizes", "fact"), [({"nz": 5, "nr": 9}, "nr <= nz"), ({"nz": 50, "nr": 2}, "nz <= n*nr"), ({"nz": 5, "nr": 3}, "")]
)
def test_sizes_that_no_sparse_matrix_has_are_refused(sizes: dict[str, int], fact: str) -> None:
    """Of 3 rows with 5 entries none has 9, and 3 rows of at most 2 hold no 50."""
    kernel = al.algorithm("sparse.csr::spmv_csr")
    values = {"n": 3, "m": 9, **sizes}
    if not fact:
        assert kernel.cost().flops.at(**values) == kernel.run(**values).counts.flops == 2 * 5
        return
    for asked in (kernel.cost().work.at, kernel.run):
        with pytest.raises(al.ArchlineError, match=re.escape(f"`{fact}` does not hold")) as raised:
            asked(**values)
        assert raised.value.diagnostics[0].rule.code == "AL526"


CERTAIN = {
    "AL302": "algorithm f(x: inout real[n]):\n    if n > 1:\n        f(x[0..n])\n",
    "AL303": "algorithm f(x: inout real[n]):\n    x[n] = 1.0\n",
    "AL301": "algorithm f(x: inout real[n]):\n    parallel for i in 0..n:\n        x[0] = 1.0\n",
    "AL304": "algorithm f(x: real[n], r: out real[1]):\n    local b: real[1]\n    spawn g(x, b)\n    g(x, b)\n    sync\n"
    "    r[0] = b[0]\n\nalgorithm g(x: real[n], r: out real[1]):\n    r[0] = x[0]\n",
}


@pytest.mark.parametrize("code", CERTAIN)
def test_runs_refuse_beforehand_what_certainly_fails(code: str) -> None:
    subject = al.loads(CERTAIN[code])["f"]
    data = {name: [1.0] * size for name, size in zip(subject.parameters, (3, 2), strict=False)}
    asked = [subject.cost, lambda: subject.run(dict.fromkeys(subject.sizes, 4)), lambda: subject.run(data)]
    for each in asked:
        with pytest.raises(al.ArchlineError) as raised:
            each()
        assert raised.value.diagnostics[0].rule.code == code


@pytest.mark.parametrize(
    "guard", ["n <= 2*m", "n <= 2*m - 1000", "n % 97 == 13 and m % 89 == 7", "n > 10^9 and m*m > n^3"]
)
def test_a_call_with_other_extents_is_refused_where_its_guard_allows_it(guard: str) -> None:
    calling = f"algorithm f(x: inout real[n], y: inout real[m]):\n    if {guard}:\n        g(x, y)\n\n"
    with pytest.raises(al.ArchlineError) as raised:
        al.loads(f"{calling}algorithm g(v: real[k], w: real[k]):\n    pass\n")
    assert raised.value.diagnostics[0].rule.code == "AL232"


def test_messages_of_bounded_length_are_counted_and_compared() -> None:
    """A shift of 5 words takes 2 messages of 3 words at most."""
    shifted = al.loads("algorithm f(x: inout local real[w]) on grid(r: P):\n    shift x along r by 1\n")["f"]
    run = shifted.run(w=5, P=2, K=3)
    assert run.counts.messages == 2
    assert run.outside == ()
    assert run.view.unchecked == {}
    assert run.view.counts.derived["messages"].lower == run.view.counts.derived["messages"].upper == 2
    assert shifted.run(w=5, P=2).view.unchecked == {}


def test_bounds_that_exclude_each_other_are_no_values() -> None:
    """One side of a pivot among two is empty, and the `where` says that no part is."""
    text = """
algorithm quicksort(x: inout real[n]):
    where n >= 1
    if n > 1:
        local p: int = 0
        for i in 1..n:
            if x[i] < x[0]:
                p += 1
        quicksort(x[0..p])
        quicksort(x[p+1..n])
"""
    flops = al.loads(text)["quicksort"].cost().flops
    with pytest.raises(al.ArchlineError, match="no run of these sizes ends") as caught:
        flops.at(n=2)
    assert caught.value.diagnostics[0].rule.code == "AL415"
    assert flops.at(n=3) == (2, 2)
