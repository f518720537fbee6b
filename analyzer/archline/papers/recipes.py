"""Define the recipes: each derives a row from the inputs that it needs, and optional ones; equations in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import lcm
from types import MappingProxyType
from typing import Any

from archline.energy.formulas import names_in, parsed
from archline.energy.models import model as model_of
from archline.energy.quantities import CONSTANTS, METRICS
from archline.expr.text import format_expression
from archline.expr.tree import substituted
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
    compared,
    holds,
    shown_relation,
)
from archline.papers.rows import PrintedRow, both_sides
from archline.records import replace

ONE = parse_expression("1", "1")
INSIDE = Fraction(1, 1000)
"""The relative distance from a root at which an inequality is tested."""


def model(row: PrintedRow) -> RowVerdict:
    """Compare a formula of a model, with the paper's F, W, S and M substituted, with the printed form."""
    try:
        chosen = model_of(row.text("model"))
    except ArchlineError as problem:
        raise row.wrong(rules.ROW_FORM, problem.diagnostics[0].message, "model", problem.diagnostics[0].hint) from None
    energy = " + ".join(f"({term})" for term in chosen.energy.values())
    whole = {"energy": energy, "power": f"({energy})/time", "time": chosen.time, **chosen.definitions}
    substitutions = {**dict.fromkeys(CONSTANTS, ONE), **row.formulas("with")}
    formula = both_sides(
        row.formula("of"), lambda side: forms.names_within(side, {k: parsed(v) for k, v in whole.items()})
    )
    lacking = [name for name in sorted(_names(formula)) if name in METRICS and name not in substitutions]
    if lacking:
        raise row.wrong(rules.ROW_FORM, f"recipe `model` lacks `{lacking[0]}` in its input `with`", "of")
    derived = both_sides(formula, lambda side: substituted(side, substitutions))
    return compared(row, derived, (f"{row.text('of')} of model `{chosen.name}`: {shown_relation(formula)}", *_set(row)))


def limit(row: PrintedRow) -> RowVerdict:
    """Derive a row from a row or form with some names set; or, with `names`, the product of the names in it."""
    import sympy

    if row.has("names"):
        origin = substituted(_derived(row, "names"), row.formulas("with"))
        names = sorted(_names(forms.read(forms.expanded(origin))) - {*row.listed("without")})
        finding = compared(row, row.parsed("*".join(names), "names"), (f"{row.text('names')} has {', '.join(names)}",))
        if finding.witness is None:
            return finding
        ratio = sympy.fraction(forms.factored(forms.form(row.expr) / forms.form(forms.read(finding.derived))))
        printed, derived = (forms.read(forms.text(part)) for part in ratio)
        witness = replace(finding.witness, printed=printed, derived=derived)
        return replace(finding, reason=_listed(row, names), witness=witness)
    origin, substitutions = _derived(row, "of"), row.formulas("with")
    derived = both_sides(origin, lambda side: substituted(side, substitutions))
    return compared(row, derived, (f"{row.text('of')}: {shown_relation(origin)}", *_set(row)))


def _set(row: PrintedRow) -> tuple[str, ...]:
    """Return the step that names the substitutions; empty if there are none."""
    shown = ", ".join(f"{name} = {format_expression(expr)}" for name, expr in row.formulas("with").items())
    return (f"with {shown}",) if shown else ()


def _listed(row: PrintedRow, names: list[str]) -> str:
    """Describe how a printed product of names differs from a list of names."""
    counts = {str(name): power for name, power in forms.form(row.expr).as_powers_dict().items()}
    times = {name: "too" if name not in names else "twice" if n == 2 else f"{n} times" for name, n in counts.items()}
    phrases = [f"lists {name} {times[name]}" for name, n in counts.items() if n != 1 or name not in names]
    return ", ".join([*phrases, *(f"lacks {name}" for name in names if name not in counts)])


def optimum(row: PrintedRow) -> RowVerdict:
    """Find where a form is least or greatest (`value`: its value there), or the root of a constraint."""
    over, goal, claim = row.text("over"), None, row.formula("equation") if row.has("equation") else None
    symbol = forms.form(parse_expression(over, "over"))
    extremal = next((key for key in ("minimise", "maximise") if row.has(key)), "")
    if extremal:
        goal = forms.form(_derived(row, extremal))
        equation = goal.diff(symbol)
        steps = [f"the derivative of {forms.text(goal)} by {over} is {forms.text(equation)}"]
    elif not isinstance(claim, s.Binary) or claim.op not in ("==", "<=", ">="):
        raise row.wrong(
            rules.ROW_FORM, "`optimum` takes `minimise`, `maximise` or an `equation`, ==, <= or >=", "equation"
        )
    else:
        equation, steps = (
            forms.form(claim.left) - forms.form(claim.right),
            [shown_relation(claim)],
        )
    if row.has("coefficient"):
        return _coefficient(row, equation, symbol, steps)
    roots = [forms.read(forms.text(root)) for root in _roots(equation, symbol)]
    steps += [f"a root: {over} = {format_expression(root)}" for root in roots]
    chosen, point = _extreme(row, roots, row.text("root", "largest"))
    if chosen is None:
        return RowVerdict(row, UNDECIDED, "", "no root of the equation was found", steps)
    if goal is not None:
        root = forms.form(chosen)
        curved = forms.value_at(forms.read(forms.text(goal.diff(symbol, 2).subs(symbol, root))), point)
        if curved is None or (curved.lower <= 0 if extremal == "minimise" else curved.upper >= 0):
            return RowVerdict(row, UNDECIDED, "", "the stationary point is not seen to be an extremum", steps)
        if row.inputs.get("value"):
            return compared(row, forms.read(forms.text(goal.subs(symbol, root))), steps)
    one_sided = isinstance(claim, s.Binary) and claim.op != "=="
    finding = compared(row, chosen, steps, sided=one_sided)
    if finding.verdict == UNDECIDED and forms.vanishes(equation.subs(symbol, forms.form(row.expr))):
        # Roots are isolated, so that one point identifies the root.
        finding = replace(finding, verdict=EQUAL, reason="", steps=(*steps, "the printed form solves the equation"))
    return _sided(row, finding, claim, chosen, point) if one_sided and isinstance(claim, s.Binary) else finding


