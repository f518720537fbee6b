"""Energies as LaTeX: an `align*` block for each, ready to paste."""

from __future__ import annotations

from collections.abc import Sequence

from archline.energy.results import EnergyResult
from archline.report.energies import shown
from archline.report.latex import condition, escaped, expression


def render(results: Sequence[EnergyResult], width: int) -> str:
    """The blocks."""
    return "\n".join(_one(each) for each in results)


def _one(result: EnergyResult) -> str:
    relation = r"\le" if result.model.at_most else "="
    rows = [rf"  E &{relation} {expression(result.model.expression)}"]
    if result.symbolic is not None:
        if result.symbolic.when:
            rows.append(rf"  &{condition(' and '.join(result.symbolic.when))}")
        for each in result.symbolic.metrics:
            assert each.bounds is not None
            name = rf"\mathrm{{{each.name}}}"
            if each.bounds.lower == each.bounds.upper:
                rows.append(rf"  {name} &= {expression(each.bounds.upper)}")
            else:
                rows.append(rf"  {name} &\ge {expression(each.bounds.lower)}")
                rows.append(rf"  {name} &\le {expression(each.bounds.upper)}")
    else:
        estimate = result.estimate
        assert estimate is not None
        for name, amount in estimate.terms.items():
            rows.append(rf"  E_{{\text{{{name}}}}} &= {_amount(amount.text('J'))}")
        for name, unit in shown.ANSWERS:
            found = shown.answers(estimate)[name]
            if found is not None:
                rows.append(rf"  \text{{{name.replace('_', ' ')}}} &= {_amount(found.text(unit))}")
    return "\n".join([f"% {shown.heading(result)}", r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]) + "\n"


def _amount(text: str) -> str:
    """`4.213 mJ` with its unit upright, and bounds as a range."""
    return rf"\text{{{escaped(text.replace(' .. ', ' to '))}}}"
