"""Statements on whole arrays: values against numpy, counts against a count by the rules and against the derivation."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import drawn
from executor_programs import run

HEADER = """algorithm f(A: inout real[n, m], B: inout real[n, m], C: inout real[n, n], D: inout real[m, n], u: inout real[n],
            v: inout real[n], x: inout real[m], y: inout real[m], i: size, j: size, a: real):
    where i >= 0, i < n, j >= 0, j < m
"""
SHAPES = {"A": "nm", "B": "nm", "C": "nn", "D": "mn", "u": "n", "v": "n", "x": "m", "y": "m"}
FUNCTIONS = {
    "sqrt": np.sqrt, "abs": np.abs, "exp": np.exp, "max": np.maximum, "min": np.minimum, "transpose": np.transpose,
}  # fmt: skip
# Views of each shape, and numbers.
VIEWS = {
    "n": ["u", "v", "A[:, j]", "C[i, :]", "C[:, i]", "D[j, :]", "B[:, j]", "u[0:n]"],
    "m": ["x", "y", "A[i, :]", "B[i, :]", "D[:, i]", "x[:m]"],
    "nm": ["A", "B", "A[:, :]", "transpose(D)"],
    "nn": ["C"],
    "n-1,m-1": ["A[1:, 1:]", "A[:n-1, 1:]", "A[1:, :m-1]", "A[:n-1, :m-1]", "B[1:, :m-1]", "B[:n-1, 1:]"],
    "m-1": ["x[1:]", "y[:m - 1]", "x[:m-1]", "A[i, 1:]", "y[1:m]", "D[1:, i]"],
}
NUMBERS = ["a", "2.0", "u[i]", "x[j]", "A[i, j]", "a/3.0", "(u[i] + x[j])", "abs(C[i, i])"]
PRODUCTS = {
    "n": [("nm", "m"), ("nn", "n"), ("m", "mn"), ("n", "nn")],
    "m": [("n", "nm"), ("mn", "n")],
    "nm": [("nn", "nm")],
    "nn": [("nm", "mn"), ("nn", "nn")],
}
FACTORS = {**{shape: [view for view in views if view != "transpose(D)"] for shape, views in VIEWS.items()}}
FACTORS |= {"mn": ["D", "transpose(A)", "transpose(B)"], "nm": ["A", "B", "transpose(D)"], "nn": ["C", "transpose(C)"]}
TARGETS = {shape: [view for view in views if "transpose" not in view] for shape, views in VIEWS.items()}


@st.composite
def expressions(draw: st.DrawFn, shape: str, depth: int = 2) -> str:
    """An expression of a shape, fit for archline and for Python."""
    kind = draw(st.integers(0, 9 if depth else 1))
    if kind <= 1:
        return draw(st.sampled_from(VIEWS[shape]))
    if kind <= 3 and shape in PRODUCTS:
        left, right = draw(st.sampled_from(PRODUCTS[shape]))
        return f"({draw(st.sampled_from(FACTORS[left]))} @ {draw(st.sampled_from(FACTORS[right]))})"
    inner = draw(expressions(shape, depth - 1))
    if kind == 4:
        return f"(-{inner})"
    if kind == 5:
        return f"abs({inner})"
    number = draw(st.sampled_from(NUMBERS))
    if kind == 6:
        return f"({number} {draw(st.sampled_from('+-*'))} {inner})"
    if kind == 7:
        return f"({inner}/(2.0 + abs({number})))"
    operator = draw(st.sampled_from("+-" if shape in ("nm", "nn", "n-1,m-1") else "+-*"))
    return f"({inner} {operator} {draw(expressions(shape, depth - 1))})"


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A copy of a view, or an assignment to a view of an expression with at least one operation."""
    shape = draw(st.sampled_from(sorted(VIEWS)))
    target = draw(st.sampled_from(TARGETS[shape]))
    operator = draw(st.sampled_from(["=", "=", "+=", "-=", "*="][: 4 if shape in ("nm", "nn", "n-1,m-1") else 5]))
    if operator == "=" and draw(st.booleans()):
        return f"{target} = {draw(st.sampled_from(VIEWS[shape]))}"
    value = draw(expressions(shape))
    return f"{target} {operator} {value if operator != '=' or value.startswith('(') else f'({value} + {value})'}"


