"""The growth of costs: O, Omega and Theta of a derived cost in its sizes, each with where it holds.

`growth_of_cost.derive_cost_growth` is the entry: it takes a `Cost` apart into pieces of the sizes (`pieces`, `cases`),
writes each bound in a form that the prover of `archline.growth` reads (`forms`), asks the solver of recurrences where
there is no closed form (`growth_of_recursion`), and returns a `CostGrowth` of `Growth`s. `any_schedule` has the growth
of the lower bounds on io that hold for any schedule. Claims, pages, comparisons and energy models read it.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
