"""How metrics and the terms of a model grow: between expressions in sizes, up to constant factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from archline.algebra.growth.domain import Domain
from archline.algebra.growth.order import proves
from archline.energy.formulas import Bounds, bounds_of, names_in, parsed, substituted
from archline.energy.model import Applied
from archline.energy.quantities import CONSTANTS, QUANTITIES
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.format_expressions import format_expression

ONE, ZERO = parsed("1"), parsed("0")


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
            if self.upper == ZERO:
                return "0"
            return f"Theta({format_expression(self.upper)})"
        known = [(name, end) for name, end in (("O", self.upper), ("Omega", self.lower)) if end is not None]
        return ", ".join(f"{name}({format_expression(end)})" for name, end in known) or None


def of_formula(
    formula: s.Expr, metrics: Mapping[str, Growth], zero: Iterable[str] = (), *, coarse: bool = False
) -> Growth:
    """The growth of a formula of metrics; quantities of the machine are constants, those in `zero` are 0.

    Where bounds are tight and a simpler expression is proved to be of the same order, that is given. A `coarse` one
    takes min(1, e) between 0 and 1, which changes nothing where other terms lead.
    """
    constants: dict[str, s.Expr] = dict.fromkeys((*QUANTITIES, *CONSTANTS), ONE)
    nothing = [*zero, *(name for name, each in metrics.items() if each.upper == ZERO)]
    plain = _reduced(substituted(formula, {**constants, **dict.fromkeys(nothing, ZERO)}))
    if plain == ZERO:
        return Growth(ZERO, ZERO)
    highest, lowest = _without_differences(plain, upper=True), _without_differences(plain, upper=False)
    held = names_in(plain) & metrics.keys()
    facts = tuple(dict.fromkeys(fact for name in sorted(held) for fact in metrics[name].facts))
    growths = [metrics[name] for name in sorted(held)]
    if any(each.lower is None or each.upper is None for each in growths):
        return Growth(None, None, facts)
    ends = {name: _ends(metrics[name]) for name in held}
    bounds = Bounds(bounds_of(lowest, ends).lower, bounds_of(highest, ends).upper)
    try:
        domain = Domain(facts)
    except ArchlineError:
        return Growth(bounds.lower, bounds.upper, facts)
    lower = reduced_sum(bounds.lower, domain, ZERO if coarse else None) or bounds.lower
    upper = reduced_sum(bounds.upper, domain, ONE if coarse else None) or bounds.upper
    candidates = dict.fromkeys((upper, lower, *_orders(growths), *_sums(growths)))
    found = simplified(Bounds(lower, upper), candidates, facts, domain)
    nothing = not found.tight and found.lower is not None and _is(found.lower, 0)
    return replace(found, lower=None) if nothing else found


def _without_differences(expr: s.Expr, *, upper: bool) -> s.Expr:
    """Amounts a - b, which are 0 at least, as a for an upper bound and as 0 for a lower one: growth cannot subtract."""
    match expr:
        case s.Binary(op="-", left=left):
            return _without_differences(left, upper=upper) if upper else parsed("0")
        case s.Binary(op=op, left=left, right=right):
            first, second = (_without_differences(each, upper=upper) for each in (left, right))
            return _reduced(s.Binary(op, first, second, span=expr.span))
        case s.Call(function=function, arguments=arguments):
            kept = tuple(_without_differences(each, upper=upper) for each in arguments)
            return _reduced(s.Call(function, kept, span=expr.span))
        case _:
            return expr


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


def simplified(
    bounds: Bounds[s.Expr], candidates: Iterable[s.Expr], facts: tuple[s.Fact, ...], domain: Domain
) -> Growth:
    """Bounds on a growth by the first candidates that are proved to bound it, or as they stand."""
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
                    return ZERO
                case "*" | "+" if _is(a, 1 if op == "*" else 0):
                    return b
                case "*" | "/" if _is(b, 1):
                    return a
                case "+" | "-" if _is(b, 0):
                    return a
                case "-" if _is(a, 1) and _is(b, 1):
                    # Of quantities: a model that divides by it requires it to be positive.
                    return a
                case "/" if _is(a, 0):
                    return a
            return s.Binary(op, a, b, span=expr.span)
        case s.Call(function="max", arguments=arguments):
            kept = tuple(each for each in map(_reduced, arguments) if not _is(each, 0))
            return kept[0] if len(kept) == 1 else s.Call("max", kept, span=expr.span) if kept else ZERO
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
    return {**found, "energy": of_formula(whole, metrics, zero, coarse=True)}


# Sums and quotients of monomials
MAX_TERMS = 12


def reduced_sum(expr: s.Expr, domain: Domain, share: s.Expr | None = None) -> s.Expr | None:
    """A sum of monomials multiplied out, without those of no higher order than another; None for other expressions.

    `share` is what stands for min(1, e): 1 for an upper bound, 0 for a lower one.
    """
    found = _terms(_reduced(expr if share is None else _with_share(expr, share)))
    if found is None or len(found) > MAX_TERMS:
        return None
    texts = list(dict.fromkeys(_product(each) for each in found))
    exprs = [parsed(text) for text in texts]
    kept = list(range(len(exprs)))
    for index in range(len(exprs)):
        others = [each for each in kept if each != index]
        if any(holds(exprs[index], exprs[each], domain) for each in others):
            kept = others
    return parsed(" + ".join(texts[each] for each in kept))


def _with_share(expr: s.Expr, share: s.Expr) -> s.Expr:
    match expr:
        case s.Call(function="min", arguments=(first, _)) if _is(first, 1):
            return share
        case s.Call(arguments=arguments):
            return replace(expr, arguments=tuple(_with_share(each, share) for each in arguments))
        case s.Binary(left=left, right=right):
            return replace(expr, left=_with_share(left, share), right=_with_share(right, share))
        case _:
            return expr


def _terms(expr: s.Expr) -> list[dict[str, Fraction]] | None:
    """The monomials of a sum, multiplied out; a max is as good as a sum."""
    match expr:
        case s.Binary(op="+", left=left, right=right):
            parts = [_terms(left), _terms(right)]
        case s.Call(function="max", arguments=arguments):
            parts = [_terms(each) for each in arguments]
        case s.Binary(op="*", left=left, right=right):
            first, second = _terms(left), _terms(right)
            if first is None or second is None or len(first) * len(second) > MAX_TERMS:
                return None
            return [_times(a, b, 1) for a in first for b in second]
        case s.Binary(op="/", left=left, right=right):
            top, bottom = _terms(left), monomial(right)
            return None if top is None or bottom is None else [_times(each, bottom, -1) for each in top]
        case _:
            only = monomial(expr)
            return None if only is None else [only]
    known = [each for each in parts if each is not None]
    return [each for part in known for each in part] if len(known) == len(parts) else None


def _times(one: dict[str, Fraction], other: dict[str, Fraction], sign: int) -> dict[str, Fraction]:
    powers = {name: one.get(name, Fraction(0)) + sign * other.get(name, Fraction(0)) for name in {**one, **other}}
    return {name: power for name, power in powers.items() if power}


def quotient(f: s.Expr, g: s.Expr) -> str:
    """f/g as text; a product of powers where both are one."""
    if f == g:
        return "1"
    top, bottom = monomial(f), monomial(g)
    if top is None or bottom is None:
        return format_expression(s.Binary("/", f, g, span=f.span))
    return _product(_times(top, bottom, -1))


def _product(powers: Mapping[str, Fraction]) -> str:
    """A product of powers as text."""
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
            return _times(first, second, 1 if op == "*" else -1)
        case s.Binary(op="^", left=left, right=s.Integer(value=power)):
            inner = monomial(left)
            return None if inner is None else {name: each * power for name, each in inner.items()}
    return None
