"""Represent programs as loop trees of accesses, with static values and facts.

`lower` translates a checked algorithm to the `tree`; `scope`, `conditions` and `declarations` give values and
facts of names, and `amounts`, `max_plus`, `ranges` and `factored` are the algebra of counts.
"""
