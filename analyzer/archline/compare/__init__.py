"""Compare algorithms: which one takes less at which sizes, by proof or by execution, and how their growth compares.

`comparisons.compare_subjects` compares all pairs of algorithms and formulas, in growth and at sizes on machines, and
returns a `CostComparison` of growth relations, verdicts at points and crossovers. `claims.ClaimOfCosts` decides the
claims of a file, which compare formulas of costs (`orders.CostOrder`) at all sizes (`sizes.Sizes`). Callers are
`api.comparisons`, the command `compare`, and the checks of claims.

The package has the name of the function `archline.compare` of the Python API; a call of it calls that function.
"""

from archline.callable_package import calls

calls(__name__, "archline.api.comparisons")
