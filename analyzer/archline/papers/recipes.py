"""Define the recipes: each derives a row from its inputs; the recipes for equations are written here in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import lcm
from types import MappingProxyType
from typing import Any

from archline.energy.formulas import names_in, parse_formula
from archline.energy.models import find_model as model_of
from archline.energy.quantities import CONSTANTS, METRICS
from archline.expr.text import format_expression
from archline.expr.tree import substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.parser import parse_expression
from archline.papers import forms, rules, tables, words
from archline.papers.findings import (
    DIFFERS,
    EQUAL,
    READING,
    UNDECIDED,
    RowVerdict,
    SeparatingPoint,
    compare_forms,
    format_relation,
    is_relation_true,
)
from archline.papers.rows import PrintedRow, map_sides
from archline.records import replace

ONE_EXPR = parse_expression("1", "1")
ROOT_OFFSET = Fraction(1, 1000)
"""The relative distance from a root at which an inequality is tested."""


def check_model(row: PrintedRow) -> RowVerdict:
    """Compare the printed form with a formula of a model, in which the paper's F, W, S and M are substituted."""
    try:
        chosen = model_of(row.text("model"))
    except ArchlineError as problem:
        raise row.make_error(
            rules.ROW_FORM, problem.diagnostics[0].message, "model", problem.diagnostics[0].hint
        ) from None
    energy = " + ".join(f"({term})" for term in chosen.energy.values())
    definitions = {"energy": energy, "power": f"({energy})/time", "time": chosen.time, **chosen.definitions}
    substitutions = {**dict.fromkeys(CONSTANTS, ONE_EXPR), **row.formulas("with")}
    formula = map_sides(
        row.formula("of"),
        lambda side: forms.substitute_definitions(side, {k: parse_formula(v) for k, v in definitions.items()}),
    )
    lacking = [name for name in sorted(_collect_names(formula)) if name in METRICS and name not in substitutions]
    if lacking:
        raise row.make_error(rules.ROW_FORM, f"recipe `model` lacks `{lacking[0]}` in its input `with`", "of")
    derived = map_sides(formula, lambda side: substitute_names(side, substitutions))
    return compare_forms(
        row,
        derived,
        (f"{row.text('of')} of model `{chosen.name}`: {format_relation(formula)}", *_describe_substitutions(row)),
    )


def check_limit(row: PrintedRow) -> RowVerdict:
    """Derive a row by substituting names in a form or another row; with `names`, derive the list of names in it."""
    import sympy

    if row.has("names"):
        origin = substitute_names(_derive_input(row, "names"), row.formulas("with"))
        names = sorted(_collect_names(forms.parse_form(forms.format_expanded(origin))) - {*row.texts("without")})
        finding = compare_forms(
            row, row.parse_form("*".join(names), "names"), (f"{row.text('names')} has {', '.join(names)}",)
        )
        if finding.witness is None:
            return finding
        ratio = sympy.fraction(
            forms.factor_form(forms.build_form(row.expr) / forms.build_form(forms.parse_form(finding.derived)))
        )
        printed, derived = (forms.parse_form(forms.format_form(part)) for part in ratio)
        witness = replace(finding.witness, printed=printed, derived=derived)
        return replace(finding, reason=_describe_list_errors(row, names), witness=witness)
    origin, substitutions = _derive_input(row, "of"), row.formulas("with")
    derived = map_sides(origin, lambda side: substitute_names(side, substitutions))
    return compare_forms(row, derived, (f"{row.text('of')}: {format_relation(origin)}", *_describe_substitutions(row)))


def _describe_substitutions(row: PrintedRow) -> tuple[str, ...]:
    """Return the step that names the substitutions; empty if there are none."""
    shown = ", ".join(f"{name} = {format_expression(expr)}" for name, expr in row.formulas("with").items())
    return (f"with {shown}",) if shown else ()


def _describe_list_errors(row: PrintedRow, names: list[str]) -> str:
    """Describe how a printed product of names differs from a list of names."""
    counts = {str(name): power for name, power in forms.build_form(row.expr).as_powers_dict().items()}
    times = {name: "too" if name not in names else "twice" if n == 2 else f"{n} times" for name, n in counts.items()}
    phrases = [f"lists {name} {times[name]}" for name, n in counts.items() if n != 1 or name not in names]
    return ", ".join([*phrases, *(f"lacks {name}" for name in names if name not in counts)])


