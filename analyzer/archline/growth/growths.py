"""How a quantity grows: expressions that bound it up to constant factors, found among candidates and compared.

What is known of a quantity is one expression that it is O of and one that it is Omega of. All verdicts on growth are
made here from these ends: a proof from the ends that face each other, a refutation from the others.
"""

from __future__ import annotations

from collections.abc import Iterable

from archline.expr.text import format_expression
from archline.expr.tree import same
from archline.growth.is_big_o import MANY_TRIALS, Proved, Refuted, Undecided, Verdict, is_O
from archline.growth.log_domain import Domain
from archline.growth.simplify import holds, is_number
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import record, replace


@record
class Growth:
    """A quantity is O(`upper`) and Omega(`lower`), each None where it is not known, under `facts`, shown as `when`."""

    lower: s.Expr | None
    upper: s.Expr | None
    facts: tuple[s.Fact, ...] = ()
    when: str = ""

    @property
    def tight(self) -> bool:
        """Whether both are known and the same."""
        return self.lower is not None and same(self.lower, self.upper)

    @property
    def is_zero(self) -> bool:
        """Whether nothing is counted at all."""
        return self.upper is not None and is_number(self.upper, 0)

    @property
    def text(self) -> str | None:
        """`Theta(n*m)`, or `O(...), Omega(...)` as far as they are known, ` where ...`."""
        where = f" where {self.when}" if self.when else ""
        if self.tight:
            assert self.upper is not None
            if self.is_zero:
                return "0"
            return f"Theta({format_expression(self.upper)}){where}"
        known = [(name, end) for name, end in (("O", self.upper), ("Omega", self.lower)) if end is not None]
        return ", ".join(f"{name}({format_expression(end)}){where}" for name, end in known) or None


def dominated(less: Growth, more: Growth, domain: Domain) -> Verdict:
    """Whether one quantity is O of another in a domain, whose facts stand for those of both."""
    exact = less.tight and more.tight
    proof = _asked(less.upper, more.lower, domain, refutes=exact)
    if exact or isinstance(proof, Proved):
        return proof
    # That the ends which face each other do not prove it refutes nothing: the other ends do.
    refuted = _asked(less.lower, more.upper, domain, refutes=True)
    if isinstance(refuted, Refuted):
        return refuted
    return proof if isinstance(proof, Undecided) else Undecided("the derived bounds do not decide it")


def _asked(f: s.Expr | None, g: s.Expr | None, domain: Domain, *, refutes: bool) -> Verdict:
    if f is None or g is None:
        return Undecided("the growth is not known")
    try:
        return is_O(f, g, domain, MANY_TRIALS if refutes else 0)
    except ArchlineError as problem:
        return Undecided(problem.diagnostics[0].message)


def simplified(bounds: Growth, candidates: Iterable[s.Expr], domain: Domain) -> Growth:
    """Bounds on a growth, both known, by the first candidates that are proved to bound it, or as they stand."""
    assert bounds.lower is not None
    assert bounds.upper is not None
    orders = list(candidates)
    above = [each for each in orders if holds(bounds.upper, each, domain)]
    for each in above:
        if holds(each, bounds.lower, domain):
            return replace(bounds, lower=each, upper=each)
    # Of several upper bounds the lowest.
    upper = next((each for each in above if all(holds(each, other, domain) for other in above)), bounds.upper)
    below = [each for each in orders if holds(each, bounds.lower, domain)]
    lower = next((each for each in below if all(holds(other, each, domain) for other in below)), bounds.lower)
    return replace(bounds, lower=lower, upper=upper)
