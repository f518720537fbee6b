"""Proves that expressions are never negative under facts.

`eliminate.EliminationSearch` eliminates the youngest symbol first and serves `Facts.nonnegative`; a `Witness` refutes
by integer points before any search. `prover.prove_never_negative` adds cases by remainders, and takes tactics for
longer proofs: `enumerate.prove_by_enumeration` for few or single sizes, `handelman.prove_by_products` with a
`ProductCone` of products of facts, and powers of logarithms as symbols (`logarithms.LogarithmOrder`).
`farkas.Situation` proves linear claims. The searches for bounds of recurrences, the growth comparisons and the checks
of claims call it.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
