"""Derive bounds on cache misses (io), for an ideal cache of Z words in lines of L words.

`analyse` makes a Cost of one algorithm; `footprint`, `residency`, `upper` and `lower` treat loops, and
`recursive`, `summaries` and `data_dependent` treat calls.
"""
