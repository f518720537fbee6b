"""Derive the closed form of an optimum from the constraints that bind, or from the derivative of the objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from archline.energy.formulas import fold, names_in
from archline.energy.quantities import CONSTANTS
from archline.energy.targets import SIZE_PREFIX
from archline.expr.values import ARITHMETIC
from archline.language import syntax as s

ROOT_TOLERANCE = 1e-6
MAX_OPERATIONS, MAX_DEGREE = 150, 3
"""Formulas with more operations are skipped; polynomials up to this degree have roots in radicals."""


class SympyDomain:
    """Evaluates formulas to sympy expressions; a max or a min becomes the argument that is selected at a point."""

    def __init__(self, names: Mapping[str, Any], point: Mapping[Any, float], rational: Callable[..., Any]) -> None:
        self._names, self._point, self._rational = names, point, rational

    def number(self, value: int | Fraction, expr: s.Expr) -> Any:
        return self._rational(value.numerator, value.denominator)

    def name(self, name: s.Name) -> Any:
        return self._names[name.id]

    def negated(self, value: Any, expr: s.Unary) -> Any:
        return -value

    def binary(self, op: str, left: Any, right: Any, expr: s.Binary) -> Any:
        return left**right if op == "^" else ARITHMETIC[op](left, right)

    def call(self, function: str, values: Sequence[Any], expr: s.Call) -> Any:
        if function in ("max", "min"):
            return (max if function == "max" else min)(values, key=lambda argument: argument.evalf(subs=self._point))
        if function == "sqrt":
            return values[0] ** self._rational(1, 2)
        raise NotImplementedError


def derive_closed_forms(
    objective: s.Expr, active: Sequence[tuple[s.Expr, s.Expr]], unknown: Sequence[str], values: Mapping[str, float]
) -> dict[str, str]:
    """Return formulas for `unknown` variables, each in terms of later ones, that reproduce their values.

    Names that are 0, and CONSTANTS, which are 1, appear as numbers. Variables without a formula are left out.
    """
    import sympy

    used = names_in(objective).union(*(names_in(side) for pair in active for side in pair), unknown)
    numeric = {name for name in used if name in CONSTANTS or values.get(name, 0.0) == 0}
    names: dict[str, Any] = {name: sympy.Symbol(name.removeprefix(SIZE_PREFIX)) for name in used - numeric}
    point = {symbol: values[name] for name, symbol in names.items()}
    names |= {name: sympy.Integer(name in CONSTANTS) for name in numeric}
    domain, remaining = SympyDomain(names, point, sympy.Rational), [names[name] for name in unknown]
    try:
        goal = fold(objective, domain)
        equations = [fold(left_side, domain) - fold(right_side, domain) for left_side, right_side in active]
    except NotImplementedError:
        return {}
    formulas: dict[str, str] = {}
    while remaining:
        if not equations and len(remaining) == 1:
            equations = [sympy.diff(goal, remaining[0])]
        tries = [
            (len(form.free_symbols & {*remaining}), form.count_ops(), place) for place, form in enumerate(equations)
        ]
        for count, _, place in sorted(attempt for attempt in tries if attempt[0]):
            candidates = [item for item in remaining if item in equations[place].free_symbols]
            solved = (
                (item, _find_root(equations[place], item, point, 1 if count > 1 else MAX_DEGREE)) for item in candidates
            )
            symbol, root = next(((item, root) for item, root in solved if root is not None), (None, None))
            if symbol is not None:
                break
        else:
            return formulas
        remaining.remove(symbol)
        del equations[place]
        goal, *equations = (
            expression.subs(symbol, root) if remaining else expression for expression in (goal, *equations)
        )
        formulas[next(name for name in unknown if names[name] == symbol)] = str(root).replace("**", "^")
    return formulas


def _find_root(equation: Any, symbol: Any, point: Mapping[Any, float], most: int) -> Any:
    """Return the root of an equation, up to degree `most`, that equals the symbol at a point; None if none does."""
    import sympy

    powers = [power.exp for power in equation.atoms(sympy.Pow) if power.base == symbol]
    if equation.count_ops() > MAX_OPERATIONS or not all(power.is_Rational for power in powers):
        return None
    step = lcm(*(int(power.q) for power in powers))
    base = sympy.Symbol("base", positive=True)
    top, _ = sympy.fraction(sympy.together(sympy.expand(equation.subs(symbol, base**step))))
    polynomial = sympy.expand(top).as_poly(base)
    powers = [] if polynomial is None else [power for (power,), _ in polynomial.terms()]
    if len(powers) < 2 or (len(powers) > 2 and powers[0] - powers[-1] > most):
        return None
    first, *rest = polynomial.all_coeffs()
    # Coefficients are substituted later, so that they are not multiplied out. The formula of a real root may have
    # complex parts where that of the polynomial in -x has none.
    for sign in (1, -1):
        letters = {sympy.Dummy(): sympy.cancel(-factor * sign**power / first) for power, factor in enumerate(rest, 1)}
        numbers = {letter: factor.evalf(subs=point) for letter, factor in letters.items()}
        row = [1, *(-letter if factor else 0 for letter, factor in letters.items())]
        for root in sympy.roots(sympy.Poly(row, base), base):
            value = ((sign * root) ** step).evalf(subs=numbers)
            if value.is_real and abs(value / point[symbol] - 1) < ROOT_TOLERANCE and not root.has(sympy.I):
                return ((sign * root) ** step).subs(letters)
    return None
