"""Derived costs as LaTeX: an `align*` block, ready to paste."""

from __future__ import annotations

from archline.algebra.polynomial import Poly
from archline.algebra.sympy_bridge import to_sympy
from archline.report.numbers import exact
from archline.report.view import CostView, Row

_ESCAPES = {**{character: f"\\{character}" for character in "#$%&_{}"}, "\\": r"\textbackslash{}"}
_ESCAPES |= {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}


def expression(value: Poly) -> str:
    """One expression, without dollars."""
    import sympy

    text = sympy.latex(to_sympy(value), fold_short_frac=False)
    return str(text).replace(r"\log{\left(2 \right)}", r"\log 2")


def costs(view: CostView) -> str:
    """The costs of an algorithm as an aligned display."""
    lines = [f"% {view.algorithm}", r"\begin{align*}"]
    rows = [line for row in view.rows for line in _row(row, view)]
    lines.append(" \\\\\n".join(rows))
    lines.append(r"\end{align*}")
    return "\n".join(lines) + "\n"


def _row(row: Row, view: CostView) -> list[str]:
    name = rf"\mathrm{{{row.metric}}}(\text{{{_escaped(view.algorithm)}}})"
    if row.lower is None or row.upper is None:
        return [rf"  {name} &= \text{{unknown: {_escaped(row.reason or '')}}}"]
    if row.exact:
        value = f" = {exact(row.values.lower)}" if row.values is not None else ""
        return [f"  {name} &= {expression(row.lower)}{value}"]
    return [f"  {name} &\\ge {expression(row.lower)}", rf"  &\le {expression(row.upper)}"]


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
