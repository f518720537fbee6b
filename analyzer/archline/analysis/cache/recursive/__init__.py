"""Bound cache misses of recursive algorithms from above.

`RecursiveMissBounds.at` bounds the lines moved at given sizes, and `derive_io_growth` returns the growth of io;
`cache.analyse` and `cache.traffic` call them. `evaluate` follows the calls of each `AnalysedBody`, `asymptotic` solves
a recurrence for the growth, and `potential` finds a `Potential`, a closed form for recursions whose calls are selected
by indices.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)
