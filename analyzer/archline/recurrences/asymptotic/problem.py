"""Represent systems of recurrences as users write them: functions defined by cases, with syntax trees of expressions.

    T(n) = 2*T(n/2) + n, T(1) = 1
    Q(n, m) = n + m + n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1

Recursive calls are `s.Call` nodes whose `function` is defined in the system; every other name is a parameter of the
function or a symbol of fixed value (Z, L, P, b). Sizes are real numbers: n/2 is not rounded. Recurrences over integers,
with floors and ceilings, are those of programs (`archline.analysis`).
"""

from __future__ import annotations

from archline.growth.growths import Growth
from archline.language import syntax as s
from archline.records import record


@record
class EquationCase:
    """A case `value when condition`; the condition is None if the case always applies."""

    value: s.Expr
    condition: s.Fact | None = None


@record
class BaseValue:
    """A value given for a size, as T(1) = 1, which holds for smaller sizes too: T(n) = 1 for n <= 1.

    If there are several, as T(0) = 0 and T(1) = 1, that at the smallest size not below n applies.
    """

    arguments: tuple[s.Expr, ...]
    value: s.Expr


@record
class RealDefinition:
    """A function: the first case that holds applies; at small sizes the base values do."""

    name: str
    parameters: tuple[str, ...]
    cases: tuple[EquationCase, ...]
    bases: tuple[BaseValue, ...] = ()


@record
class RealRecurrence:
    """Functions that call each other; the first is the one to solve. `facts` hold for its symbols and parameters.

    `assumed` says how the text was read where it leaves a choice. If `inexact`, terms stand for any of their growth. If
    `raised`, a base value is assumed up to a larger size than the text gives it for.
    """

    definitions: tuple[RealDefinition, ...]
    facts: tuple[s.Fact, ...] = ()
    assumed: tuple[str, ...] = ()
    inexact: bool = False
    raised: bool = False

    @property
    def asked(self) -> RealDefinition:
        """The function to solve."""
        return self.definitions[0]


@record
class SolvedGrowth:
    """The growth of a function: it is Theta(`growth`), and equals `exact`, if given, for sizes in `domain`.

    `method` names the theorem or method, `steps` are lines of the solution as in a textbook. `regimes` are growths
    under conditions, if no single formula holds everywhere. If a number in `growth` is known to nine digits only,
    `between` has proved Omega and O bounds. `assumed` are facts under which all this holds.
    """

    growth: s.Expr
    method: str
    steps: tuple[str, ...]
    exact: s.Expr | None = None
    domain: str | None = None
    regimes: tuple[Growth, ...] = ()
    between: tuple[s.Expr, s.Expr] | None = None
    assumed: tuple[str, ...] = ()

    @property
    def growths(self) -> tuple[Growth, ...]:
        """The Omega and O bounds of the function, by conditions; the first that holds applies."""
        return self.regimes or (Growth(*(self.between or (self.growth, self.growth))),)


@record
class Superpolynomial:
    """A function that grows faster than every polynomial: `growth`, if known, is its Theta, such as 2^n.

    `between` is as in `SolvedGrowth`.
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
    """A recurrence that cannot be solved: `reason` names the obstacle."""

    reason: str


Answer = SolvedGrowth | Superpolynomial | Refused
