"""Represent programs as loop trees of accesses, with expressions in the sizes for their bounds and subscripts.

`lower.Lowering.trace` translates a checked algorithm to its tree of `Access` and `Loop` nodes, which
`analysis.cache` bounds; `declarations.declared_scope` returns the `Scope` from which all derivations start.
`tree` defines the nodes; `scope`, `conditions` and `declarations` give values and facts of names; `amounts`,
`max_plus`, `ranges` and `factored` add, maximise and bound counts.
"""
