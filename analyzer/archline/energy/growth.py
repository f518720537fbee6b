"""How metrics and the terms of a model grow: between expressions in sizes, up to constant factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from archline.algebra.growth.domain import Domain
from archline.algebra.growth.order import proves
from archline.energy.formulas import Bounds, bounds_of, names_in, parsed, substituted
from archline.energy.model import Applied
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.format_expressions import format_expression

ONE = parsed("1")


@dataclass(frozen=True)
class Growth:
    """A quantity is O(`upper`) and Omega(`lower`), each None where it is not known, under `facts`."""

    lower: s.Expr | None
    upper: s.Expr | None
    facts: tuple[s.Fact, ...] = ()

    @property
    def tight(self) -> bool:
        """Whether both are known and the same."""
        return self.lower is not None and self.lower == self.upper

    @property
    def text(self) -> str | None:
        """`Theta(n*m)`, or `O(...), Omega(...)` as far as they are known."""
        if self.tight:
            assert self.upper is not None
            return f"Theta({format_expression(self.upper)})"
        known = [(name, end) for name, end in (("O", self.upper), ("Omega", self.lower)) if end is not None]
        return ", ".join(f"{name}({format_expression(end)})" for name, end in known) or None


def of_formula(formula: s.Expr, metrics: Mapping[str, Growth], zero: Iterable[str] = ()) -> Growth:
    """The growth of a formula of metrics; quantities of the machine are constants, those in `zero` are 0.

    Where bounds are tight and a simpler expression is proved to be of the same order, that is given.
    """
    constants: dict[str, s.Expr] = dict.fromkeys((*QUANTITIES, *CONSTANTS), ONE)
    plain = _reduced(substituted(formula, {**constants, **dict.fromkeys(zero, parsed("0"))}))
    held = names_in(plain) & metrics.keys()
    facts = tuple(dict.fromkeys(fact for name in sorted(held) for fact in metrics[name].facts))
    growths = [metrics[name] for name in sorted(held)]
    if any(each.lower is None or each.upper is None for each in growths):
        return Growth(None, None, facts)
    ends = {name: _ends(metrics[name]) for name in held}
    bounds = bounds_of(plain, ends)
    candidates = list(dict.fromkeys((*_orders(growths), *_sums(growths))))
    return simplified(bounds, candidates, facts)


def _ends(growth: Growth) -> Bounds[s.Expr]:
    assert growth.lower is not None
    assert growth.upper is not None
    return Bounds(growth.lower, growth.lower if growth.tight else growth.upper)


def _orders(growths: Iterable[Growth]) -> list[s.Expr]:
    return [end for each in growths for end in (each.upper, each.lower) if end is not None]


def _sums(growths: list[Growth]) -> list[s.Expr]:
    ends = [each.upper for each in growths if each.upper is not None]
    return [
        s.Binary("+", left, right, span=left.span) for index, left in enumerate(ends) for right in ends[index + 1 :]
    ]


def simplified(bounds: Bounds[s.Expr], candidates: Iterable[s.Expr], facts: tuple[s.Fact, ...]) -> Growth:
    """Bounds on a growth by the first candidates that are proved to bound it, or as they stand."""
    try:
        domain = Domain(facts)
    except ArchlineError:
        return Growth(bounds.lower, bounds.upper, facts)
    tried = list(candidates)
    above = [each for each in tried if holds(bounds.upper, each, domain)]
    for each in above:
        if holds(each, bounds.lower, domain):
            return Growth(each, each, facts)
    # Of several upper bounds the lowest.
    upper = next((each for each in above if all(holds(each, other, domain) for other in above)), bounds.upper)
    below = [each for each in tried if holds(each, bounds.lower, domain)]
    lower = next((each for each in below if all(holds(other, each, domain) for other in below)), bounds.lower)
    return Growth(lower, upper, facts)


def holds(f: s.Expr, g: s.Expr, domain: Domain) -> bool:
    """Whether f = O(g) is proved."""
    try:
        return f == g or proves(f, g, domain)
    except ArchlineError:
        return False


def _reduced(expr: s.Expr) -> s.Expr:
    """An expression without factors of 1 and terms of 0."""
    match expr:
        case s.Binary(op=op, left=left, right=right):
            a, b = _reduced(left), _reduced(right)
            match op:
                case "*" if _is(a, 0) or _is(b, 0):
                    return parsed("0")
                case "*" | "+" if _is(a, 1 if op == "*" else 0):
                    return b
                case "*" | "/" if _is(b, 1):
                    return a
                case "+" | "-" if _is(b, 0):
                    return a
                case "/" if _is(a, 0):
                    return a
            return s.Binary(op, a, b, span=expr.span)
        case s.Call(function="max", arguments=arguments):
            kept = tuple(each for each in map(_reduced, arguments) if not _is(each, 0))
            return kept[0] if len(kept) == 1 else s.Call("max", kept or (parsed("0"),), span=expr.span)
        case s.Call(function=function, arguments=arguments):
            return s.Call(function, tuple(map(_reduced, arguments)), span=expr.span)
        case _:
            return expr


def _is(expr: s.Expr, value: int) -> bool:
    return isinstance(expr, s.Integer) and expr.value == value


def of_terms(applied: Applied, metrics: Mapping[str, Growth]) -> dict[str, Growth]:
    """The growth of the energy's terms and of the energy on a machine."""
    zero = [name for name, value in applied.machine.values.items() if value == 0]
    names = list(applied.model.energy)
    found = {name: of_formula(applied.formula(name), metrics, zero) for name in names}
    whole = applied.complete(applied.model.expanded(applied.model.expression))
    return {**found, "energy": of_formula(whole, metrics, zero)}


# Quotients of monomials
def quotient(f: s.Expr, g: s.Expr) -> str:
    """f/g as text; a product of powers where both are one."""
    if f == g:
        return "1"
    top, bottom = monomial(f), monomial(g)
    if top is None or bottom is None:
        return format_expression(s.Binary("/", f, g, span=f.span))
    powers = {name: top.get(name, Fraction(0)) - bottom.get(name, Fraction(0)) for name in {**top, **bottom}}
    above = [_power(name, each) for name, each in powers.items() if each > 0]
    below = [_power(name, -each) for name, each in powers.items() if each < 0]
    if not below:
        return "*".join(above) or "1"
    divisor = below[0] if len(below) == 1 else f"({'*'.join(below)})"
    return f"{'*'.join(above) or '1'}/{divisor}"


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power == Fraction(1, 2):
        return f"sqrt({name})"
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


def monomial(expr: s.Expr) -> dict[str, Fraction] | None:
    """The powers of a product of names (and of logarithms, by their text); None for another expression."""
    match expr:
        case s.Integer(value=value) if value > 0:
            return {}
        case s.Name(id=name):
            return {name: Fraction(1)}
        case s.Call(function="log2"):
            return {format_expression(expr): Fraction(1)}
        case s.Call(function="sqrt", arguments=(argument,)):
            inner = monomial(argument)
            return None if inner is None else {name: power / 2 for name, power in inner.items()}
        case s.Binary(op="*" | "/" as op, left=left, right=right):
            first, second = monomial(left), monomial(right)
            if first is None or second is None:
                return None
            sign = 1 if op == "*" else -1
            return {
                name: first.get(name, Fraction(0)) + sign * second.get(name, Fraction(0))
                for name in {**first, **second}
            }
        case s.Binary(op="^", left=left, right=s.Integer(value=power)):
            inner = monomial(left)
            return None if inner is None else {name: each * power for name, each in inner.items()}
    return None
