"""Decide claims about derived costs: `ensures` of algorithms, growth, optimality, and bounds on communication.

`decide` tries tactics on a claim and falls back to cases (`by_cases`); `growth_*` derive and compare growth,
and `optimality`, `published` and `communication_*` compare a cost with lower bounds.
"""
