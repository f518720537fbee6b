"""Systems of recurrences as a person writes them: functions are defined by cases, with syntax trees for expressions.

    T(n) = 2*T(n/2) + n, T(1) = 1
    Q(n, m) = n + m + n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1

Values hold `s.Call` nodes whose `function` is one of the system's names; every other name is a parameter of the
function or a symbol that stays as it is (Z, L, P, b). Sizes are reals here: n/2 is n/2. Recurrences over integers, with
floors and ceilings, are those of programs (`archline.analysis`).
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
    """A given value, as in T(1) = 1: it holds for every smaller size too (T(n) = 1 for n <= 1).

    If there are several, T(0) = 0 and T(1) = 1, the one at the smallest size not below n counts.
    """

    arguments: tuple[s.Expr, ...]
    value: s.Expr


@record
class RealDefinition:
    """A function: its cases in order, the first that holds applies; at small sizes its base values."""

    name: str
    parameters: tuple[str, ...]
    cases: tuple[EquationCase, ...]
    bases: tuple[BaseValue, ...] = ()


@record
class RealRecurrence:
    """Functions that call each other; the first is the one to solve. `facts` hold of the symbols and parameters."""

    definitions: tuple[RealDefinition, ...]
    facts: tuple[s.Fact, ...] = ()

    @property
    def asked(self) -> RealDefinition:
        """The function to solve."""
        return self.definitions[0]


@record
class SolvedGrowth:
    """The growth of a function: it is Theta(`growth`), and equals `exact`, if given, where `domain` holds.

    `method` names the theorem or method, `steps` are lines of the solution as in a textbook. `regimes` has the growth
    by conditions if no single formula holds everywhere. `between` has certain Omega and O bounds if the growth has a
    number that is known to nine digits only.
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
        """The Omega and O bounds of the function, by conditions; the first that holds applies."""
        return self.regimes or (Growth(*(self.between or (self.growth, self.growth))),)


@record
class Superpolynomial:
    """The function grows faster than every polynomial: `growth` names it if it is known, as 2^n.

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
    """A recurrence that cannot be solved: `reason` names the obstacle."""

    reason: str


Answer = SolvedGrowth | Superpolynomial | Refused