def check_optimum(row: PrintedRow) -> RowVerdict:
    """Derive where a form is minimal or maximal, or with `value` its value there, or the root of an equation."""
    over, goal, claim = row.text("over"), None, row.formula("equation") if row.has("equation") else None
    symbol = forms.build_form(parse_expression(over, "over"))
    extremal = next((key for key in ("minimise", "maximise") if row.has(key)), "")
    if extremal:
        goal = forms.build_form(_derive_input(row, extremal))
        equation = goal.diff(symbol)
        steps = [f"the derivative of {forms.format_form(goal)} by {over} is {forms.format_form(equation)}"]
    elif not isinstance(claim, s.Binary) or claim.op not in ("==", "<=", ">="):
        raise row.make_error(
            rules.ROW_FORM, "`optimum` takes `minimise`, `maximise` or an `equation`, ==, <= or >=", "equation"
        )
    else:
        equation, steps = (
            forms.build_form(claim.left) - forms.build_form(claim.right),
            [format_relation(claim)],
        )
    if row.has("coefficient"):
        return _check_coefficient(row, equation, symbol, steps)
    roots = [forms.parse_form(forms.format_form(root)) for root in _solve_equation(equation, symbol)]
    steps += [f"a root: {over} = {format_expression(root)}" for root in roots]
    chosen, point = _choose_root(row, roots, row.text("root", "largest"))
    if chosen is None:
        return RowVerdict(row, UNDECIDED, "", "no root of the equation was found", steps)
    if goal is not None:
        root = forms.build_form(chosen)
        curved = forms.evaluate_at(forms.parse_form(forms.format_form(goal.diff(symbol, 2).subs(symbol, root))), point)
        if curved is None or (curved.lower <= 0 if extremal == "minimise" else curved.upper >= 0):
            return RowVerdict(row, UNDECIDED, "", "the stationary point could not be shown to be an extremum", steps)
        if row.inputs.get("value"):
            return compare_forms(row, forms.parse_form(forms.format_form(goal.subs(symbol, root))), steps)
    one_sided = isinstance(claim, s.Binary) and claim.op != "=="
    finding = compare_forms(row, chosen, steps, sided=one_sided)
    if finding.verdict == UNDECIDED and forms.is_zero(equation.subs(symbol, forms.build_form(row.expr))):
        # Roots are isolated, so that one point identifies the root.
        finding = replace(finding, verdict=EQUAL, reason="", steps=(*steps, "the printed form solves the equation"))
    return _check_side(row, finding, claim, chosen, point) if one_sided and isinstance(claim, s.Binary) else finding


def _check_coefficient(row: PrintedRow, equation: Any, symbol: Any, steps: list[str]) -> RowVerdict:
    """Compare the coefficient of a power in the equation, scaled to a polynomial with the given `leading` one."""
    import sympy

    polynomial = sympy.Poly(sympy.expand(sympy.fraction(sympy.together(equation))[0]), symbol)
    scale = forms.build_form(row.formula("leading")) / polynomial.LC()
    power = row.inputs["coefficient"]
    coefficient = sympy.expand(sympy.cancel(polynomial.coeff_monomial(symbol**power) * scale))
    steps = [*steps, f"multiplied out, with the leading coefficient {row.text('leading')}: that of {symbol}^{power}"]
    return compare_forms(row, forms.parse_form(forms.format_form(coefficient)), steps)


def _check_side(
    row: PrintedRow, finding: RowVerdict, asked: s.Binary, root: s.Expr, point: Mapping[str, Fraction]
) -> RowVerdict:
    """Decide whether values below or above a root satisfy an inequality, and compare with the printed relation."""
    over, middle = row.text("over"), forms.evaluate_at(root, point)
    assert middle is not None
    tried = [{**point, over: middle.middle * factor} for factor in (1 - ROOT_OFFSET, 1 + ROOT_OFFSET)]
    sides = [is_relation_true(asked, at) for at in tried]
    if sides[0] == sides[1]:
        return replace(
            finding, verdict=UNDECIDED, reason="both sides of the root satisfy the relation, or neither does"
        )
    side, inside = ("<=", tried[0]) if sides[0] else (">=", tried[1])
    derived = f"{over} {side} {finding.derived}"
    if isinstance(row.relation, s.Binary) and row.relation.op == side:
        return replace(finding, derived=derived)
    witness = finding.witness or SeparatingPoint(asked.left, asked.right, inside, relations=(("", asked),))
    return replace(finding, verdict=DIFFERS, derived=derived, reason=f"the relation is {side}", witness=witness)


