"""Derive flops, work, span and accesses of a program.

`derivation.Derivation.algorithm` returns the costs of an algorithm as a `Tally` with a `DerivationStep` for each
statement, under a `CostModel`; `analysis.analyse` calls it.
`statements` has a method for each row of the cost table and `operations` the rows of operators; `recursion`
and `extraction` solve recursive algorithms, `accesses` counts element accesses, and `relations` bounds metrics
by each other.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
