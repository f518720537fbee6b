"""Decide whether one expression is O of another under facts, with a certificate or a counterexample.

The entry is `is_big_o.is_O(f, g, facts)`, which returns `Proved`, `Refuted` or `Undecided`. It reads both sides as
lattices of monomials (`lattices`, `bounds`), takes logarithms of the sizes (`log_domain`) and solves linear programs
for a proof or a direction of growth (`direction_lp`, `prove`, `counterexample`). `growths.Growth` holds the upper
and lower growth of a quantity, `leading_terms` the terms of a form that dominate, and `normal_form` sums of terms.
Callers are `costs`, `claims`, `recurrences`, `energy`, `report` and `api.growth`.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