def _choose_root(row: PrintedRow, roots: list[s.Expr], which: str) -> tuple[s.Expr | None, Mapping[str, Fraction]]:
    """Return the largest or smallest positive root at the paper's own numbers, or at a point where there is one."""
    names = frozenset().union(*map(names_in, roots)) | names_in(row.expr)
    for point in forms.sample_points(names, row.numbers):
        values = [
            (value.middle, root)
            for root in roots
            if (value := forms.evaluate_at(root, point)) is not None and value.lower > 0
        ]
        if values:
            return (max if which == "largest" else min)(values, key=lambda pair: pair[0])[1], point
    return None, {}


def _solve_equation(equation: Any, symbol: Any) -> Iterator[Any]:
    """Yield the roots of an equation that is a polynomial in a root of the symbol, up to the fourth degree."""
    import sympy

    powers = [power.exp for power in equation.atoms(sympy.Pow) if power.base == symbol]
    if not all(exponent.is_Rational for exponent in powers):
        return
    step = lcm(*(int(exponent.q) for exponent in powers))
    base = sympy.Symbol("base", positive=True)
    top, _ = sympy.fraction(sympy.together(sympy.expand(equation.subs(symbol, base**step))))
    polynomial = sympy.Poly(sympy.expand(top), base) if base in top.free_symbols else None
    if polynomial is None or polynomial.degree() > 4:
        return
    letters = {sympy.Symbol(f"c{i}", real=True): value for i, value in enumerate(polynomial.all_coeffs()) if value != 0}
    letter_of = {value: letter for letter, value in letters.items()}
    row = [letter_of.get(value, 0) for value in polynomial.all_coeffs()]
    for root in sympy.roots(sympy.Poly(row, base), base):
        yield (root.subs(letters)) ** step


def _derive_input(row: PrintedRow, key: str) -> s.Expr:
    """Return the form that another row derives, or the form of an input."""
    source = row.find_row(key)
    if source is None:
        return row.formula(key)
    finding = derive_verdict(source)
    return row.parse_form(finding.derived, key) if finding.derived else source.expr


def _collect_names(expr: s.Expr) -> frozenset[str]:
    if isinstance(expr, s.Binary):
        return names_in(expr.left) | names_in(expr.right)
    return names_in(expr)


_OPTIMUM_INPUTS = ("minimise", "maximise", "equation", "root", "value", "coefficient", "leading")
_TABLE_INPUTS = ("inputs", "machines", "without", "by_machine")
_RECIPES: dict[str, tuple[Callable[[PrintedRow], RowVerdict], tuple[str, ...], tuple[str, ...]]] = {
    "model": (check_model, ("printed", "model", "of"), ("with",)),
    "limit": (check_limit, ("printed",), ("of", "with", "names", "without")),
    "optimum": (check_optimum, ("printed", "over"), _OPTIMUM_INPUTS),
    "cell": (tables.check_cell, ("rule",), ("quantity", *_TABLE_INPUTS)),
    "units": (tables.check_units, ("printed", "rule"), ("units",)),
    "crossing": (tables.check_crossing, ("printed", "left", "right", "over", "between"), _TABLE_INPUTS),
    "claim": (words.check_claim, ("printed",), ("where", "cases", *_TABLE_INPUTS)),
    "growth": (words.check_growth, ("printed", "use", "cost"), ("relation", "where")),
    "run": (words.check_run, ("printed", "runs"), ("program", "cases", *_TABLE_INPUTS)),
}
RECIPE_INPUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {name: (needs, takes) for name, (_, needs, takes) in _RECIPES.items()}
)


def derive_verdict(row: PrintedRow) -> RowVerdict:
    """Derive a row by its recipe; if that differs from the print, try its `reading` too. Raises ArchlineError."""
    finding = _apply_recipe(row)
    if finding.verdict != DIFFERS or not row.has("reading") or _apply_recipe(row.under_reading).verdict != EQUAL:
        return finding
    return replace(finding, verdict=READING)


def _apply_recipe(row: PrintedRow) -> RowVerdict:
    try:
        return _RECIPES[row.kind][0](row)
    except ArchlineError as problem:
        first = problem.diagnostics[0]
        if first.span is not None and first.span.source is row.paper.places.source:
            raise
        raise row.make_error(first.rule, first.message, "printed", first.hint) from None
