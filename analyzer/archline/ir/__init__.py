"""Represent programs as loop trees of accesses, with static values and facts.

`lower.Lowering.trace` translates a checked algorithm to its tree of `Access` and `Loop` nodes, which
`analysis.cache` bounds; `declarations.declared_scope` returns the `Scope` from which all derivations start.
`tree` defines the nodes; `scope`, `conditions` and `declarations` give values and facts of names, and `amounts`,
`max_plus`, `ranges` and `factored` are the algebra of counts.
"""