@dataclass
class Counts:
    """The flops and the work of statements by the rules, as numpy evaluates them."""

    names: dict[str, Any]
    flops: int = 0
    nests: int = field(default=0)

    def count(self, statement: str) -> None:
        """Evaluate a statement, and count it."""
        (node,) = ast.parse(statement).body
        assert isinstance(node, ast.Assign | ast.AugAssign)
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        target.ctx = ast.Load()  # type: ignore[union-attr]
        place = self.evaluate(target)
        value, whole = self.visit(node.value), self.is_product(node.value) and isinstance(node, ast.Assign)
        if whole and any(np.shares_memory(place, self.visit(part)) for part in (node.value.left, node.value.right)):
            self.nests += steps(place.shape)
        if not whole:
            self.nests += steps(place.shape)
        match node:
            case ast.Assign():
                place[...] = value
            case ast.AugAssign(op=op):
                self.flops += place.size
                place[...] = apply(op, place, value)

    @staticmethod
    def is_product(node: ast.expr) -> bool:
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)

    def evaluate(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "f", "eval"), {**FUNCTIONS, **self.names})

    def visit(self, node: ast.expr) -> Any:
        """Evaluate an expression, and count its operations; a product is a nest with a register."""
        match node:
            case ast.BinOp(op=ast.MatMult(), left=left, right=right):
                first, second = self.visit(left), self.visit(right)
                value = first @ second
                self.flops += 2 * value.size * first.shape[-1]
                self.nests += steps(value.shape) + value.size * first.shape[-1]
                return value
            case ast.BinOp(left=left, op=op, right=right):
                value = apply(op, self.visit(left), self.visit(right))
                self.flops += np.size(value)
                return value
            case ast.Call(func=ast.Name(id="abs"), args=[inner]):
                value = self.visit(inner)
                self.flops += np.size(value)
                return np.abs(value)
            case ast.UnaryOp(operand=inner):
                return -self.visit(inner)
            case _:
                return self.evaluate(node)


def apply(op: ast.operator, left: Any, right: Any) -> Any:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case _:
            return left / right


def steps(shape: tuple[int, ...]) -> int:
    """The iterations of the loops over all elements."""
    return sum(int(np.prod(shape[: depth + 1])) for depth in range(len(shape)))


def overlaps(statement: str) -> bool:
    """Whether the array of the target stands elsewhere in a statement, in another view."""
    target, _, value = re.split(r" ([-+*]?=) ", statement)
    return target[0] in re.findall(r"\b[A-Za-z]\b", value.replace(target, ""))


