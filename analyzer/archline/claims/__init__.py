"""Decide claims about derived costs: `ensures` of algorithms, growth, optimality, and bounds on communication.

`decide.decide_claims` is the entry: it tries tactics on each claim, a `verdicts.ClaimQuery`, falls back to cases
(`by_cases`), and returns a `Verdict` for each. `growth_*` derive and compare growth, as a `CostGrowth`;
`optimality`, `published` and `communication_*` compare a cost with lower bounds. Callers: archline.costs,
archline.compare and the reports.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
