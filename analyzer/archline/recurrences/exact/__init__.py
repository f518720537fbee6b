"""Bound the integer solutions of recurrences from above and below, with a proof by induction for each bound.

`search.search_bound` is the entry: it takes basis terms (`basis`, `leaves`, `halved_sizes`), finds coefficients
together with a proof by linear programming (`synthesis`), and returns a `ProvedBound`. `search.search_exact_form` fits
forms that satisfy the equations identically, and `indexed` finds forms of recursions by indices. An `InductionProblem`
has the inequalities of one function as `Transition` steps; `at_call` expresses terms at the sizes of calls.
`analysis.metrics.recursion` calls these for every metric; `explain` turns proofs into the recurrences that are printed.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