def make_arguments(n: int, m: int) -> dict[str, Any]:
    source = np.random.default_rng(1)
    extents = {"n": n, "m": m}
    arrays = {name: source.uniform(-1, 1, [extents[size] for size in shape]) for name, shape in SHAPES.items()}
    return {**arrays, "i": n - 1, "j": (m - 1) // 2, "a": 0.5}


@cache
def derive_text(text: str) -> Any:
    module = load_text(text)
    return derive(module, module.algorithms["f"])


SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=drawn(160), deadline=None)
@given(st.lists(statements(), min_size=1, max_size=3), SIZES)
def test_values_and_counts_of_generated_statements(body: list[str], sizes: tuple[int, int]) -> None:
    text = HEADER + "".join(f"    {line}\n" for line in body)
    arguments = make_arguments(*sizes)
    found = run(text, arguments)
    expected = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    counts = Counts({**expected, "n": sizes[0], "m": sizes[1]})
    for line in body:
        counts.count(line)
    for name in SHAPES:
        np.testing.assert_allclose(found.outputs[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=f"{name}\n{text}")
    assert found.counts.flops == counts.flops, text
    copied = found.counts.work - (1 + counts.flops + counts.nests)
    assert copied == 0 if not any(map(overlaps, body)) else copied >= 0, text
    costs = derive_text(text)
    assert_agreement(costs, found, text)
    assert all(costs[metric].exact for metric in ("flops", "work", "span"))


PROGRAMS = {
    "an algorithm that sets its last parameter": """
algorithm product(X: real[n, m], Y: real[m, k], Z: out real[n, k]):
    Z = X @ Y

algorithm f(A: real[n, m], B: real[m, n], C: out real[n, n]):
    M = product(A, B)
    C = product(M, M + M.T)
    C = product(C, M)
    C += 2.0*product(C, eye(n))
""",
    "an algorithm whose last parameter has the rows of offsets": """
algorithm differences(x: real[n + 1], y: out real[n]):
    for i in 0..n:
        y[i] = x[i + 1] - x[i]

algorithm multiply(start: offsets[n] into nz longest nr, col: index[nz] below m, a: real[nz], x: real[m], y: out real[n]):
    for i in 0..n:
        y[i] = sum(a[k]*x[col[k]] for k in start[i]..start[i + 1])

algorithm f(start: offsets[n] into nz longest nr, col: index[nz] below n, a: real[nz], x: inout real[n], w: inout real[m]):
    where m >= 2
    y = multiply(start, col, a, x)
    x = multiply(start, col, a, x + y)
    d = differences(w)
    w[1:] -= d
    e = differences(w[1:])
    w[2:] += e
""",
    "arguments of calls": """
algorithm total(x: real[n]) -> real:
    local s: real = 0
    for i in 0..n:
        s += x[i]
    return s

algorithm f(x: inout real[n], A: real[n, n]):
    where n >= 0
    if total(x - 2.0*x) > total(A @ x):
        x[:] = total(x/2.0)
    elif total(x + x) > 3.0:
        x *= 2.0
    parallel for i in 0..n:
        x[i] = total(A[i, :]*A[:, i])
""",
    "functions of one number": """
algorithm sigmoid(x: real) -> real:
    return 1.0/(1.0 + exp(-x))

algorithm f(W: real[n, m], x: real[m], b: real[n], y: out real[n]):
    y = sigmoid(W @ x + b)
    y = max(y, 0.25) - sqrt(abs(b))
""",
    "integers": """
algorithm f(k: int[n], l: out int[n]):
    l = k*2 + 1
    l //= 3
    l = -l - k % 5
    l *= k[n - 1]
""",
    "parts that do not overlap": """
algorithm f(x: inout real[n], A: inout real[n, n]):
    where n >= 2
    let h = n//2
    x[:h] = 2.0*x[n - h..n]
    x[h:] += 1.0
    A[:h, :] += A[h..2*h, :]
    A[0, 1:] /= A[0, 0]
    for i in 1..n:
        A[i, 1:] -= A[i, 0]*A[0, 1:]
    x[1:] = x[:n-1]
    A = A.T
""",
    "elimination": """
algorithm f(A: inout real[n, n]):
    for k in 0..n:
        A[k+1:, k] /= A[k, k]
        parallel for i in k+1..n:
            A[i, k+1:] -= A[i, k]*A[k, k+1:]
""",
    "slices of data": """
algorithm f(x: inout real[n], s: index[2] below n, A: inout real[n, n]):
    A[s[0], :] = x*x[s[1]]
    A[:, s[1]] -= x
""",
    "rows and ends": """
algorithm total(x: real[n]) -> real:
    s = 0.0
    for value in x:
        s += value
    return s

algorithm f(A: inout real[n, m], x: inout real[m], y: out real[n], B: out real[n + 1, m]):
    B[:] = 0
    for i in 0..n:
        d[:] = A[i] - A[-1]
        d[0] += 1.0
        y[i] = total(A[i]) + sum(d^2) + A[i][-1]
        B[i] = d
    A[0] = x
    x[:] = 2.0*A[-1]
    B[-1] = A[0]
    x[-1] += total(x[:-1]) + x[-1]
    B[-1, 0] += sum(B[-2])
""",
    "diagonals": """
algorithm total(x: real[n]) -> real:
    s = 0.0
    for value in x:
        s += value
    return s

algorithm f(A: inout real[n, n], x: inout real[n], y: out real[n]):
    y = diag(A)
    x = diag(A)*x + 1.0
    x[0] += total(diag(A)) + total(diag(A.T))
    d = diag(A @ A)
    y[n - 1] = sum(d - y) + dot(diag(A), y)
    A = A - transpose(A)
    x[:n-1] = diag(A[1:, :n-1])
""",
    "tests of loops": """
algorithm f(A: real[n, n], x: inout real[n], b: real[n], T: size):
    for t in 0..T:
        if max(abs(x[0]), 1.0) > sqrt(abs(b[0])):
            x = 0.5*(b - A @ x)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derived_counts_are_executed_ones(name: str) -> None:
    module = load_text(PROGRAMS[name])
    subject = module.algorithms["f"]
    costs = derive(module, subject)
    for size in (1, 2, 3, 5):
        sizes = {each: size + at % 2 for at, each in enumerate(module.signatures[subject].size_names)}
        try:
            arguments = generate_arguments(module, subject, sizes, seed=size)
        except ArchlineError:
            assert size == 1
            continue
        assert_agreement(costs, execute(module, subject, arguments, compiled=False, races=True), PROGRAMS[name])


def test_rows_and_ends_have_the_values_that_numpy_gives() -> None:
    x, y, A, B = np.array([1.0, 2.0]), np.zeros(3), np.arange(6.0).reshape(3, 2), np.ones((4, 2))  # noqa: N806
    found = run(PROGRAMS["rows and ends"], {"x": x.copy(), "y": y, "A": A.copy(), "B": B})
    B[:] = 0
    for i in range(3):
        d = A[i] - A[-1]
        d[0] += 1.0
        y[i] = A[i].sum() + (d**2).sum() + A[i][-1]
        B[i] = d
    A[0] = x
    x = 2.0 * A[-1]
    B[-1] = A[0]
    x[-1] += x[:-1].sum() + x[-1]
    B[-1, 0] += B[-2].sum()
    for name, expected in {"x": x, "y": y, "A": A, "B": B}.items():
        assert np.allclose(found.outputs[name], expected), name


def test_diagonals_have_the_values_that_numpy_gives() -> None:
    A, x = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 3.0])  # noqa: N806
    found = run(PROGRAMS["diagonals"], {"A": A.copy(), "x": x.copy(), "y": np.zeros(3)})
    y = np.diag(A).copy()
    x = np.diag(A) * x + 1.0
    x[0] += 2 * np.trace(A)
    y[-1] = (np.diag(A @ A) - y).sum() + np.diag(A) @ y
    A = A - A.T  # noqa: N806
    x[:-1] = np.diag(A[1:, :-1])
    for name, expected in {"x": x, "y": y, "A": A}.items():
        assert np.allclose(found.outputs[name], expected), name


def test_a_product_costs_what_its_loops_cost() -> None:
    costs = derive_text("algorithm f(A: real[n, m], B: real[m, k], C: out real[n, k]):\n    C = A @ B\n")
    loops = derive_text(
        "algorithm f(A: real[n, m], B: real[m, k], C: out real[n, k]):\n    parallel for i in 0..n:\n"
        "        parallel for j in 0..k:\n            local s: real = 0\n            for l in 0..m:\n"
        "                s += A[i, l]*B[l, j]\n            C[i, j] = s\n"
    )
    for metric in ("flops", "work", "span"):
        assert costs[metric].lower == costs[metric].upper
        assert format_expression(costs[metric].lower) == format_expression(loops[metric].lower)


@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("u = A*x", "AL232", "write `A @ x`"),
        ("C = C*C", "AL232", "write `C @ C`"),
        ("C *= C", "AL232", "write `C @ C`"),
        ("C = C^2", "AL232", "multiply by `@`"),
        ("u = A @ u", "AL232", "`m` on the left and `n` on the right"),
        ("u = u + x", "AL232", "`n` on the left and `m` on the right"),
        ("u = C @ C", "AL232", "an array of 2 dimensions cannot be stored in one of 1"),
        ("u = A + u", "AL232", "`A` has 2 dimensions, and `u` has 1 dimension"),
        ("u = a @ A", "AL232", "`@` multiplies arrays, and `a` is a number"),
        ("u = q + v", "AL201", "unknown name `q`"),
        ("u = Q @ v", "AL201", "unknown name `Q`"),
        ("u[0] = dot(u, C)", "AL232", "`dot` takes two arrays of one shape"),
        ("u[0] = dot(u, x)", "AL232", "`n` on the left and `m` on the right"),
        ("u[0] = sum(u - x)", "AL232", "`n` on the left and `m` on the right"),
        ("u = diag(v)", "AL202", "unknown function or algorithm `diag`"),
        ("u = argmax(A)", "AL202", "unknown function or algorithm `argmax`"),
        ("C = I", "AL201", "the identity matrix is `eye(n)`"),
        ("C = u.T", "AL232", "only an array of two dimensions is transposed"),
    ],
)
def test_mistakes(statement: str, code: str, said: str) -> None:
    with pytest.raises(ArchlineError) as error:
        load_text(f"{HEADER}    {statement}\n")
    (found,) = error.value.diagnostics
    assert (found.rule.code, said in f"{found.message} {found.hint}") == (code, True), str(error.value)
    assert found.span is not None
    assert found.span.line == 4


def test_arrays_of_no_element_cost_nothing() -> None:
    text = (
        "algorithm f(x: inout real[n]):\n    where n >= 0\n    x = x + 2.0*x\n    x /= 3.0\n    local y: real[n] = 0\n"
    )
    costs, found = derive_text(text), run(text, {"x": np.zeros(0)})
    assert_agreement(costs, found, text)
    assert (found.counts.work, found.counts.span) == (1, 1)


def test_products_with_a_matrix_are_mended_by_one_edit_each() -> None:
    text = f"{HEADER}    z = u - A*x\n    w = C*z\n    u = z + w\n"
    with pytest.raises(ArchlineError) as error:
        load_text(text)
    edits = [edit for found in error.value.diagnostics for edit in found.edits]
    assert [edit.text for edit in edits] == [" @ ", " @ "]
    load_text(text.replace("A*x", "A @ x").replace("C*z", "C @ z"))


def test_conditions_use_arrays_before_each_test() -> None:
    text = """
algorithm total(x: real[n]) -> real:
    local s: real = 0
    for i in 0..n:
        s += abs(x[i])
    return s

algorithm f(A: real[n, n], x: inout real[n]):
    while total(A @ x) > 1.0 at most 3 times:
        if x[0] > 2.0:
            x /= 8.0
            continue
        x *= 0.5
"""
    arguments = {"A": np.eye(3), "x": np.array([4.0, 2.0, 1.0])}
    found = run(text, arguments)
    # 7 -> 7/8.
    assert found.outputs["x"].tolist() == [0.5, 0.25, 0.125]
    assert_agreement(derive_text(text), found, text)


def test_pages_name_copies_after_their_arrays() -> None:
    text = "algorithm f(u: inout real[n], v: inout real[n]):\n    u, v = v, u\n"
    module = load_text(text)
    locals_ = [node.name for node in s.iterate_nodes(module.program.items) if isinstance(node, s.Local)]
    assert locals_ == ["old_v", "old_u"]


def test_a_column_by_a_row_is_a_dot_product() -> None:
    text = "algorithm f(A: real[n, n]) -> real:\n    return A[:, 0] @ A[0, :]\n"
    assert run(text, {"A": [[1.0, 2.0], [3.0, 4.0]]}).value == 1.0 + 6.0
