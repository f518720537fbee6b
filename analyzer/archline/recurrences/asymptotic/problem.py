"""A system of recurrences as a person writes it: functions defined by cases, with syntax trees for expressions.

    T(n) = 2*T(n/2) + n, T(1) = 1
    Q(n, m) = n + m + n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1

Values hold `s.Call` nodes whose `function` is one of the system's names; every other name is a parameter of the
function or a symbol that stays as it is (Z, L, P, b). Sizes are reals here: n/2 is n/2. Recurrences over integers,
with floors and ceilings, are those of programs (`archline.analysis`).
"""

from __future__ import annotations

from archline.growth.growths import Growth
from archline.language import syntax as s
from archline.records import record


@record
class EquationCase:
    """`value when condition`; the condition is None where the case always applies."""

    value: s.Expr
    condition: s.Fact | None = None


@record
class BaseValue:
    """A given value, as in T(1) = 1: it holds for every smaller size too (T(n) = 1 for n <= 1).

    Of several, T(0) = 0 and T(1) = 1, that at the least size not below n counts.
    """

    arguments: tuple[s.Expr, ...]
    value: s.Expr


@record
class RealDefinition:
    """One function: its cases in order, of which the first that holds applies, below its base values."""

    name: str
    parameters: tuple[str, ...]
    cases: tuple[EquationCase, ...]
    bases: tuple[BaseValue, ...] = ()


@record
class RealRecurrence:
    """Functions that call each other; the first is the one asked for. `facts` hold of the symbols and parameters."""

    definitions: tuple[RealDefinition, ...]
    facts: tuple[s.Fact, ...] = ()

    @property
    def asked(self) -> RealDefinition:
        """The function whose growth is asked for."""
        return self.definitions[0]


@record
class SolvedGrowth:
    """`growth` is Theta of the function; `exact` a closed form where `domain` holds.

    `method` names the theorem or method, `steps` are lines of the solution as a textbook would print it. `regimes`
    holds the growth under conditions where no one formula serves everywhere. `between` has what it is Omega and O of
    for certain, where the growth has a number that is known to nine digits.
    """

    growth: s.Expr
    method: str
    steps: tuple[str, ...]
    exact: s.Expr | None = None
    domain: str | None = None
    regimes: tuple[Growth, ...] = ()
    between: tuple[s.Expr, s.Expr] | None = None

    @property
    def growths(self) -> tuple[Growth, ...]:
        """What it is Omega and O of, by conditions of which the first that holds applies."""
        return self.regimes or (Growth(*(self.between or (self.growth, self.growth))),)


@record
class Superpolynomial:
    """The function grows faster than every polynomial: `growth` names it where it is known, as 2^n.

    `between` is as for `SolvedGrowth`.
    """

    growth: s.Expr | None
    reason: str
    steps: tuple[str, ...] = ()
    exact: s.Expr | None = None
    domain: str | None = None
    method: str | None = None
    between: tuple[s.Expr, s.Expr] | None = None


@record
class Refused:
    """Out of reach: `reason` names what stands in the way."""

    reason: str


Answer = SolvedGrowth | Superpolynomial | Refused