def _coefficient(row: PrintedRow, equation: Any, symbol: Any, steps: list[str]) -> RowVerdict:
    """Compare the coefficient of a power in the equation as a polynomial with the given leading coefficient."""
    import sympy

    polynomial = sympy.Poly(sympy.expand(sympy.fraction(sympy.together(equation))[0]), symbol)
    scale = forms.form(row.formula("leading")) / polynomial.LC()
    power = row.inputs["coefficient"]
    coefficient = sympy.expand(sympy.cancel(polynomial.coeff_monomial(symbol**power) * scale))
    steps = [*steps, f"multiplied out, with the leading coefficient {row.text('leading')}: that of {symbol}^{power}"]
    return compared(row, forms.read(forms.text(coefficient)), steps)


def _sided(
    row: PrintedRow, finding: RowVerdict, asked: s.Binary, root: s.Expr, point: Mapping[str, Fraction]
) -> RowVerdict:
    """Decide whether values below a root or above it satisfy an inequality, and compare with the printed relation."""
    over, middle = row.text("over"), forms.value_at(root, point)
    assert middle is not None
    tried = [{**point, over: middle.middle * factor} for factor in (1 - INSIDE, 1 + INSIDE)]
    sides = [holds(asked, at) for at in tried]
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


def _extreme(row: PrintedRow, roots: list[s.Expr], which: str) -> tuple[s.Expr | None, Mapping[str, Fraction]]:
    """Return the largest or smallest positive root at the paper's own numbers, or at a point where there is one."""
    names = frozenset().union(*map(names_in, roots)) | names_in(row.expr)
    for point in forms.points(names, row.numbers):
        values = [
            (value.middle, root)
            for root in roots
            if (value := forms.value_at(root, point)) is not None and value.lower > 0
        ]
        if values:
            return (max if which == "largest" else min)(values, key=lambda pair: pair[0])[1], point
    return None, {}


def _roots(equation: Any, symbol: Any) -> Iterator[Any]:
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


def _derived(row: PrintedRow, key: str) -> s.Expr:
    """Return the form that another row derives, or the form of an input."""
    source = row.other(key)
    if source is None:
        return row.formula(key)
    finding = derive(source)
    return row.parsed(finding.derived, key) if finding.derived else source.expr


def _names(expr: s.Expr) -> frozenset[str]:
    if isinstance(expr, s.Binary):
        return names_in(expr.left) | names_in(expr.right)
    return names_in(expr)


_OPTIMUM = ("minimise", "maximise", "equation", "root", "value", "coefficient", "leading")
_OF_TABLES = ("inputs", "machines", "without", "by_machine")
_RECIPES: dict[str, tuple[Callable[[PrintedRow], RowVerdict], tuple[str, ...], tuple[str, ...]]] = {
    "model": (model, ("printed", "model", "of"), ("with",)),
    "limit": (limit, ("printed",), ("of", "with", "names", "without")),
    "optimum": (optimum, ("printed", "over"), _OPTIMUM),
    "cell": (tables.cell, ("rule",), ("quantity", *_OF_TABLES)),
    "units": (tables.units, ("printed", "rule"), ("units",)),
    "crossing": (tables.crossing, ("printed", "left", "right", "over", "between"), _OF_TABLES),
    "claim": (words.claim, ("printed",), ("where", "cases", *_OF_TABLES)),
    "growth": (words.growth, ("printed", "use", "cost"), ("relation", "where")),
    "run": (words.run, ("printed", "runs"), ("program", "cases", *_OF_TABLES)),
}
INPUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {name: (needs, takes) for name, (_, needs, takes) in _RECIPES.items()}
)


def derive(row: PrintedRow) -> RowVerdict:
    """Derive a row by its recipe, also under its `reading`. Raises ArchlineError with the place in the file."""
    finding = _derive(row)
    if finding.verdict != DIFFERS or not row.has("reading") or _derive(row.read_otherwise).verdict != EQUAL:
        return finding
    return replace(finding, verdict=READING)


def _derive(row: PrintedRow) -> RowVerdict:
    try:
        return _RECIPES[row.kind][0](row)
    except ArchlineError as problem:
        first = problem.diagnostics[0]
        if first.span is not None and first.span.source is row.paper.places.source:
            raise
        raise row.wrong(first.rule, first.message, "printed", first.hint) from None
