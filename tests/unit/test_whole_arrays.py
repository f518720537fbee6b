"""Statements on whole arrays: values against numpy, counts against a count by the rules and against the derivation."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
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
    operator = draw(st.sampled_from("+-*" if len(shape) != 2 else "+-"))
    return f"({inner} {operator} {draw(expressions(shape, depth - 1))})"


@st.composite
def statements(draw: st.DrawFn) -> str:
    """An assignment to a view of an expression with at least one operation."""
    shape = draw(st.sampled_from(sorted(VIEWS)))
    target = draw(st.sampled_from(TARGETS[shape]))
    operator = draw(st.sampled_from(["=", "=", "+=", "-=", "*="]))
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
